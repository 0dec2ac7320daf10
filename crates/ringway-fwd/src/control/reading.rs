//! All tables of the kernel are read, and read again when they do not hold still.

use super::ControlError;
use super::backlog::Backlog;
use super::changes::Changes;
use super::health::Health;
use super::pulse::Pulse;
use super::socket::{ChangeSocket, Dump, QuerySocket, SocketState};
use super::state::State;

/// Readings of the tables before giving up because they change all the time.
const TRIES: u32 = 8;

/// Readings that are begun again when an IPv6 route changed meanwhile.
const PATIENT: u32 = 4;

/// All tables as read, and whether nothing can be missing.
pub(super) struct Reading {
    pub(super) state: State,
    pub(super) sure: bool,
}

/// Reads all tables while changes come.
pub(super) struct TableReader<'a> {
    pub(super) changes_socket: &'a mut ChangeSocket,
    pub(super) queries: &'a mut QuerySocket,
    pub(super) health: &'a mut Health,
}

impl TableReader<'_> {
    pub(super) fn read_patiently(&mut self, pulse: &mut Pulse<'_>) -> Result<Reading, ControlError> {
        for attempt in 0..TRIES {
            match self.read(attempt < PATIENT, pulse)? {
                Some(reading) => return Ok(reading),
                None => self.health.restarts += 1,
            }
        }
        Err(ControlError::Restless { tries: TRIES })
    }

    /// All tables, and what happened while they were read; `None` if that has to be done again.
    ///
    /// When IPv6 routes change during their dump, the kernel finds its place again by counting (`fib6_dump_table` of net/ipv6/ip6_fib.c). Then
    /// it may leave out others. Such a dump is repeated if `patient`, and is not sure otherwise.
    fn read(&mut self, patient: bool, pulse: &mut Pulse<'_>) -> Result<Option<Reading>, ControlError> {
        let (mut state, mut unused) = (State::default(), Changes::default());
        let mut backlog = Backlog::default();
        while self.changes_socket.read_datagram(drop)? != SocketState::All {
            pulse.beat(); // what is older than what is read now
        }
        for dump in Dump::SMALL.into_iter().chain(Dump::ROUTES) {
            let take = |event| _ = state.apply(event, &mut unused, &mut Pulse::none());
            let whole = self.queries.dump(dump, take, || backlog.read_from(self.changes_socket, pulse))?;
            unused = Changes::default();
            if !whole || patient && backlog.v6_routes() {
                return Ok(None);
            }
        }
        self.queries.settle()?;
        backlog.read_from(self.changes_socket, pulse)?;
        if let Some(loss) = backlog.lost {
            loss.count(self.health);
            return Ok(None);
        }
        let sure = !backlog.v6_routes() && !backlog.replaced();
        if patient && !sure {
            return Ok(None);
        }
        self.health.events += backlog.events.len() as u64;
        for event in backlog.events {
            pulse.beat();
            state.apply(event, &mut unused, pulse); // what came before its part of the dump does not fit, and does no harm
        }
        state.ghosts.clear();
        Ok(Some(Reading { state, sure }))
    }
}
