//! Next hops as the fast path reads them: entries of 64 bytes, the same for Rust and eBPF.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use super::event::Family;
use ringway_fib::{Cells, FibError, Foreign, NextHop};

/// Words of an entry.
const WORDS: usize = 8;

/// Words in which the version is, and all that a neighbour's link address needs.
const VERSION: usize = 7;
const HEADER: usize = 2;

/// How often a reader looks again while an entry is being written.
const LOOKS: u32 = 1000;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// There is no such next hop.
    Free = 0,
    /// It gets the link header and goes out.
    Ready = 1,
    /// The link address is not known: to the host, which asks for it.
    Incomplete = 2,
    /// It is for the host.
    Local = 3,
    /// The host forwards it: its route needs what the fast path does not do.
    Host = 4,
    /// Dropped in silence.
    Blackhole = 5,
    /// Dropped, with an ICMP error: no route to the host.
    Unreachable = 6,
    /// Dropped, with an ICMP error: administratively prohibited.
    Prohibit = 7,
    /// One member of a group, by flow.
    Group = 8,
}

impl Verdict {
    const ALL: [Self; 9] = [
        Self::Free,
        Self::Ready,
        Self::Incomplete,
        Self::Local,
        Self::Host,
        Self::Blackhole,
        Self::Unreachable,
        Self::Prohibit,
        Self::Group,
    ];
}

/// A next hop, as 64 bytes; numbers are in the byte order of the machine.
///
/// | offset | bytes | |
/// | --- | --- | --- |
/// | 0 | 1 | [`Verdict`] |
/// | 1 | 1 | bytes of link header: 14, or 0 |
/// | 2 | 2 | 0 |
/// | 4 | 4 | longest packet in bytes, without link header |
/// | 8 | 4 | egress interface, 0 if none |
/// | 12 | 4 | number of the group, for [`Verdict::Group`] |
/// | 16 | 14 | link header: destination, source, EtherType |
/// | 30 | 2 | 0 |
/// | 32 | 16 | gateway: IPv6, or IPv4 mapped to it (RFC 4291, 2.5.5.2); 0 if the destination is on the link |
/// | 48 | 8 | 0 |
/// | 56 | 8 | version: odd while the entry is being written |
///
/// A neighbour's new link address is one store of 8 bytes, at 16. For other changes the writer makes the version odd, stores the words, and
/// makes it even. A reader that finds it odd, or different before and behind its reading, reads again.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Adjacency {
    words: [u64; WORDS],
}

impl Adjacency {
    /// One that leads to no interface.
    pub fn plain(verdict: Verdict) -> Self {
        Self::of_bytes(verdict, 0, 0, 0)
    }

    /// One that leads to a group.
    pub fn group(group: u32) -> Self {
        Self::of_bytes(Verdict::Group, 0, 0, group)
    }

    /// One whose neighbour's link address is not known: egress interface, longest packet in bytes, gateway.
    pub fn incomplete(dev: u32, mtu: u32, gateway: Option<IpAddr>) -> Self {
        let mut entry = Self::of_bytes(Verdict::Incomplete, mtu, dev, 0);
        let gateway = gateway.map_or([0; 16], |gateway| match gateway {
            IpAddr::V4(gateway) => gateway.to_ipv6_mapped().octets(),
            IpAddr::V6(gateway) => gateway.octets(),
        });
        entry.put(32, &gateway);
        entry
    }

    /// Completes it with the link addresses of neighbour and interface.
    ///
    /// ```
    /// use ringway_fwd::control::{Adjacency, Family, Verdict};
    /// let entry = Adjacency::incomplete(3, 1500, None).ready([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], Family::V4);
    /// assert_eq!((entry.verdict(), entry.egress()), (Verdict::Ready, 3));
    /// ```
    pub fn ready(mut self, to: [u8; 6], from: [u8; 6], family: Family) -> Self {
        self.put(0, &[Verdict::Ready as u8, 14]);
        self.put(16, &to);
        self.put(22, &from);
        self.put(28, if family == Family::V4 { &[0x08, 0x00] } else { &[0x86, 0xdd] });
        self
    }

