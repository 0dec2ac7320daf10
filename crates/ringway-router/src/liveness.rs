//! When to tell the fast path that a process looks after its tables, and whether they are good, also amid long work.

use std::time::{Duration, Instant};

use ringway_fib::{FibError, NextHop, Prefix4, Prefix6};
use ringway_fwd::control::{Adjacency, Buckets, Limits, Plane};

/// From one heartbeat to the next; the fast path believes its tables for 3 s after one.
const BEAT: Duration = Duration::from_millis(250);

/// How long the tables are trusted when the kernel's can't be read.
const TRUST: Duration = Duration::from_secs(10);

/// The same, as a multiple of the time in which they were read the last time: to compare twice, then to read them is less.
const READINGS: u32 = 3;

/// Says when a heartbeat is due, and whether it calls the tables good.
#[derive(Debug)]
pub(crate) struct Liveness {
    clock: fn() -> Instant,
    /// The last beat, and what it said.
    last: Instant,
    said: bool,
    /// When the kernel's tables could be followed last, and how long that counts.
    followed: Instant,
    trust: Duration,
    /// Each route is in the fast path's tables: where one is not, its packets would take the way of a shorter one.
    complete: bool,
    /// Packets may not go around something that the kernel does to them.
    obstructed: bool,
}

impl Liveness {
    /// One that has never beaten, for tables that are not whole.
    pub(crate) fn new() -> Self {
        Self::by(Instant::now)
    }

    /// The same with another clock.
    fn by(clock: fn() -> Instant) -> Self {
        let now = clock();
        Self {
            clock,
            last: now,
            said: false,
            followed: now,
            trust: TRUST,
            complete: false,
            obstructed: false,
        }
    }

    /// The kernel's changes were taken in; all was read in `reading` the last time.
    pub(crate) fn tables_followed(&mut self, reading: Duration) {
        (self.followed, self.trust) = ((self.clock)(), TRUST.max(reading * READINGS));
    }

    /// All that is known was brought to the tables, but for what has no room.
    pub(crate) fn tables_complete(&mut self, unplaced: usize) {
        self.complete = unplaced == 0;
    }

    /// Whether there is something that packets may not go around, whatever the tables are.
    pub(crate) fn set_obstructed(&mut self, obstructed: bool) {
        self.obstructed = obstructed;
    }

    /// A beat that is due, and whether it says that the tables are good: every 250 ms, and at once when that changed.
    pub(crate) fn beat(&mut self) -> Option<bool> {
        let now = (self.clock)();
        let good = self.complete && !self.obstructed && now - self.followed < self.trust;
        if good == self.said && now - self.last < BEAT {
            return None;
        }
        (self.last, self.said) = (now, good);
        Some(good)
    }

    /// The same amid work on the tables: what turned out to have no room makes them bad at once; to make them good takes the end of the work.
    pub(crate) fn beat_amid(&mut self, unplaced: usize) -> Option<bool> {
        self.complete &= unplaced == 0;
        self.beat()
    }

    /// When the next one is due at the latest.
    pub(crate) fn due(&self) -> Instant {
        self.last + BEAT
    }
}

/// Tables that are being written, with a heartbeat amid the work.
pub(crate) struct PlaneWithHeartbeat<'a, P> {
    pub(crate) plane: &'a mut P,
    /// Called amid the work with what is unplaced so far.
    pub(crate) beat: &'a mut dyn FnMut(&P, usize),
}

