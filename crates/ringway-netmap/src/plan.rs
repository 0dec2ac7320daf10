//! What makes up a binding, in a form that travels: numbers in a message, and descriptors beside it.

/// What serves a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Ring `ring` of the port `served` of the plan.
    Served { served: u32, ring: u32 },
    /// A pipe, whose other ring is `peer`. Bells of the plan wake this end and the other.
    Pipe { peer: u32, own_bell: u32, peer_bell: u32 },
    /// A monitor's rx ring, which others fill. It looks at `ring` of the port `served` itself, if there is one.
    Monitor { own_bell: u32, served: Option<(u32, u32)> },
    /// Nothing.
    Alone,
    /// Frames that come to other rings.
    Gather(Sources),
}

/// The rings that another one gathers from: the rx rings of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sources {
    /// The port's place in the plan.
    pub(crate) served: u32,
    /// Number of the first ring in the region.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// A ring of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingPlan {
    pub(crate) number: u32,
    pub(crate) slots: u32,
    pub(crate) service: Service,
}

/// A binding. Its descriptors are, in order: proof and memory of each hold, the queue of each port, the bells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Flags of the registration.
    pub(crate) flags: u64,
    /// Number of the binding in each region that it holds; the rings are in the first one.
    pub(crate) holds: Vec<u32>,
    /// Ports, by hold and number.
    pub(crate) served: Vec<(u32, u32)>,
    pub(crate) bells: u32,
    pub(crate) tx: Vec<RingPlan>,
    pub(crate) rx: Vec<RingPlan>,
}

const MAGIC: u32 = u32::from_ne_bytes(*b"bnd1");
const NONE: u32 = u32::MAX;
const RING_WORDS: usize = 6;

impl Plan {
    /// The plan as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![MAGIC, self.flags as u32, (self.flags >> 32) as u32];
        words.push(self.holds.len() as u32);
        words.extend(&self.holds);
        words.push(self.served.len() as u32);
        words.extend(self.served.iter().flat_map(|(hold, port)| [*hold, *port]));
        words.push(self.bells);
        for rings in [&self.tx, &self.rx] {
            words.push(rings.len() as u32);
            words.extend(rings.iter().flat_map(RingPlan::words));
        }
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }

    /// The plan that bytes say; `None` for others.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = Words(bytes);
        if words.next()? != MAGIC {
            return None;
        }
        let flags = u64::from(words.next()?) | u64::from(words.next()?) << 32;
        let holds = (0..words.count(1)?).map(|_| words.next()).collect::<Option<_>>()?;
        let served =
            (0..words.count(2)?).map(|_| Some((words.next()?, words.next()?))).collect::<Option<_>>()?;
        let bells = words.next()?;
        let [tx, rx] = [words.rings()?, words.rings()?];
        let plan = Self { flags, holds, served, bells, tx, rx };
        plan.is_whole().then_some(plan)
    }

    /// Whether what rings name is there.
    fn is_whole(&self) -> bool {
        let served = |s: u32| (s as usize) < self.served.len();
        let rings = self.tx.iter().chain(&self.rx);
        !self.holds.is_empty()
            && self.served.iter().all(|(hold, _)| (*hold as usize) < self.holds.len())
            && rings.into_iter().all(|ring| match ring.service {
                Service::Served { served: s, .. } | Service::Gather(Sources { served: s, .. }) => served(s),
                Service::Pipe { own_bell, peer_bell, .. } => own_bell < self.bells && peer_bell < self.bells,
                Service::Monitor { own_bell, served: s } => {
                    own_bell < self.bells && s.is_none_or(|(s, _)| served(s))
                }
                Service::Alone => true,
            })
    }
}

impl RingPlan {
    /// Whether the rings that it names are in a region of so many rings with so many slots.
    pub(crate) fn fits(&self, rings: u32, slots: u32) -> bool {
        let others = match self.service {
            Service::Pipe { peer, .. } => peer < rings,
            Service::Gather(Sources { first, count, .. }) => {
                first.checked_add(count).is_some_and(|end| end <= rings)
            }
            Service::Served { .. } | Service::Monitor { .. } | Service::Alone => true,
        };
        others && self.number < rings && (2..=slots).contains(&self.slots)
    }

