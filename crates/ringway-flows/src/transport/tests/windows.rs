//! Windows, loss, and acknowledgements that wait (RFC 5681, 6298, 6582, and 9293, section 3.8).

use super::end::{End, Program};
use super::scenes::*;
use super::wire::{Flying, Weather};
use super::world::World;
use crate::transport::Settings;
use crate::transport::conn::State;
use crate::transport::segment::{Outgoing, flag};

#[test]
fn a_lost_segment_in_a_stream_is_sent_again_before_its_timeout() {
    let start = 1_000_000;
    let mut world = fair(30_000, 0);
    assert!(losing(&mut world, |flying| flying.header.len == 1460));
    assert_eq!(world.hosts[0].resent, 1);
    // Ends with the wait of the client; the shortest timeout is 200 ms.
    let ended = world.ns - start - 1000 * MS;
    assert!(ended < 100 * MS, "{ended} ns");
    assert_eq!(world.run(), [CLOSED; 2]);
}

#[test]
fn a_lost_tail_is_sent_again_after_a_timeout() {
    let mut world = fair(30_000, 0);
    assert!(losing(&mut world, |flying| flying.has(FIN) && flying.header.len > 0));
    assert_eq!((world.hosts[0].resent, world.hosts[0].sent), (1, 22));
}

#[test]
fn a_program_that_lags_shuts_the_window_and_is_waited_for() {
    let settings = Settings { window: 4000, attempts: 2, ..with_time_wait() };
    // A meal takes as long as many probes.
    let slow = Program { last: true, bite: 4000, pause: 30_000 * MS, ..Program::sends(0) };
    let mut world = World::fair(settings, [Program::sends(20_000), slow]);
    world.open();
    world.run_until(|world| world.log.iter().filter(|(_, segment)| segment.header.len == 1).count() > 8);
    assert!(world.log.iter().any(|(from, segment)| *from == 1 && segment.header.window == 0));
    world.assert_complete();
}

#[test]
fn probes_without_an_answer_fail() {
    let settings = Settings { window: 4000, attempts: 3, ..with_time_wait() };
    let never = Program { last: true, bite: 1, pause: 1 << 50, ..Program::sends(0) };
    let mut world = World::fair(settings, [Program::sends(20_000), never]);
    world.open();
    world.run_until(|world| {
        world.hosts[0].conn.window == 0 && world.hosts[0].conn.una == world.hosts[0].conn.next
    });
    world.hosts[1].conn.state = State::Closed;
    world.hosts[1].settings.refuse = false;
    (world.hosts[1].timer, world.hosts[1].meal) = (None, None);
    world.log.clear();
    let first = world.ns;
    world.run_until(|world| world.log.len() == 1);
    let second = world.ns;
    world.run_until(|world| world.log.len() == 2);
    assert_eq!((world.ns - second) / MS, 400, "twice the shortest timeout");
    assert!(second - first <= 200 * MS);
    let ends = world.run();
    assert_eq!(ends[0], Some(End::Failed));
    assert_eq!(world.log.iter().filter(|(_, segment)| segment.header.len == 1).count(), 3);
}

#[test]
fn one_attempt_means_that_nothing_is_sent_again() {
    let settings = Settings { attempts: 1, ..with_time_wait() };
    let programs = [Program::sends(30_000), Program { last: true, ..Program::sends(3000) }];
    let mut world = World::fair(settings, programs);
    world.open();
    world.assert_complete();
    for seed in 0..50 {
        let weather = Weather { loss: 100, ..Weather::FAIR };
        let mut world = World::new([settings; 2], programs, weather, seed);
        world.open();
        world.run();
        assert_eq!((world.hosts[0].resent, world.hosts[1].resent), (0, 0));
    }
}

#[test]
fn without_congestion_control_only_the_window_counts() {
    for (initial_window, burst) in [(0, 44), (2, 2), (10, 10)] {
        let settings = Settings { initial_window, ..with_time_wait() };
        let programs = [
            Program { piece: 64_000, ..Program::sends(64_000) },
            Program { last: true, ..Program::sends(0) },
        ];
        let mut world = World::fair(settings, programs);
        world.open();
        world.run_until(|world| world.hosts[0].sent > 0);
        assert_eq!(world.hosts[0].sent, burst);
        world.assert_complete();
    }
}

#[test]
fn every_second_segment_is_acknowledged_and_the_last_one_after_the_delay() {
    let settings = Settings { delayed_ack: 40 * MS, ..with_time_wait() };
    let waits = Program { last: true, ..Program::sends(0) };
    let mut world = World::fair(settings, [Program { last: true, ..Program::sends(3 * 1460) }, waits]);
    world.open();
    world.run_until(|world| world.hosts[0].sent == 3);
    world.log.clear();
    let sent = world.ns;
    world.run_until(|world| world.hosts[1].timer.is_none() && world.hosts[1].taken == 3 * 1460);
    assert_eq!(flags(&world), [(1, ACK, 0); 2]);
    assert_eq!(world.ns - sent, 40 * MS + Weather::FAIR.delay);
}

#[test]
fn windows_above_64_kib_are_scaled_but_not_in_a_syn() {
    let settings = Settings { window: 1 << 20, initial_window: 0, ..with_time_wait() };
    let programs =
        [Program { piece: 300_000, ..Program::sends(1 << 20) }, Program { last: true, ..Program::sends(0) }];
    let mut world = World::fair(settings, programs);
    world.open();
    world.run_until(|world| world.hosts[0].sent > 0);
    assert_eq!(world.hosts[0].sent, 44, "the SYN's window counts as it stands");
    world.assert_complete();
}

#[test]
fn repeats_after_a_timeout_are_no_loss() {
    let mut world = fair(30_000, 0);
    world.open();
    world.run_until(|world| world.hosts[0].sent == 10);
    while world.wire.arrive().is_some() {}
    let mut again = Vec::new();
    while again.is_empty() {
        world.ns = world.hosts[0].timer.unwrap();
        again = world.hosts[0].wakes(world.ns);
    }
    assert_eq!(again.iter().map(|out| out.header.len).collect::<Vec<u16>>(), [1460]);
    // The segments had arrived, and their acknowledgements were lost: the peer repeats the last one.
    for _ in 0..5 {
        let repeat = forged(&world, 0, 0, 0, flag::ACK);
        let repeat =
            Flying { header: Outgoing { window: world.hosts[0].conn.window, ..repeat.header }, ..repeat };
        assert_eq!(hears(&mut world, 0, &repeat), []);
    }
}
