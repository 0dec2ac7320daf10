//! Half-open connections: a SYN was answered, and the answer is not acknowledged yet.
//!
//! There are no more of them than the settings allow. A further one takes the place of the oldest one, as a peer that means to go on
//! has acknowledged long before. So servers have room for others beside a flood of SYNs.

use std::collections::VecDeque;

use crate::base::slab::Slab;
use crate::transport::Settings;
use crate::transport::conn::State;

use super::endpoint::Endpoint;

/// A list below this length is not looked through.
const SHORT: usize = 64;

/// A connection that was half-open when it came. Its numbers tell it from a later one with the same record.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u32,
    expected: u32,
    una: u32,
}

impl Entry {
    fn of(id: u32, endpoint: &Endpoint) -> Self {
        Self { id, expected: endpoint.tcp.expected, una: endpoint.tcp.una }
    }

    /// Whether the connection is half-open still.
    fn holds(&self, endpoints: &Slab<Endpoint>) -> bool {
        endpoints.get(self.id).is_some_and(|endpoint| {
            let tcp = &endpoint.tcp;
            tcp.state == State::SynReceived && (tcp.expected, tcp.una) == (self.expected, self.una)
        })
    }
}

/// The half-open connections of a shard.
#[derive(Debug)]
pub(super) struct Backlog {
    /// Most of them. `None`: any number.
    limit: Option<u32>,
    /// How many there are.
    open: u32,
    /// Connections that servers accepted, the oldest first. Some are no longer half-open.
    order: VecDeque<Entry>,
}

impl Backlog {
    /// For a shard with so many ends of connections.
    pub(super) fn new(settings: &Settings, endpoints: u32) -> Self {
        let limit = match settings.backlog {
            None => Some(endpoints / 2),
            Some(0) => None,
            limit => limit,
        };
        Self { limit, open: 0, order: VecDeque::new() }
    }

    /// How many connections are half-open.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// The state of a connection changed.
    #[inline]
    pub(super) fn changed(&mut self, from: State, to: State) {
        self.open += u32::from(to == State::SynReceived);
        self.open -= u32::from(from == State::SynReceived);
    }

    /// Notes a new half-open connection. Returns the one that has to go for it.
    pub(super) fn enter(&mut self, id: u32, endpoints: &Slab<Endpoint>) -> Option<u32> {
        let limit = self.limit?;
        while self.order.front().is_some_and(|entry| !entry.holds(endpoints)) {
            self.order.pop_front();
        }
        if self.order.len() > SHORT && self.order.len() / 2 > self.open as usize {
            self.order.retain(|entry| entry.holds(endpoints));
        }
        self.order.push_back(Entry::of(id, &endpoints[id]));
        if self.open <= limit {
            return None;
        }
        std::iter::from_fn(|| self.order.pop_front())
            .find(|entry| entry.holds(endpoints))
            .map(|entry| entry.id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What happens to a half-open connection: a new one, or the end of the one with this number of all that are open.
    #[derive(Clone, Debug)]
    enum Step {
        Open,
        Acknowledge(usize),
        Close(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Open),
            1 => any::<usize>().prop_map(Step::Acknowledge),
            1 => any::<usize>().prop_map(Step::Close),
        ]
    }

    /// A backlog, its records, and a model: a list.
    struct Bed {
        backlog: Backlog,
        endpoints: Slab<Endpoint>,
        model: Vec<u32>,
        number: u32,
    }

    impl Bed {
        fn new(limit: u32) -> Self {
            let backlog = Backlog::new(&Settings { backlog: Some(limit), ..Settings::default() }, 0);
            Self { backlog, endpoints: Slab::new(4096).unwrap(), model: Vec::new(), number: 0 }
        }

        /// A connection leaves the list, and its record is another one's from here on.
        fn leave(&mut self, id: u32, to: State) {
            let was = std::mem::replace(&mut self.endpoints[id].tcp.state, to);
            self.backlog.changed(was, to);
            if to == State::Closed {
                self.endpoints.give(id);
            }
        }

        /// Returns the connection that went.
        fn open(&mut self) -> Option<u32> {
            let id = self.endpoints.take().unwrap();
            self.number += 1;
            self.endpoints[id].tcp.expected = self.number;
            self.endpoints[id].tcp.state = State::SynReceived;
            self.backlog.changed(State::Closed, State::SynReceived);
            self.model.push(id);
            self.backlog.enter(id, &self.endpoints)
        }
    }

    proptest! {
        #[test]
        fn the_oldest_one_goes_when_there_are_too_many(
            limit in 1u32..8,
            steps in proptest::collection::vec(step(), 0..600),
        ) {
            let mut bed = Bed::new(limit);
            for step in steps {
                let to = if matches!(step, Step::Close(_)) { State::Closed } else { State::Established };
                match step {
                    Step::Open => {
                        let went = bed.open();
                        let oldest = (bed.model.len() > limit as usize).then(|| bed.model.remove(0));
                        prop_assert_eq!(went, oldest);
                        if let Some(id) = went {
                            bed.leave(id, State::Closed);
                        }
                    }
                    Step::Acknowledge(at) | Step::Close(at) if !bed.model.is_empty() => {
                        let id = bed.model.remove(at % bed.model.len());
                        bed.leave(id, to);
                    }
                    Step::Acknowledge(_) | Step::Close(_) => {}
                }
                prop_assert_eq!(bed.backlog.open() as usize, bed.model.len());
                prop_assert!(bed.backlog.order.len() <= SHORT.max(2 * limit as usize) + 1);
            }
        }
    }
}
