//! What `ringway top` knows and how keys change it. Nothing here touches the terminal.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::columns::Column;
use super::row::{Id, Look, Row, rows};
use super::stages::Shown;

/// Intervals that `+` and `-` step through, in ms.
const STEPS: [u64; 10] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 600_000];

/// Readings for which a message stays.
const MESSAGE_READINGS: u32 = 3;

/// What the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// All ports and routers, and below them what there is to say about the selected one.
    Ports,
    /// The selected one alone.
    Port,
    Help,
}

/// What a key asks for beyond what the state does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    /// Something to see has changed.
    Draw,
    /// A new reading from which to measure on, after a pause.
    Resume,
    Quit,
}

#[derive(Debug)]
pub(super) struct State {
    last: Option<Look>,
    before: Option<Look>,
    /// Totals count from here; what it lacks, from its beginning.
    baseline: Look,
    pub(super) page: Page,
    pub(super) interval: Duration,
    pub(super) paused: bool,
    /// Show bit rates on the wire, not of frames.
    pub(super) wire: bool,
    pub(super) sort: Column,
    pub(super) inverted: bool,
    selected: Option<Id>,
    /// Where the selected row was in the table when it was last there.
    place: usize,
    /// First line shown of a port's page or of the help.
    pub(super) scroll: usize,
    message: Option<(String, u32)>,
    /// What stages cost: of the paths of the selected row, or with `--once` of all rows.
    pub(super) stages: Shown,
}

impl State {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            last: None,
            before: None,
            baseline: Look::default(),
            page: Page::Ports,
            interval,
            paused: false,
            wire: true,
            sort: Column::Port,
            inverted: false,
            selected: None,
            place: 0,
            scroll: 0,
            message: None,
            stages: Shown::Off,
        }
    }

    /// Takes a new look.
    pub(super) fn add(&mut self, look: impl Into<Look>) {
        self.before = self.last.replace(look.into());
        self.message = self.message.take().filter(|m| m.1 > 1).map(|(text, left)| (text, left - 1));
        self.tell_closed();
        self.settle();
    }

    /// The selected port or router.
    pub(super) fn selected(&self) -> Option<&Id> {
        self.selected.as_ref()
    }

    /// Whether stages are shown, so that paths have to count.
    pub(super) fn wants_stages(&self) -> bool {
        !self.paused && !matches!(self.stages, Shown::Off)
    }

    /// Measures on from a new look without showing rates over the time in between.
    pub(super) fn resume(&mut self, look: impl Into<Look>) {
        self.last = Some(look.into());
        self.before = None;
        self.begin_stages();
        self.settle();
    }

    fn tell_closed(&mut self) {
        let (Some(last), Some(before)) = (&self.last, &self.before) else { return };
        if let [first, others @ ..] = &last.gone_since(before)[..] {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            self.message = Some((format!("closed: {first}{more}"), MESSAGE_READINGS));
        }
    }

    /// What happened lately.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_ref().map(|(text, _)| text.as_str())
    }

    /// Whether totals count from a reset.
    pub(super) fn was_reset(&self) -> bool {
        self.baseline.ports.time_ns != 0
    }

    /// The ports and routers in order.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let Some(last) = &self.last else { return Vec::new() };
        let mut all = rows(last, self.before.as_ref(), &self.baseline);
        all.sort_by(|a, b| {
            let order = self.sort.order(a, b);
            if self.inverted { order.reverse() } else { order }
        });
        all
    }

    /// Between the last two looks; 0 without an earlier one.
    pub(super) fn seconds(&self) -> f64 {
        let looks = self.last.as_ref().zip(self.before.as_ref());
        looks.map_or(0.0, |(last, before)| last.ports.seconds_since(&before.ports))
    }

    /// Where the selected row is in `rows`.
    pub(super) fn place(&self, rows: &[Row<'_>]) -> usize {
        rows.iter().position(|r| Some(r.id()) == self.selected).unwrap_or(0)
    }

    /// Selects the row at `place`, or the last one.
    fn select(&mut self, place: usize) {
        let rows = self.rows();
        let place = place.min(rows.len().saturating_sub(1));
        let key = rows.get(place).map(Row::id);
        if key != self.selected {
            self.scroll = 0;
            self.begin_stages();
        }
        (self.selected, self.place) = (key, place);
    }

    /// After the table changed: what is selected stays so, or what is now in its place is.
    fn settle(&mut self) {
        let rows = self.rows();
        let found = rows.iter().position(|r| Some(r.id()) == self.selected);
        let gone = self.selected.is_some() && found.is_none();
        if gone && self.page == Page::Port {
            self.page = Page::Ports;
        }
        self.select(found.unwrap_or(self.place));
    }

    /// Does what a key stands for.
    pub(super) fn key(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Wish::Quit } else { Wish::Nothing };
        }
        match key.code {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('p' | ' ') => {
                self.paused = !self.paused;
                return if self.paused { Wish::Draw } else { Wish::Resume };
            }
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.turn_to(Page::Help),
            KeyCode::Enter if self.page == Page::Ports && self.selected.is_some() => self.turn_to(Page::Port),
            KeyCode::Esc | KeyCode::Enter => self.turn_to(Page::Ports),
            KeyCode::Char('r') => self.baseline = self.last.clone().unwrap_or_default(),
            KeyCode::Char('c') => {
                self.stages = if matches!(self.stages, Shown::Off) { Shown::Starting } else { Shown::Off };
            }
            KeyCode::Char('b') => self.wire = !self.wire,
            KeyCode::Char('s') => self.sort_by(1),
            KeyCode::Char('S') => self.sort_by(Column::ALL.len() - 1),
            KeyCode::Char('i') => {
                self.inverted = !self.inverted;
                self.settle();
            }
            KeyCode::Char('+' | '=') => self.interval = step(self.interval, STEPS.into_iter(), |a, b| a > b),
            KeyCode::Char('-') => self.interval = step(self.interval, STEPS.into_iter().rev(), |a, b| a < b),
            code => return self.go(code),
        }
        Wish::Draw
    }

    /// Drops what was read of stages, which is another port's or old.
    fn begin_stages(&mut self) {
        if !matches!(self.stages, Shown::Off) {
            self.stages = Shown::Starting;
        }
    }

    fn turn_to(&mut self, page: Page) {
        self.page = if self.page == page { Page::Ports } else { page };
        self.scroll = 0;
    }

    fn sort_by(&mut self, further: usize) {
        let at = Column::ALL.iter().position(|&c| c == self.sort).unwrap_or(0);
        self.sort = Column::ALL[(at + further) % Column::ALL.len()];
        self.inverted = false;
        self.settle();
    }

    /// Keys that move: through the table, or through a longer page.
    fn go(&mut self, code: KeyCode) -> Wish {
        let at = if self.page == Page::Ports { self.place } else { self.scroll };
        let to = match code {
            KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => at + 1,
            KeyCode::PageUp => at.saturating_sub(10),
            KeyCode::PageDown => at + 10,
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX,
            _ => return Wish::Nothing,
        };
        if self.page == Page::Ports {
            self.select(to)
        } else {
            self.scroll = to
        }
        Wish::Draw
    }
}