    fn of_bytes(verdict: Verdict, mtu: u32, dev: u32, group: u32) -> Self {
        let mut entry = Self::default();
        entry.put(0, &[verdict as u8]);
        entry.put(4, &mtu.to_ne_bytes());
        entry.put(8, &dev.to_ne_bytes());
        entry.put(12, &group.to_ne_bytes());
        entry
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let mut all = self.bytes();
        all[at..at + bytes.len()].copy_from_slice(bytes);
        for (word, bytes) in self.words.iter_mut().zip(all.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
    }

    /// Its bytes, as laid out above.
    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.words) {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    /// What becomes of packets.
    pub fn verdict(&self) -> Verdict {
        let number = self.words[0].to_ne_bytes()[0];
        Verdict::ALL.get(usize::from(number)).copied().unwrap_or(Verdict::Free)
    }

    /// Longest packet in bytes, without link header.
    pub fn mtu(&self) -> u32 {
        self.number(0, 4)
    }

    /// Egress interface, 0 if none.
    pub fn egress(&self) -> u32 {
        self.number(1, 0)
    }

    /// Number of the group, for [`Verdict::Group`].
    pub fn group_number(&self) -> u32 {
        self.number(1, 4)
    }

    /// Link header: destination, source, EtherType.
    pub fn header(&self) -> [u8; 14] {
        let mut header = [0; 14];
        header.copy_from_slice(&self.bytes()[16..30]);
        header
    }

    /// Gateway; `None` if the destination is on the link, or there is no egress.
    pub fn gateway(&self) -> Option<IpAddr> {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.bytes()[32..48]);
        let gateway = Ipv6Addr::from(octets);
        (!gateway.is_unspecified()).then(|| gateway.to_canonical())
    }

    fn number(&self, word: usize, at: usize) -> u32 {
        let b = self.words[word].to_ne_bytes();
        u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
    }
}

impl std::fmt::Debug for Adjacency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut s = f.debug_struct("Adjacency");
        s.field("verdict", &self.verdict()).field("mtu", &self.mtu()).field("egress", &self.egress());
        s.field("gateway", &self.gateway()).field("group", &self.group_number());
        s.field("header", &self.header()).finish()
    }
}

/// All next hops by number, one writer and any number of readers.
#[derive(Debug)]
pub struct Adjacencies {
    words: Cells<AtomicU64>,
}

impl Default for Adjacencies {
    fn default() -> Self {
        Self { words: Cells::new(WORDS << 16) }
    }
}

impl Adjacencies {
    /// Bytes of all entries.
    pub const SIZE: usize = WORDS << 19;

    /// 65,536 free entries, 4 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries in memory that others may read too, as they are there: zeroed memory holds free ones.
    ///
    /// # Errors
    /// [`FibError::Memory`] when it is smaller than [`SIZE`](Self::SIZE), or does not start on 8 bytes.
    pub fn in_memory(place: Foreign) -> Result<Self, FibError> {
        let words = Cells::foreign(&place, WORDS << 16);
        Ok(Self {
            words: words.ok_or(FibError::Memory { what: "too small or not aligned", need: Self::SIZE })?,
        })
    }

    /// The entry of a next hop. [`Verdict::Host`] when it is being written for too long.
    #[inline]
    pub fn load(&self, next_hop: NextHop) -> Adjacency {
        let at = usize::from(next_hop.get()) * WORDS;
        let words = &self.words[at..at + WORDS];
        for _ in 0..LOOKS {
            let version = words[VERSION].load(Acquire); // what is read next is at least as new
            let mut entry = Adjacency::default();
            for (to, word) in entry.words[..VERSION].iter_mut().zip(words) {
                *to = word.load(Relaxed);
            }
            fence(Acquire); // the version is read after the words
            if version.is_multiple_of(2) && words[VERSION].load(Relaxed) == version {
                return entry;
            }
            std::hint::spin_loop();
        }
        Adjacency::plain(Verdict::Host)
    }

    /// Writes an entry. One thread at a time may do so.
    pub fn store(&self, next_hop: NextHop, entry: &Adjacency) {
        let at = usize::from(next_hop.get()) * WORDS;
        let words = &self.words[at..at + WORDS];
        let differs = |i: &usize| words[*i].load(Relaxed) != entry.words[*i];
        let changed: Vec<usize> = (0..VERSION).filter(differs).collect();
        if let [] | [HEADER] = changed[..] {
            words[HEADER].store(entry.words[HEADER], Release);
            return;
        }
        let version = words[VERSION].load(Relaxed);
        words[VERSION].store(version + 1, Relaxed);
        fence(Release); // whoever sees one of the words below sees the odd version
        for i in changed {
            words[i].store(entry.words[i], Relaxed);
        }
        words[VERSION].store(version + 2, Release); // whoever sees this sees the words
    }
}

