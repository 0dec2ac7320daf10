//! More of what a driver tells, and settings to change: queues, ring sizes and offloads by name (linux/ethtool.h).

use std::io;

use super::net::Interface;

const GRINGPARAM: u32 = 0x10;
const SRINGPARAM: u32 = 0x11;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
const GCHANNELS: u32 = 0x3c;
const SCHANNELS: u32 = 0x3d;

/// `ETH_SS_FEATURES`: the set of names of offloads.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// More offloads than any kernel has; a bound for what is believed.
const MOST: u32 = 1024;

/// Names of offloads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Those that are on, such as `rx-lro`.
    pub on: Vec<String>,
    /// Those that can be changed.
    pub settable: Vec<String>,
}

/// Receive, transmit and combined queues, as the ethtool of users counts them.
pub type Queues = [u32; 3];

impl Interface {
    /// Descriptors of a receive and of a transmit ring of the device, and the most of each; `None` when it has no such rings.
    pub fn rings(&self) -> Option<((u32, u32), (u32, u32))> {
        let w = self.ring_words().ok()?;
        Some(((w[5], w[8]), (w[1], w[4])))
    }

    /// struct ethtool_ringparam: cmd, four maxima, rx, rx_mini, rx_jumbo, tx.
    fn ring_words(&self) -> io::Result<[u32; 9]> {
        let mut w = [GRINGPARAM, 0, 0, 0, 0, 0, 0, 0, 0];
        self.request_words(&mut w)?;
        Ok(w)
    }

    /// Sets how many descriptors the device's rings have.
    pub fn set_rings(&self, (rx, tx): (u32, u32)) -> io::Result<()> {
        let mut w = self.ring_words()?;
        (w[0], w[5], w[8]) = (SRINGPARAM, rx, tx);
        self.request_words(&mut w)
    }

    /// Queues in use, and the most of each kind; `None` when the driver does not tell.
    pub fn channels(&self) -> Option<(Queues, Queues)> {
        let w = self.channel_words().ok()?;
        Some(([w[5], w[6], w[8]], [w[1], w[2], w[4]]))
    }

    /// struct ethtool_channels: cmd, maxima of rx, tx, other and combined, then how many are in use.
    fn channel_words(&self) -> io::Result<[u32; 9]> {
        let mut w = [GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
        self.request_words(&mut w)?;
        Ok(w)
    }

    /// Sets how many queues are in use.
    pub fn set_channels(&self, queues: Queues) -> io::Result<()> {
        let mut w = self.channel_words()?;
        w[0] = SCHANNELS;
        [w[5], w[6], w[8]] = queues;
        self.request_words(&mut w)
    }

    /// Names of the offloads.
    pub fn offloads(&self) -> io::Result<Offloads> {
        let names = self.offload_names()?;
        // struct ethtool_gfeatures: cmd, blocks, then of each 32 offloads: available, wanted, active, never changed.
        let blocks = names.len().div_ceil(32);
        let mut state = vec![0u32; 2 + blocks * 4];
        state[..2].copy_from_slice(&[GFEATURES, blocks as u32]);
        self.request_words(&mut state)?;
        let with = |word| marked(&names, &state[2..], word);
        Ok(Offloads { on: with(2), settable: with(0) })
    }

    /// Turns offloads off or on. The kernel may keep one as it is: the next [`offloads`](Self::offloads) tells.
    pub fn set_offloads(&self, offloads: &[String], on: bool) -> io::Result<()> {
        let names = self.offload_names()?;
        // struct ethtool_sfeatures: cmd, blocks, then of each 32 offloads: which are meant, which of those are to be on.
        let blocks = names.len().div_ceil(32);
        let mut request = vec![0u32; 2 + blocks * 2];
        request[..2].copy_from_slice(&[SFEATURES, blocks as u32]);
        for i in (0..names.len()).filter(|i| offloads.contains(&names[*i])) {
            let at = 2 + i / 32 * 2;
            request[at] |= 1 << (i % 32);
            request[at + 1] |= u32::from(on) << (i % 32);
        }
        self.request_words(&mut request)
    }

    /// What the kernel calls its offloads, by number.
    fn offload_names(&self) -> io::Result<Vec<String>> {
        // struct ethtool_sset_info: cmd, reserved, a 64-bit mask of sets, then the count of each.
        let mut info = [0u32; 5];
        let mask = (1u64 << FEATURES).to_ne_bytes();
        info[0] = GSSET_INFO;
        (info[2], info[3]) = (word(&mask[..4]), word(&mask[4..]));
        self.request_words(&mut info)?;
        let count = info[4];
        if count > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // struct ethtool_gstrings: cmd, set, count, names.
        let mut names = vec![0u32; 3 + count as usize * NAME / 4];
        names[..3].copy_from_slice(&[GSTRINGS, FEATURES, count]);
        self.request_words(&mut names)?;
        Ok(names[3..].chunks_exact(NAME / 4).map(name).collect())
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

fn name(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names whose bit is set in word `of` of their blocks.
fn marked(names: &[String], state: &[u32], of: usize) -> Vec<String> {
    let set = |i: usize| state.get(i / 32 * 4 + of).is_some_and(|w| w & (1 << (i % 32)) != 0);
    names.iter().enumerate().filter(|(i, _)| set(*i)).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_is_on() {
        let mut names: Vec<String> = vec![String::new(); 40];
        (names[0], names[33]) = ("tx-a".into(), "rx-b".into());
        let state = [0, 0, 1, 0, 2, 0, 2, 0];
        assert_eq!(marked(&names, &state, 2), ["tx-a", "rx-b"]);
        assert_eq!(marked(&names, &state, 0), ["rx-b"]);
        assert_eq!(marked(&names, &[0, 0, 2, 0], 2), [""]);
        assert_eq!(name(&[u32::from_ne_bytes(*b"rx-b"), 0]), "rx-b");
    }

    #[test]
    fn the_loopback_interface_tells_its_offloads() {
        let lo = Interface::new(1).unwrap();
        let on = lo.offloads().unwrap().on;
        assert!(on.iter().any(|o| o == "tx-checksum-ip-generic" || o == "loopback"), "{on:?}");
        assert_eq!((lo.rings(), lo.channels()), (None, None));
    }
}