/// The first of `steps` that lies beyond `now`; `now` when none does.
fn step(
    now: Duration,
    mut steps: impl Iterator<Item = u64>,
    beyond: fn(Duration, Duration) -> bool,
) -> Duration {
    steps.find(|&ms| beyond(Duration::from_millis(ms), now)).map_or(now, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use ringway::Counters;
    use ringway_watch::ports::Reading;

    use super::*;
    use crate::top::samples::{counters, port};

    fn reading(s: u64, ports: &[(&str, u64)]) -> Reading {
        let ports = ports.iter().zip(1..);
        let ports = ports.map(|(&(name, n), pid)| {
            port(name, pid, counters(n, n * 60, (n, n), n / 10), Counters::default())
        });
        Reading { time_ns: s * 1_000_000_000, ports: ports.collect() }
    }

    fn names(state: &State) -> Vec<String> {
        state.rows().iter().map(Row::name).collect()
    }

    fn selected(state: &State) -> String {
        state.rows()[state.place(&state.rows())].name()
    }

    fn press(state: &mut State, keys: &str) -> Wish {
        keys.chars().map(|c| state.key(KeyCode::Char(c).into())).last().unwrap_or(Wish::Nothing)
    }

    #[test]
    fn ports_are_sorted_by_any_column() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(reading(1, &[("a", 0), ("b", 0), ("c", 0)]));
        state.add(reading(2, &[("a", 20), ("b", 40), ("c", 20)]));
        assert_eq!(names(&state), ["a", "b", "c"]);
        press(&mut state, "i");
        assert_eq!(names(&state), ["c", "b", "a"]);
        press(&mut state, "ss");
        assert_eq!((state.sort, names(&state)), (Column::RxPps, ["b", "a", "c"].map(String::from).into()));
        press(&mut state, "SSS");
        assert_eq!((state.sort, selected(&state).as_str()), (Column::Cpu, "a"), "what is selected stays so");
    }

    #[test]
    fn ports_come_and_go() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(reading(1, &[("a", 0), ("b", 0), ("c", 0)]));
        press(&mut state, "j");
        state.key(KeyCode::Enter.into());
        assert_eq!((state.page, selected(&state).as_str()), (Page::Port, "b"));
        state.add(reading(2, &[("a", 10)]));
        assert_eq!((state.page, selected(&state).as_str()), (Page::Ports, "a"), "its page closes with it");
        assert_eq!(state.message(), Some("closed: b (pid 2) and 1 more"));
        state.add(reading(3, &[("a", 30), ("z", 1)]));
        let rows = state.rows();
        assert_eq!((rows[0].rx_pps(), rows[1].rx_pps()), (Some(20.0), None), "no rate at first sight");
        for s in 4..6 {
            state.add(reading(s, &[]));
        }
        assert_eq!(state.message(), Some("closed: a (pid 1) and 1 more"));
        for s in 6..8 {
            state.add(reading(s, &[]));
        }
        assert_eq!((press(&mut state, "jk"), state.message()), (Wish::Draw, None));
    }

    #[test]
    fn a_port_opened_again_is_another_one() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(reading(1, &[("a", 1000)]));
        let mut again = reading(2, &[("a", 5)]);
        again.ports[0].key.opened += Duration::from_secs(1);
        state.add(again);
        assert_eq!((state.rows()[0].rx_pps(), state.message()), (None, Some("closed: a (pid 1)")));
    }

    #[test]
    fn totals_count_from_a_reset() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(reading(1, &[("a", 1000)]));
        assert_eq!((state.rows()[0].dropped(), state.was_reset()), (100, false));
        press(&mut state, "r");
        state.add(reading(2, &[("a", 1200), ("b", 70)]));
        let dropped: Vec<u64> = state.rows().iter().map(Row::dropped).collect();
        assert_eq!((dropped, state.was_reset()), (vec![20, 7], true), "of ports opened later all counts");
    }

    #[test]
    fn stages_are_of_the_selected_port() {
        let mut state = State::new(Duration::from_secs(1));
        state.add(reading(1, &[("a", 0), ("b", 0)]));
        assert_eq!((state.wants_stages(), selected(&state).as_str()), (false, "a"));
        press(&mut state, "c");
        assert!(state.wants_stages() && matches!(state.stages, Shown::Starting));
        for keys in ["j", "pp"] {
            state.stages = Shown::Read(Vec::new());
            press(&mut state, "s");
            assert!(matches!(state.stages, Shown::Read(_)), "another order leaves them");
            if press(&mut state, keys) == Wish::Resume {
                state.resume(reading(2, &[("a", 0), ("b", 0)]));
            }
            assert!(matches!(state.stages, Shown::Starting), "{keys}");
        }
        press(&mut state, "p");
        assert!(!state.wants_stages(), "a screen that stands still needs no counters");
        press(&mut state, "pc");
        assert!(!state.wants_stages() && matches!(state.stages, Shown::Off));
    }

    #[test]
    fn pause_interval_and_quit() {
        let mut state = State::new(Duration::from_millis(300));
        state.add(reading(1, &[("a", 0)]));
        assert_eq!((press(&mut state, "p"), state.paused), (Wish::Draw, true));
        assert_eq!((press(&mut state, " "), state.paused), (Wish::Resume, false));
        state.resume(reading(100, &[("a", 990)]));
        assert_eq!(state.rows()[0].rx_pps(), None);
        state.add(reading(101, &[("a", 1000)]));
        assert_eq!(state.rows()[0].rx_pps(), Some(10.0), "the pause is left out");
        for (keys, ms) in [("+", 500), ("+", 1000), ("---", 100), ("-", 100), ("++++++++++++", 600_000)] {
            press(&mut state, keys);
            assert_eq!(state.interval.as_millis(), ms, "{keys}");
        }
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(state.key(control('c')), Wish::Quit);
        assert_eq!(state.key(control('q')), Wish::Nothing);
        assert_eq!((press(&mut state, "x"), press(&mut state, "q")), (Wish::Nothing, Wish::Quit));
    }
}