/// Packets and bytes of each next hop: one writer each, usually one such table for each forwarding thread.
#[derive(Debug)]
pub struct Counters {
    counts: Box<[[AtomicU64; 2]]>,
}

impl Default for Counters {
    fn default() -> Self {
        Self { counts: (0..1 << 16).map(|_| Default::default()).collect() }
    }
}

impl Counters {
    /// All 0, 1 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts packets of a next hop. One thread at a time may do so.
    #[inline]
    pub fn add(&self, next_hop: NextHop, packets: u64, bytes: u64) {
        let [p, b] = &self.counts[usize::from(next_hop.get())];
        p.store(p.load(Relaxed).wrapping_add(packets), Relaxed);
        b.store(b.load(Relaxed).wrapping_add(bytes), Relaxed);
    }

    /// Packets and bytes so far. The number of a next hop that went away goes on counting for the one that gets it.
    pub fn get(&self, next_hop: NextHop) -> (u64, u64) {
        let [p, b] = &self.counts[usize::from(next_hop.get())];
        (p.load(Relaxed), b.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const N: NextHop = NextHop::new(7).unwrap();

    #[test]
    fn bytes_are_where_the_table_says() {
        let gateway = Some("192.0.2.1".parse().unwrap());
        let entry = Adjacency::incomplete(0x0102_0304, 1500, gateway).ready([1; 6], [2; 6], Family::V6);
        let b = entry.bytes();
        assert_eq!((b[0], b[1], &b[2..4]), (1, 14, &[0, 0][..]));
        assert_eq!((&b[4..8], &b[8..12]), (&1500u32.to_ne_bytes()[..], &0x0102_0304u32.to_ne_bytes()[..]));
        assert_eq!(&b[16..32], &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x86, 0xdd, 0, 0]);
        assert_eq!(&b[32..48], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1]);
        assert_eq!(Adjacency::group(9).bytes()[12..16], 9u32.to_ne_bytes());
        assert_eq!((entry.verdict(), entry.mtu(), entry.egress()), (Verdict::Ready, 1500, 0x0102_0304));
        assert_eq!(entry.gateway(), gateway);
        assert_eq!(Adjacency::incomplete(1, 1500, None).gateway(), None);
    }

    #[test]
    fn a_new_link_address_is_one_store() {
        let table = Adjacencies::new();
        let entry = |to| Adjacency::incomplete(3, 1500, None).ready(to, [2; 6], Family::V4);
        table.store(N, &entry([1; 6]));
        assert_eq!(table.load(N), entry([1; 6]));
        let version = |t: &Adjacencies| t.words[7 * WORDS + VERSION].load(Relaxed);
        let before = version(&table);
        table.store(N, &entry([9; 6]));
        assert_eq!((table.load(N), version(&table)), (entry([9; 6]), before));
        table.store(N, &Adjacency::plain(Verdict::Blackhole));
        assert_eq!((table.load(N).verdict(), version(&table)), (Verdict::Blackhole, before + 2));
    }

    #[test]
    fn readers_never_see_halves() {
        let table = Adjacencies::new();
        let entry = |i: u8| Adjacency::incomplete(i.into(), i.into(), None).ready([i; 6], [i; 6], Family::V4);
        table.store(N, &entry(0));
        let done = AtomicBool::new(false);
        let changes = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let write = |i: u32| table.store(N, &entry(i as u8));
                (0..).take_while(|_| !done.load(Relaxed)).for_each(write);
            });
            let (mut changes, mut before) = (0, entry(0));
            while changes < 1000 && !writer.is_finished() {
                let seen = table.load(N);
                if seen.verdict() == Verdict::Ready {
                    assert_eq!(seen, entry(seen.mtu() as u8));
                    changes += u32::from(seen != before);
                    before = seen;
                }
            }
            done.store(true, Relaxed);
            changes
        });
        assert_eq!(changes, 1000, "the reader saw the entry change");
    }

    #[test]
    fn an_entry_left_half_written_goes_to_the_host() {
        let table = Adjacencies::new();
        table.words[7 * WORDS + VERSION].store(1, Relaxed);
        assert_eq!(table.load(N).verdict(), Verdict::Host);
    }

    #[test]
    fn counters_add_up() {
        let counters = Counters::new();
        counters.add(N, 2, 128);
        counters.add(N, 1, 64);
        assert_eq!(counters.get(N), (3, 192));
        assert_eq!(counters.get(NextHop::new(8).unwrap()), (0, 0));
    }
}