    fn words(&self) -> [u32; RING_WORDS] {
        let service = match self.service {
            Service::Served { served, ring } => [0, served, ring, 0],
            Service::Pipe { peer, own_bell, peer_bell } => [1, peer, own_bell, peer_bell],
            Service::Monitor { own_bell, served } => {
                let (served, ring) = served.unwrap_or((NONE, 0));
                [2, own_bell, served, ring]
            }
            Service::Alone => [3, 0, 0, 0],
            Service::Gather(Sources { served, first, count }) => [4, served, first, count],
        };
        [self.number, self.slots, service[0], service[1], service[2], service[3]]
    }

    fn of(words: [u32; RING_WORDS]) -> Option<Self> {
        let [number, slots, kind, a, b, c] = words;
        let service = match kind {
            0 => Service::Served { served: a, ring: b },
            1 => Service::Pipe { peer: a, own_bell: b, peer_bell: c },
            2 => Service::Monitor { own_bell: a, served: (b != NONE).then_some((b, c)) },
            3 => Service::Alone,
            4 => Service::Gather(Sources { served: a, first: b, count: c }),
            _ => return None,
        };
        Some(Self { number, slots, service })
    }
}

struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*word))
    }

    /// A number of things of so many words each, which are there.
    fn count(&mut self, words: usize) -> Option<usize> {
        let count = self.next()? as usize;
        (count <= self.0.len() / (4 * words)).then_some(count)
    }

    fn rings(&mut self) -> Option<Vec<RingPlan>> {
        let count = self.count(RING_WORDS)?;
        (0..count)
            .map(|_| {
                let mut words = [0; RING_WORDS];
                for word in &mut words {
                    *word = self.next()?;
                }
                RingPlan::of(words)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plan_comes_back() {
        let ring = |service| RingPlan { number: 3, slots: 64, service };
        let plan = Plan {
            flags: 1 << 40 | 5,
            holds: vec![7, 8],
            served: vec![(1, 2)],
            bells: 2,
            tx: vec![ring(Service::Served { served: 0, ring: 9 }), ring(Service::Alone)],
            rx: vec![
                ring(Service::Pipe { peer: 4, own_bell: 0, peer_bell: 1 }),
                ring(Service::Monitor { own_bell: 1, served: None }),
                ring(Service::Monitor { own_bell: 1, served: Some((0, 5)) }),
                ring(Service::Gather(Sources { served: 0, first: 4, count: 250 })),
            ],
        };
        assert_eq!(Plan::of_bytes(&plan.to_bytes()), Some(plan.clone()));
        let lost = Plan { served: Vec::new(), ..plan };
        assert_eq!(Plan::of_bytes(&lost.to_bytes()), None);
    }

    #[test]
    fn rings_that_a_plan_names_are_in_the_region() {
        let fits = |service| RingPlan { number: 3, slots: 64, service }.fits(8, 64);
        let gathers = |first, count| fits(Service::Gather(Sources { served: 0, first, count }));
        assert!(gathers(4, 4) && !gathers(5, 4) && !gathers(2, u32::MAX));
        assert!(!fits(Service::Pipe { peer: 8, own_bell: 0, peer_bell: 1 }));
        assert!(!RingPlan { number: 8, slots: 64, service: Service::Alone }.fits(8, 64));
        assert!(!RingPlan { number: 3, slots: 65, service: Service::Alone }.fits(8, 64));
    }

    proptest! {
        #[test]
        fn nonsense_is_no_plan(words in prop::collection::vec(0u32..9, 0..60)) {
            let bytes: Vec<u8> = std::iter::once(MAGIC).chain(words).flat_map(u32::to_ne_bytes).collect();
            let _ = Plan::of_bytes(&bytes);
            let _ = Plan::of_bytes(&bytes[1..]);
        }
    }
}
