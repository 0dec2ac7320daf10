//! Worlds that the cases begin with.

use super::end::{End, Program};
use super::wire::Flying;
use super::world::World;
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::input::Over;
use crate::transport::segment::{Outgoing, flag};

pub(super) const CLOSED: Option<End> = Some(End::Over(Over::Closed));
pub(super) const MS: u64 = 1_000_000;

pub(super) fn with_time_wait() -> Settings {
    Settings { time_wait: 1000 * MS, ..Settings::default() }
}

pub(super) fn fair(client: u32, server: u32) -> World {
    World::fair(with_time_wait(), [Program::sends(client), Program { last: true, ..Program::sends(server) }])
}

/// A world whose ends exchanged their bytes, and don't close.
pub(super) fn established() -> World {
    let waits = Program { last: true, ..Program::sends(100) };
    let mut world = World::fair(with_time_wait(), [waits, waits]);
    world.open();
    world.run_until(|world| world.wire.next().is_none() && world.hosts[0].timer.is_none());
    assert_eq!(states(&world), [State::Established; 2]);
    world
}

pub(super) fn states(world: &World) -> [State; 2] {
    [world.hosts[0].conn.state, world.hosts[1].conn.state]
}

pub(super) fn flags(world: &World) -> Vec<(usize, u8, u16)> {
    world
        .log
        .iter()
        .map(|(from, segment)| (*from, segment.header.flags & !flag::PSH, segment.header.len))
        .collect()
}

/// A segment from a stranger, with numbers relative to what an end expects, and to the oldest number that it has sent.
pub(super) fn forged(world: &World, to: usize, seq: u32, ack: u32, flags: u8) -> Flying {
    let conn = &world.hosts[to].conn;
    let (seq, ack) = (conn.expected.wrapping_add(seq), conn.una.wrapping_add(ack));
    Flying { header: Outgoing { seq, ack, flags, window: 5000, ..Outgoing::default() }, data: Vec::new() }
}

/// Lets an end hear a segment; returns flags of the answers.
pub(super) fn hears(world: &mut World, to: usize, segment: &Flying) -> Vec<u8> {
    let ns = world.ns;
    world.hosts[to].hears(segment, ns).iter().map(|answer| answer.header.flags).collect()
}

pub(super) const SYN: u8 = flag::SYN;
pub(super) const ACK: u8 = flag::ACK;
pub(super) const FIN: u8 = flag::FIN;
pub(super) const RST: u8 = flag::RST;

pub(super) fn closes(world: &mut World, end: usize) {
    let out = world.hosts[end].closes(world.ns);
    world.send(end, out);
}

pub(super) fn closes_both(world: &mut World) {
    closes(world, 0);
    closes(world, 1);
    assert_eq!(states(world), [State::FinWait1; 2]);
}

/// A wire that loses the first segment that a test means. Returns whether there was one.
pub(super) fn losing(world: &mut World, lost: impl Fn(&Flying) -> bool) -> bool {
    let (mut first, mut events) = (true, 0);
    world.open();
    while {
        let drops = world.wire.first().is_some_and(|segment| first && lost(segment));
        if drops {
            first = false;
            world.wire.arrive();
        }
        events += 1;
        events < 10_000 && (drops || world.step())
    } {}
    world.assert_complete();
    !first
}
