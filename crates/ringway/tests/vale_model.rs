//! A switch against a slow, obvious model of it: random ports, frames, sizes, destinations, bursts, and receivers that read
//! or do not. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "a test")]

mod switch;

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ringway::layout::{NS_NO_LEARN, NS_PORT_SHIFT};
use ringway::switch::SwitchSpec;
use ringway::{DropReason, Port};

use switch::{Temporary, assert_closed, push_parts};

const PORTS: usize = 4;
const SLOTS: usize = 64;
const BUF: usize = 2112;

/// What a program does to the switch.
#[derive(Debug, Clone)]
enum Step {
    /// Port, then frames that it sends with one sync.
    Send(usize, Vec<Sent>),
    /// A port takes so many frames and gives their slots back.
    Receive(usize, usize),
}

#[derive(Debug, Clone)]
struct Sent {
    to: u8,
    from: u8,
    parts: Vec<usize>,
    learn: bool,
    forced: u16,
}

impl Sent {
    /// Its bytes; `n` tells it from others.
    fn bytes(&self, n: u32) -> Vec<u8> {
        let len: usize = self.parts.iter().sum();
        let mut f = vec![n as u8; len.max(18)];
        f[..6].copy_from_slice(&if self.to == 0 { [0xff; 6] } else { [2, 0, 0, 0, 0, self.to] });
        f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, self.from]);
        f[14..18].copy_from_slice(&n.to_le_bytes());
        f.truncate(len);
        f
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    let part = prop_oneof![4 => 14usize..200, 1 => Just(BUF), 1 => Just(0usize), 1 => 1usize..14];
    let parts =
        prop_oneof![6 => part.clone().prop_map(|p| vec![p]), 2 => proptest::collection::vec(part, 2..9)];
    // Stations 1 to 6 move between ports as their frames come from anywhere; 7 is nowhere; 8 is a
    // blackhole, 9 is on port 2 for good.
    let forced = prop_oneof![12 => Just(0u16), 1 => 1u16..=PORTS as u16, 1 => Just(50u16), 1 => Just(255u16)];
    (0u8..=9, 1u8..=6, parts, any::<bool>(), forced).prop_map(|(to, from, parts, learn, forced)| Sent {
        to,
        from,
        parts,
        learn,
        forced,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..PORTS, proptest::collection::vec(sent(), 1..8)).prop_map(|(p, s)| Step::Send(p, s)),
        1 => (0..PORTS, 0usize..40).prop_map(|(p, n)| Step::Receive(p, n)),
    ]
}

/// The frames on their way to a port, each with its slots.
#[derive(Default)]
struct Queue {
    frames: VecDeque<(Vec<u8>, usize)>,
    slots: usize,
    lost: u64,
}

#[derive(Default)]
struct Model {
    table: HashMap<u8, usize>,
    queues: [Queue; PORTS],
    drops: HashMap<(usize, DropReason), u64>,
}

impl Model {
    /// Decides for all frames first, as addresses are learned before any frame of a burst is delivered.
    fn send(&mut self, from: usize, frames: &[(Sent, Vec<u8>)]) {
        let decided: Vec<_> = frames.iter().map(|(s, f)| (self.decide(from, s), s, f)).collect();
        let mut reached = vec![false; frames.len()];
        for to in (0..PORTS).filter(|&to| to != from) {
            // Frames behind one that finds no room are lost too, so that none overtakes another.
            let mut full = false;
            for (i, (d, s, f)) in decided.iter().enumerate() {
                if !matches!(d, Ok(ports) if ports.contains(&to)) {
                    continue;
                }
                let (q, slots) = (&mut self.queues[to], s.parts.len());
                full |= q.slots + slots > SLOTS - 1;
                if full {
                    q.lost += 1;
                } else {
                    q.frames.push_back(((*f).clone(), slots));
                    q.slots += slots;
                    reached[i] = true;
                }
            }
        }
        for (i, (d, ..)) in decided.iter().enumerate() {
            let why = d.as_ref().err().copied().or((!reached[i]).then_some(DropReason::ReceiverFull));
            if let Some(why) = why {
                *self.drops.entry((from, why)).or_default() += 1;
            }
        }
    }

