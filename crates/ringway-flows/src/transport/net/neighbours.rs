//! Hardware addresses of the far side: what is known, and what is asked for.
//!
//! ```text
//!            resolve             3 questions, 1 s apart, and no answer
//!   unknown ---------> asking --------------------------------------> unreachable
//!      ^                  |  answer, or traffic                            |
//!      |                  +------------> known <---------------------------+
//!      +------------------------------- after 1 s -------------------------+
//! ```
//!
//! A known address stays known. An answer, an announcement or traffic with another address replaces it.

use std::collections::VecDeque;

use ringway_wire::MacAddr;

use super::hosts::HostId;

/// Time between two questions, and how long an unreachable neighbour stays so, in nanoseconds (RFC 1122, section 2.3.2.1; RFC 4861, section 10).
pub(crate) const RETRY: u64 = 1_000_000_000;
/// Questions before a neighbour is unreachable (RFC 4861, section 10).
pub(crate) const QUESTIONS: u8 = 3;
/// Neighbours that may be asked for at the same time.
pub(crate) const MOST_ASKED: usize = 65_536;

/// Hosts of a page of the table, which is there once one of them is used.
const PAGE: usize = 512;
/// Numbers of VLANs.
const VLANS: usize = 4096;

const MAC: u64 = (1 << 48) - 1;
const UNKNOWN: u64 = 0;
const KNOWN: u64 = 1 << 48;
const ASKING: u64 = 2 << 48;
const UNREACHABLE: u64 = 3 << 48;

/// Whose hardware address is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// A host of the far side.
    Host(HostId),
    /// The gateway of a family, as hosts of a VLAN see it.
    Gateway {
        /// The family.
        is_v4: bool,
        /// The VLAN, 0..=4095; 0 without tag.
        vlan: u16,
    },
}

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// Its hardware address.
    Known([u8; 6]),
    /// It was asked for, and may answer yet.
    Asking,
    /// It did not answer. A second later it is asked again when somebody wants it.
    Unreachable,
}

/// A neighbour that was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    who: Neighbour,
    /// The host in whose name the questions go.
    from: HostId,
    /// When the next step is due.
    due: u64,
    /// Questions so far.
    questions: u8,
}

/// Hardware addresses of the far side.
///
/// Each neighbour takes a word of 8 bytes: its address and its state.
#[derive(Debug)]
pub(crate) struct Neighbours {
    pages: Vec<Option<Box<[u64; PAGE]>>>,
    /// By family, IPv4 first, then by VLAN.
    gateways: [Box<[u64]>; 2],
    /// No question went out yet. In the order of times.
    fresh: VecDeque<Asked>,
    /// At least one went out. In the order of times, as each waits for the same time.
    waiting: VecDeque<Asked>,
}

