//! More of what a driver tells: ring sizes and offloads by name (linux/ethtool.h).

use std::io;

use super::net::Interface;

const GRINGPARAM: u32 = 0x10;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;

/// `ETH_SS_FEATURES`: the set of names of offloads.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// More offloads than any kernel has; a bound for what is believed.
const MOST: u32 = 1024;

impl Interface {
    /// Descriptors of a receive and of a transmit ring of the device; `None` when it has no such rings.
    pub(crate) fn rings(&self) -> Option<(u32, u32)> {
        // struct ethtool_ringparam: cmd, four maxima, rx, rx_mini, rx_jumbo, tx.
        let mut w = [GRINGPARAM, 0, 0, 0, 0, 0, 0, 0, 0];
        self.request_words(&mut w).ok()?;
        Some((w[5], w[8]))
    }

    /// Names of the offloads that are on, such as `rx-lro`.
    pub(crate) fn offloads(&self) -> io::Result<Vec<String>> {
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
        // struct ethtool_gfeatures: cmd, blocks, then of each 32 offloads: available, wanted, active, never changed.
        let blocks = count.div_ceil(32);
        let mut state = vec![0u32; 2 + blocks as usize * 4];
        state[..2].copy_from_slice(&[GFEATURES, blocks]);
        self.request_words(&mut state)?;
        Ok(active(&names[3..], &state[2..]))
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

fn active(names: &[u32], state: &[u32]) -> Vec<String> {
    let on = |i: usize| state.get(i / 32 * 4 + 2).is_some_and(|w| w & (1 << (i % 32)) != 0);
    let name = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    names.chunks_exact(NAME / 4).enumerate().filter(|(i, _)| on(*i)).map(|(_, words)| name(words)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_is_on() {
        let mut names = vec![0u32; 40 * NAME / 4];
        names[0] = u32::from_ne_bytes(*b"tx-a");
        names[33 * 8] = u32::from_ne_bytes(*b"rx-b");
        let state = [0, 0, 1, 0, 0, 0, 2, 0];
        assert_eq!(active(&names, &state), ["tx-a", "rx-b"]);
        assert_eq!(active(&names, &[0, 0, 2, 0]), [""]);
        assert!(active(&names[..7], &state).is_empty());
    }

    #[test]
    fn the_loopback_interface_tells_its_offloads() {
        let lo = Interface::new(1).unwrap();
        let on = lo.offloads().unwrap();
        assert!(on.iter().any(|o| o == "tx-checksum-ip-generic" || o == "loopback"), "{on:?}");
        assert_eq!(lo.rings(), None);
    }
}
