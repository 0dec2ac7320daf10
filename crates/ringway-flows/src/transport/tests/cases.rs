//! Opening and closing (RFC 9293, sections 3.5 and 3.6).

use super::end::Program;
use super::scenes::*;
use super::world::World;
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::segment::flag;

#[test]
fn a_request_and_its_reply_take_as_few_segments_as_can_be() {
    let mut world = fair(100, 100);
    world.open();
    world.assert_complete();
    let (request, reply) = ((0, ACK | FIN, 100), (1, ACK | FIN, 100));
    assert_eq!(flags(&world), [(0, SYN, 0), (1, SYN | ACK, 0), request, reply, (0, ACK, 0)]);
}

#[test]
fn simultaneous_open() {
    let mut world = fair(3000, 3000);
    world.open();
    let out = world.hosts[1].open(world.ns);
    world.send(1, out);
    world.assert_complete();
    let expected = [(0, SYN, 0), (1, SYN, 0)];
    assert_eq!(flags(&world)[..2], expected);
    assert!(flags(&world)[2..4].iter().all(|(_, flags, _)| *flags == SYN | ACK));
}

#[test]
fn simultaneous_close() {
    let mut world = established();
    closes_both(&mut world);
    world.run_until(|world| states(world)[0] == State::Closing);
    world.run_until(|world| states(world) == [State::TimeWait; 2]);
    world.assert_complete();
}

#[test]
fn half_close() {
    let mut world = fair(10, 20_000);
    world.open();
    world.run_until(|world| states(world) == [State::FinWait2, State::CloseWait]);
    world.run_until(|world| states(world) == [State::TimeWait, State::LastAck]);
    assert_eq!(world.hosts[0].taken, 20_000);
    world.assert_complete();
}

#[test]
fn each_kind_of_segment_may_be_lost() {
    for flags in [SYN, SYN | ACK, ACK, ACK | FIN, ACK | FIN | flag::PSH, ACK | flag::PSH] {
        let lost = [(0, 0), (10, 10), (5000, 5000), (0, 40_000)]
            .map(|(client, server)| losing(&mut fair(client, server), |flying| flying.header.flags == flags));
        assert!(lost.contains(&true), "{flags:#x}");
    }
}

#[test]
fn fin_that_comes_again_is_acknowledged_by_an_end_that_forgot() {
    let settings = Settings { time_wait: 0, ..Settings::default() };
    let both = [Program::sends(10), Program { last: true, ..Program::sends(10) }];
    let mut world = World::fair(settings, both);
    world.open();
    world.run_until(|world| world.hosts[0].end == CLOSED);
    // The last acknowledgement is lost.
    while let Some((to, _)) = world.wire.arrive() {
        assert_eq!(to, 1);
    }
    assert_eq!(states(&world)[1], State::LastAck);
    assert_eq!(world.run(), [CLOSED; 2]);
}

#[test]
fn time_wait_lasts_its_time_from_the_last_fin() {
    let mut world = fair(10, 10);
    world.open();
    world.run_until(|world| states(world) == [State::TimeWait, State::Closed]);
    let began = world.ns;
    let (_, fin) = world.log.iter().rfind(|(from, segment)| *from == 1 && segment.has(FIN)).unwrap().clone();
    world.ns += 600 * MS;
    assert_eq!(hears(&mut world, 0, &fin), [ACK]);
    world.run_until(|world| world.hosts[0].end == CLOSED);
    assert_eq!((world.ns - began) / MS, 1600);
}
