//! Resets, SYNs and acknowledgements that may be forged, and what is left of old connections (RFC 5961).

use super::end::End;
use super::scenes::*;
use super::world::World;
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::input::Over;

#[test]
fn resets_end_every_state() {
    for state in [
        State::SynReceived,
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ] {
        let mut world = match state {
            State::Established | State::Closing | State::LastAck | State::TimeWait => established(),
            _ => fair(10, 20_000),
        };
        match state {
            State::Closing => closes_both(&mut world),
            State::LastAck | State::TimeWait => closes(&mut world, 0),
            State::Established => {}
            _ => world.open(),
        }
        let there = |world: &World| (0..2).find(|&k| world.hosts[k].conn.state == state);
        world.run_until(|world| there(world).is_some());
        let end = there(&world).unwrap();
        let reset = forged(&world, end, 0, 0, RST);
        assert_eq!(hears(&mut world, end, &reset), []);
        let over = match state {
            State::TimeWait | State::LastAck | State::Closing => Over::Closed,
            _ => Over::Reset,
        };
        assert_eq!(world.hosts[end].end, Some(End::Over(over)), "{state:?}");
    }
}

#[test]
fn a_reset_refuses_a_syn_only_with_its_number() {
    let mut world = fair(0, 0);
    world.open();
    for (ack, flags) in [(1, RST), (0, RST | ACK), (2, RST | ACK)] {
        let blind = forged(&world, 0, 77, ack, flags);
        assert_eq!((hears(&mut world, 0, &blind), states(&world)[0]), (vec![], State::SynSent));
    }
    let refusal = forged(&world, 0, 77, 1, RST | ACK);
    hears(&mut world, 0, &refusal);
    assert_eq!(world.hosts[0].end, Some(End::Over(Over::Refused)));
    // Something else than an answer to SYN is a connection that the peer remembers.
    let mut world = fair(0, 0);
    world.open();
    let old = forged(&world, 0, 0, 900, ACK);
    assert_eq!((hears(&mut world, 0, &old), states(&world)[0]), (vec![RST], State::SynSent));
}

#[test]
fn blind_resets_and_syns_are_questioned() {
    let window = Settings::default().window;
    let mut world = established();
    for (seq, flags, answers) in [
        (1, RST, &[ACK][..]),
        (window - 1, RST, &[ACK]),
        (window, RST, &[]),
        (u32::MAX, RST, &[]),
        (0, SYN, &[ACK]),
        (500, SYN, &[ACK]),
        (1 << 31, SYN | ACK, &[ACK]),
    ] {
        let blind = forged(&world, 0, seq, 0, flags);
        assert_eq!(hears(&mut world, 0, &blind), answers, "{seq} {flags:#x}");
        assert_eq!(states(&world)[0], State::Established);
    }
}

#[test]
fn blind_acknowledgements_are_questioned() {
    let mut world = established();
    for (ack, answers) in [(1, &[ACK][..]), (0, &[]), (-65_535_i32 as u32, &[]), (-65_536_i32 as u32, &[ACK])]
    {
        let blind = forged(&world, 0, 0, ack, ACK);
        assert_eq!(hears(&mut world, 0, &blind), answers, "{ack}");
    }
}

#[test]
fn a_half_open_connection_is_found_out() {
    let mut world = established();
    // The client has lost its memory, and begins again from the same port.
    world.hosts[0].conn.state = State::Closed;
    world.hosts[0].timer = None;
    world.log.clear();
    world.hosts[0].initial = world.hosts[0].initial.wrapping_add(1 << 30);
    world.hosts[0].program.reset_at = Some(world.ns + 1);
    world.open();
    world.run_until(|world| world.hosts[1].end.is_some());
    assert_eq!(flags(&world)[..3], [(0, SYN, 0), (1, ACK, 0), (0, RST, 0)]);
    assert_eq!(world.hosts[1].end, Some(End::Over(Over::Reset)));
}

#[test]
fn time_wait_gives_way_to_a_later_syn() {
    let mut world = fair(10, 10);
    world.open();
    world.run_until(|world| states(world) == [State::TimeWait, State::Closed]);
    let old = forged(&world, 0, u32::MAX, 0, SYN);
    assert_eq!(hears(&mut world, 0, &old), [ACK]);
    let later = forged(&world, 0, 0, 0, SYN);
    assert_eq!(hears(&mut world, 0, &later), []);
    assert_eq!(world.hosts[0].end, Some(End::Over(Over::Reopened)));
}
