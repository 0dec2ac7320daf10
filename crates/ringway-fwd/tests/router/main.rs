//! The engine against the slow reference, and each rule by an example.
#![allow(clippy::unwrap_used, reason = "a test")]

mod many;
mod rules;

use std::sync::Arc;

use ringway_fib::{Fib4, Fib6, NextHop};
use ringway_fwd::control::{Changes, Limits, Pulse, Resolver, State, Tables};
use ringway_fwd::router::generate::{Links, state};
use ringway_fwd::router::reference::{Both, Reference};
use ringway_fwd::router::{
    BudgetLimits, Decision, Engine, Interface, InterfaceCounts, Interfaces, Rate, Readers, Rpf,
};

const LINKS: Links = Links { lan: 2, wan: 3, other: 4 };

/// Both routers with the same tables.
struct Pair {
    engine: Engine,
    interfaces: Arc<Interfaces>,
    reference: Reference,
    state: State,
    planes: Both<Tables>,
    resolver: Resolver,
    /// What should have been counted, by position.
    expected: [InterfaceCounts; 2],
}

impl Pair {
    /// With the made-up tables, and budgets that are never used up.
    fn new() -> Self {
        let endless = Rate { per_second: 1_000_000_000, burst: u32::MAX };
        Self::with(BudgetLimits { plain: endless, costly: endless })
    }

    fn with(limits: BudgetLimits) -> Self {
        let (fib4, fib6) = (Fib4::new(Default::default()).unwrap(), Fib6::new(Default::default()).unwrap());
        let members = LINKS.members();
        let reference = Reference::new(members.to_vec());
        let mut planes = Both { plane: Tables::new(fib4, fib6, Limits::default()), reference };
        let mut resolver = Resolver::new(&mut planes);
        let state = state(LINKS);
        resolver.update(&state, Changes::everything(), &mut planes).unwrap();
        assert_eq!((resolver.audit(&state, &mut Pulse::none()), resolver.pending()), (0, 0));
        let interfaces = Arc::new(Interfaces::new(&members).unwrap());
        let engine = Engine::new(Readers::new(&planes.plane).unwrap(), interfaces.clone(), limits);
        engine.heartbeat().beat(1);
        let reference = planes.reference.clone();
        Self { engine, interfaces, reference, state, planes, resolver, expected: Default::default() }
    }

    /// Sets the reverse path filters of both members.
    fn filter(&mut self, rpf4: Rpf, rpf6: Rpf) {
        for position in 0..2 {
            let interface = Interface { rpf4, rpf6, ..self.interfaces.get(position) };
            self.interfaces.set(position, &interface);
            self.reference.interfaces[position] = interface;
        }
    }

    /// Both routers on a burst: the same decisions, and the same bytes.
    fn same(&mut self, position: usize, frames: &[Vec<u8>]) -> Vec<Decision> {
        self.engine.begin(position, 1);
        frames.iter().for_each(|frame| self.engine.push(frame, frame.len()));
        self.engine.decide();
        let mut decisions = Vec::new();
        for (i, frame) in frames.iter().enumerate() {
            let (wanted, out) = self.reference.decide(position, frame);
            let found = self.engine.decision(i);
            assert_eq!(found, wanted, "{found} and {wanted} of {}", hex(frame));
            let mut rewritten = frame.clone();
            self.engine.rewrite(i, &mut rewritten);
            if let Decision::Forward(to) = found {
                rewritten.truncate(to.len as usize);
            }
            let out = out.as_ref().unwrap_or(frame);
            assert!(rewritten == *out, "{} became {}, not {}", hex(frame), hex(&rewritten), hex(out));
            self.expected[position].count(wanted);
            decisions.push(wanted);
        }
        decisions
    }

    /// All that was counted is what was decided, and adds up.
    fn counted(&self) {
        let mut forwarded = 0;
        for position in 0..2 {
            let counts = self.engine.counts().get(position);
            assert_eq!(counts, self.expected[position]);
            let reasons: u64 = counts.named().skip(1).map(|(_, n)| n).sum();
            assert_eq!(counts.frames_in, reasons);
            forwarded += counts.forwarded;
        }
        let packets = (1..=u16::MAX).map(|n| self.engine.next_hops().get(NextHop::new(n).unwrap()).0);
        assert_eq!(packets.sum::<u64>(), forwarded);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