    /// The ports that a frame goes to.
    fn decide(&mut self, from: usize, s: &Sent) -> Result<Vec<usize>, DropReason> {
        if s.parts[0] < 14 {
            return Err(DropReason::TooShort);
        }
        if s.learn {
            self.table.insert(s.from, from);
        }
        let others = || (0..PORTS).filter(|&p| p != from).collect();
        let known = match (s.forced, s.to) {
            (_, 8) => return Err(DropReason::Blackhole),
            (255, _) | (0, 0 | 7) => return Ok(others()),
            (50, _) => return Err(DropReason::NoDestination),
            (0, 9) => Some(1),
            (0, to) => self.table.get(&to).copied(),
            (forced, _) => Some(forced as usize - 1),
        };
        match known {
            Some(to) if to == from => Err(DropReason::SamePort),
            Some(to) => Ok(vec![to]),
            None => Ok(others()),
        }
    }

    fn receive(&mut self, port: usize, most: usize) -> Vec<Vec<u8>> {
        let q = &mut self.queues[port];
        let n = most.min(q.frames.len());
        q.frames
            .drain(..n)
            .map(|(f, slots)| {
                q.slots -= slots;
                f
            })
            .collect()
    }
}

/// Takes at most so many frames, and gives their slots back.
fn receive(port: &mut Port, most: usize) -> Vec<Vec<u8>> {
    let rx = &mut port.rx[0];
    rx.sync().unwrap();
    let frames = rx
        .burst(most as u32)
        .map(|f| {
            let mut v = vec![0; f.len()];
            f.copy_to(&mut v);
            v
        })
        .collect();
    rx.sync().unwrap();
    frames
}

fn follows_the_model(steps: &[Step]) {
    let switch = Temporary::new(&SwitchSpec { slots: SLOTS as u32, ..SwitchSpec::default() }).unwrap();
    let mut ports: [Port; PORTS] = switch.ports();
    let mac = |n| ringway_wire::MacAddr([2, 0, 0, 0, 0, n]);
    switch.fdb_set(mac(8), 0, None).unwrap();
    switch.fdb_set(mac(9), 0, Some("p2")).unwrap();
    let (mut model, mut n) = (Model::default(), 0);
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Send(p, frames) => {
                let mut all = Vec::new();
                // As many as fit into the ring at once.
                for s in frames {
                    if (ports[*p].tx[0].free() as usize) < s.parts.len() {
                        break;
                    }
                    n += 1;
                    let bytes = s.bytes(n);
                    let flags = s.forced << NS_PORT_SHIFT | if s.learn { 0 } else { NS_NO_LEARN };
                    push_parts(&mut ports[*p], &s.parts, &bytes, flags);
                    all.push((s.clone(), bytes));
                }
                ports[*p].tx[0].sync().unwrap();
                model.send(*p, &all);
            }
            Step::Receive(p, most) => {
                let (got, want) = (receive(&mut ports[*p], *most), model.receive(*p, *most));
                assert!(got == want, "step {at}: port {p} got {} frames, not {}", got.len(), want.len());
            }
        }
    }
    for (p, port) in ports.iter_mut().enumerate() {
        let (got, want) = (receive(port, usize::MAX >> 33), model.receive(p, usize::MAX));
        assert!(got == want, "at the end port {p} got {} frames, not {}", got.len(), want.len());
        let c = port.counters();
        assert_eq!(c.rx.drops(DropReason::RingFull), model.queues[p].lost, "port {p}: {}", c.rx);
        for why in DropReason::ALL {
            let expected = model.drops.get(&(p, why)).copied().unwrap_or(0);
            assert_eq!(c.tx.drops(why), expected, "port {p}, {why:?}");
        }
    }
    for e in switch.fdb().iter().filter(|e| e.age.is_some()) {
        assert_eq!(e.port, model.table.get(&e.mac.0[5]).map(|&p| p as u32 + 1), "{}", e.mac);
    }
    assert_closed(&switch);
}

#[test]
fn a_switch_does_what_its_model_does() {
    if Temporary::new(&SwitchSpec { slots: SLOTS as u32, ..SwitchSpec::default() }).is_none() {
        return;
    }
    let config = Config { cases: 10, max_shrink_iters: 20, failure_persistence: None, ..Config::default() };
    let steps = proptest::collection::vec(step(), 100..600);
    TestRunner::new(config)
        .run(&steps, |steps| {
            follows_the_model(&steps);
            Ok(())
        })
        .unwrap();
}
