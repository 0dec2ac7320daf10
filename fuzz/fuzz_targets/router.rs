//! Frames that a router forwards: the engine decides and rewrites as the slow reference does.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ringway_fib::{Fib4, Fib6};
use ringway_fuzz::Input;
use ringway_fwd::control::{Changes, Limits, Resolver, Tables};
use ringway_fwd::router::generate::{Links, state};
use ringway_fwd::router::reference::{Both, Reference};
use ringway_fwd::router::{BudgetLimits, Decision, Engine, Interface, Interfaces, Rate, Readers, Rpf};
use ringway_wire::Ipv4;

const LINKS: Links = Links { lan: 2, wan: 3, other: 4 };

/// Both routers with the same made-up tables, which no frame changes.
struct Pair {
    engine: Engine,
    interfaces: Arc<Interfaces>,
    reference: Reference,
    _tables: Tables,
}

impl Pair {
    fn new() -> Self {
        let (fib4, fib6) = (Fib4::new(Default::default()), Fib6::new(Default::default()));
        let members = LINKS.members();
        let plane = Tables::new(fib4.expect("memory"), fib6.expect("memory"), Limits::default());
        let mut planes = Both { plane, reference: Reference::new(members.to_vec()) };
        let mut resolver = Resolver::new(&mut planes);
        resolver.update(&state(LINKS), Changes::everything(), &mut planes).expect("room");
        let interfaces = Arc::new(Interfaces::new(&members).expect("two"));
        let endless = Rate { per_second: 1_000_000_000, burst: u32::MAX };
        let limits = BudgetLimits { plain: endless, costly: endless };
        let engine = Engine::new(Readers::new(&planes.plane).expect("memory"), interfaces.clone(), limits);
        engine.heartbeat().beat(1);
        Self { engine, interfaces, reference: planes.reference, _tables: planes.plane }
    }

    fn same(&mut self, position: usize, rpf: Rpf, frames: &[Vec<u8>]) {
        let interface = Interface { rpf4: rpf, rpf6: rpf, ..self.interfaces.get(position) };
        self.interfaces.set(position, &interface);
        self.reference.interfaces[position] = interface;
        self.engine.begin(position, 1);
        frames.iter().for_each(|frame| self.engine.push(frame, frame.len()));
        self.engine.decide();
        for (i, frame) in frames.iter().enumerate() {
            let (wanted, out) = self.reference.decide(position, frame);
            let found = self.engine.decision(i);
            assert_eq!(found, wanted, "{frame:02x?}");
            let mut rewritten = frame.clone();
            self.engine.rewrite(i, &mut rewritten);
            if let Decision::Forward(to) = found {
                rewritten.truncate(to.len as usize);
            }
            assert_eq!(rewritten, out.unwrap_or_else(|| frame.clone()), "{frame:02x?}");
        }
    }
}

thread_local!(static PAIR: RefCell<Pair> = RefCell::new(Pair::new()));

/// A frame; mostly for the router, with a header checksum that is right.
fn frame(input: &mut Input<'_>, position: usize) -> Vec<u8> {
    let (how, mut frame) = (input.u8(), input.short().to_vec());
    if frame.len() >= 14 && how & 1 == 0 {
        frame[..6].copy_from_slice(&LINKS.members()[position].mac);
        frame[12..14].copy_from_slice(if how & 2 == 0 { &[0x08, 0x00] } else { &[0x86, 0xdd] });
    }
    if how & 4 == 0
        && let Some(packet) = frame.get_mut(14..)
        && let Ok(mut ip) = Ipv4::new_checked(packet)
    {
        ip.fill_checksum();
        if how & 8 != 0 && ip.checksum() == 0 {
            ip.set_checksum(0xffff);
        }
    }
    frame
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (position, rpf) =
        (input.below(2) as usize, [Rpf::Off, Rpf::Loose, Rpf::Strict][input.below(3) as usize]);
    let mut frames = Vec::new();
    while !input.is_empty() && frames.len() < 8 {
        frames.push(frame(&mut input, position));
    }
    PAIR.with_borrow_mut(|pair| pair.same(position, rpf, &frames));
});