impl<P: Plane> Plane for PlaneWithHeartbeat<'_, P> {
    fn limits(&self) -> Limits {
        self.plane.limits()
    }

    fn reset_counters_for(&mut self, next_hop: NextHop) {
        self.plane.reset_counters_for(next_hop);
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.plane.adjacency(next_hop, entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.plane.buckets(group, buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        self.plane.routes4(changes)
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        self.plane.routes6(changes)
    }

    fn pulse(&mut self, unplaced: usize) {
        (self.beat)(self.plane, unplaced);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ringway_fwd::control::event::{Mode, Path, Route};
    use ringway_fwd::control::{Changes, Event, Family, Kind, MAIN, Net, Pulse, Resolver, State, Via};

    use super::*;

    thread_local! {
        static SINCE: (Instant, Cell<Duration>) = (Instant::now(), Cell::new(Duration::ZERO));
    }

    fn now() -> Instant {
        SINCE.with(|(start, passed)| *start + passed.get())
    }

    fn pass(time: Duration) {
        SINCE.with(|(_, passed)| passed.set(passed.get() + time));
    }

    /// Tables in which a route costs 100 us, with room for so many.
    #[derive(Default)]
    struct Slow {
        held: usize,
        room: Option<usize>,
    }

    impl Plane for Slow {
        fn limits(&self) -> Limits {
            Limits::default()
        }

        fn adjacency(&mut self, _: NextHop, _: &Adjacency) {}

        fn buckets(&mut self, _: u32, _: &Buckets) {}

        fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
            pass(Duration::from_micros(100) * changes.len() as u32);
            let new = changes.iter().filter(|(_, next_hop)| next_hop.is_some()).count();
            let held = self.held + new - (changes.len() - new);
            if self.room.is_some_and(|room| held > room) {
                return Err("x".parse::<NextHop>().unwrap_err());
            }
            self.held = held;
            Ok(())
        }

        fn routes6(&mut self, _: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
            Ok(())
        }
    }

    fn hole(n: u32) -> Route {
        let (kind, via, source, from) = (Kind::Blackhole, Via::Hops(vec![]), None, None);
        let (family, protocol) = (Family::V4, 3);
        let path =
            Path { family, kind, protocol, scope: 0, tos: 0, metric: 0, source, from, mtu: 0, other: 0, via };
        Route {
            table: MAIN,
            net: Net::V4(Prefix4::new(0x0a00_0000 + (n << 8), 24).unwrap()),
            path,
            dead: vec![],
        }
    }

    /// Brings the changes, and returns what the beats said when.
    fn bring(
        (state, changes): (&State, Changes),
        (resolver, liveness): (&mut Resolver, &mut Liveness),
        plane: &mut Slow,
    ) -> Vec<(Instant, bool)> {
        let mut told = Vec::new();
        let mut beat =
            |_: &Slow, unplaced| told.extend(liveness.beat_amid(unplaced).map(|good| (now(), good)));
        let mut plane = PlaneWithHeartbeat { plane, beat: &mut beat };
        let _ = resolver.update(state, changes, &mut plane); // some do not fit
        liveness.tables_complete(resolver.unplaced());
        told
    }

    /// 10 s of work without a gap in which the fast path would stop to believe its tables, which are good for 3 s.
    #[test]
    fn tables_that_take_long_to_write_are_looked_after() {
        const ROUTES: u32 = 100_000;
        let (mut state, mut plane) = (State::default(), Slow::default());
        let (mut resolver, mut liveness) = (Resolver::new(&mut plane), Liveness::by(now));
        liveness.tables_complete(0);
        for event in [|n| Event::Route(hole(n), Mode::New), |n| Event::RouteGone(hole(n))] {
            let mut changes = Changes::default();
            (0..ROUTES).for_each(|n| _ = state.apply(event(n), &mut changes, &mut Pulse::none()));
            liveness.tables_followed(Duration::from_secs(5));
            let begun = now();
            let told = bring((&state, changes), (&mut resolver, &mut liveness), &mut plane);
            assert!(now() - begun >= Duration::from_secs(10), "{:?}", now() - begun);
            assert!(told.iter().all(|(_, good)| *good), "{told:?}");
            let times = [begun].into_iter().chain(told.iter().map(|(at, _)| *at)).chain([now()]);
            let times: Vec<_> = times.collect();
            let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(gap <= Duration::from_secs(2), "{gap:?}");
        }
    }

    #[test]
    fn routes_without_room_are_told_of_before_all_others_were_tried() {
        let (mut state, mut changes) = (State::default(), Changes::default());
        let mut plane = Slow { room: Some(20_000), ..Slow::default() };
        let (mut resolver, mut liveness) = (Resolver::new(&mut plane), Liveness::by(now));
        liveness.tables_complete(0);
        (0..50_000).for_each(|n| {
            _ = state.apply(Event::Route(hole(n), Mode::New), &mut changes, &mut Pulse::none())
        });
        let told = bring((&state, changes), (&mut resolver, &mut liveness), &mut plane);
        let mut words: Vec<_> = told.iter().map(|(_, good)| *good).collect();
        words.dedup();
        assert_eq!(words, [true, false], "{told:?}");
        pass(BEAT);
        let told = bring((&state, Changes::default()), (&mut resolver, &mut liveness), &mut plane);
        assert!(!told.is_empty() && told.iter().all(|(_, good)| !good), "{told:?}");
        plane.room = None;
        bring((&state, Changes::default()), (&mut resolver, &mut liveness), &mut plane);
        assert_eq!((liveness.beat(), liveness.beat()), (Some(true), None));
    }

    #[test]
    fn tables_that_can_not_be_followed_are_not_good_for_ever() {
        let mut liveness = Liveness::by(now);
        liveness.tables_complete(0);
        assert_eq!((liveness.beat(), liveness.beat()), (Some(true), None));
        pass(BEAT);
        assert_eq!(liveness.beat(), Some(true));
        pass(TRUST);
        assert_eq!(liveness.beat(), Some(false), "nothing was heard for 10 s");
        liveness.tables_followed(Duration::from_secs(6));
        pass(TRUST);
        assert_eq!(liveness.beat(), Some(true), "reading takes that long");
        pass(TRUST);
        assert_eq!(liveness.beat(), Some(false));
    }
}