impl Neighbours {
    /// A table for hosts with numbers below `hosts`.
    pub(crate) fn new(hosts: u32) -> Self {
        let mut pages = Vec::new();
        pages.resize_with((hosts as usize).div_ceil(PAGE), || None);
        let vlans = || vec![UNKNOWN; VLANS].into_boxed_slice();
        let gateways = [vlans(), vlans()];
        Self { pages, gateways, fresh: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// The word of a neighbour. Its page is made when it is not there.
    #[inline]
    fn word(&mut self, who: Neighbour) -> &mut u64 {
        match who {
            Neighbour::Host(HostId(id)) => {
                let page = &mut self.pages[id as usize / PAGE];
                &mut page.get_or_insert_with(|| Box::new([UNKNOWN; PAGE]))[id as usize % PAGE]
            }
            Neighbour::Gateway { is_v4, vlan } => {
                &mut self.gateways[usize::from(!is_v4)][usize::from(vlan) % VLANS]
            }
        }
    }

    /// The hardware address of a neighbour. Without one, questions go out in the name of `from`, a host of this side.
    #[inline]
    pub(crate) fn resolve(&mut self, who: Neighbour, from: HostId, now: u64) -> Resolution {
        let word = *self.word(who);
        match word & !MAC {
            KNOWN => Resolution::Known(MacAddr::from_u64(word).0),
            ASKING => Resolution::Asking,
            UNREACHABLE => Resolution::Unreachable,
            _ => self.ask(who, from, now),
        }
    }

    /// The hardware address of a host, if it is known.
    #[inline]
    pub(crate) fn host(&self, host: HostId) -> Option<[u8; 6]> {
        self.number(host).map(|number| MacAddr::from_u64(number).0)
    }

    /// The hardware address of a host as a number, if it is known.
    #[inline]
    pub(crate) fn number(&self, HostId(id): HostId) -> Option<u64> {
        let page = self.pages.get(id as usize / PAGE)?.as_ref()?;
        let word = page[id as usize % PAGE];
        (word & !MAC == KNOWN).then_some(word & MAC)
    }

    /// The hardware address of the IPv4 gateway of hosts without a VLAN as a number, if it is known.
    pub(crate) fn gateway_number(&self) -> Option<u64> {
        self.known(Neighbour::Gateway { is_v4: true, vlan: 0 }).map(|mac| MacAddr(mac).to_u64())
    }

    /// The hardware address of a neighbour, if it is known.
    pub(crate) fn known(&self, who: Neighbour) -> Option<[u8; 6]> {
        let word = match who {
            Neighbour::Host(host) => return self.host(host),
            Neighbour::Gateway { is_v4, vlan } => {
                self.gateways[usize::from(!is_v4)][usize::from(vlan) % VLANS]
            }
        };
        (word & !MAC == KNOWN).then(|| MacAddr::from_u64(word).0)
    }

    /// Notes that a neighbour is wanted. With too many of them it stays unknown, and the next `resolve` tries again.
    #[cold]
    fn ask(&mut self, who: Neighbour, from: HostId, now: u64) -> Resolution {
        if self.asked() < MOST_ASKED {
            *self.word(who) = ASKING;
            self.fresh.push_back(Asked { who, from, due: now, questions: 0 });
        }
        Resolution::Asking
    }

    /// Whether a host is known to have a hardware address.
    #[inline]
    pub(crate) fn knows(&self, host: HostId, mac: [u8; 6]) -> bool {
        self.knows_number(host, MacAddr(mac).to_u64())
    }

    /// The same, with the address as a number.
    #[inline]
    pub(crate) fn knows_number(&self, HostId(id): HostId, mac: u64) -> bool {
        let page = self.pages.get(id as usize / PAGE).and_then(Option::as_ref);
        page.is_some_and(|page| page[id as usize % PAGE] == KNOWN | mac)
    }

    /// Takes in a neighbour's hardware address. `replaces` lets it replace another one that is known.
    ///
    /// Whether it is news: flows that wait for the neighbour can go on. Group addresses and zero are no address of a neighbour.
    pub(crate) fn learn(&mut self, who: Neighbour, mac: [u8; 6], replaces: bool) -> bool {
        let new = KNOWN | MacAddr(mac).to_u64();
        let word = self.word(who);
        if *word == new {
            return false;
        }
        let is_known = *word & !MAC == KNOWN;
        let counts = MacAddr(mac).is_unicast() && (replaces || !is_known);
        if counts {
            *word = new;
        }
        counts && !is_known
    }

    /// The next question that is due: for whom, and in whose name. To be called until there is none.
    pub(crate) fn question(&mut self, now: u64) -> Option<(Neighbour, HostId)> {
        while let Some(mut asked) = self.take(now) {
            let word = self.word(asked.who);
            match *word & !MAC {
                ASKING if asked.questions < QUESTIONS => asked.questions += 1,
                ASKING => *word = UNREACHABLE,
                UNREACHABLE => {
                    *word = UNKNOWN;
                    continue;
                }
                _ => continue,
            }
            let asks = *word & !MAC == ASKING;
            self.waiting.push_back(Asked { due: now + RETRY, ..asked });
            if asks {
                return Some((asked.who, asked.from));
            }
        }
        None
    }

    fn take(&mut self, now: u64) -> Option<Asked> {
        let queue = if self.fresh.is_empty() { &mut self.waiting } else { &mut self.fresh };
        if queue.front()?.due <= now { queue.pop_front() } else { None }
    }

    /// When [`question`](Self::question) has something to do.
    pub(crate) fn due(&self) -> Option<u64> {
        let first = |queue: &VecDeque<Asked>| queue.front().map(|asked| asked.due);
        first(&self.fresh).into_iter().chain(first(&self.waiting)).min()
    }

    /// How many neighbours are in the queues. One that answered leaves at its next step.
    pub(crate) fn asked(&self) -> usize {
        self.fresh.len() + self.waiting.len()
    }
}
