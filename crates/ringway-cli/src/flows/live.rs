//! The screen of a run: rates, each story and attack, failures by name. One key stops everything.

use std::io;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ringway_flows::code::{Bundle, Kind};
use ringway_flows::run::progress::{FlowNow, Now};
use ringway_flows::run::second::Second;
use ringway_flows::shard::Failure;
use ringway_traffic::units::{bit_rate, duration, scaled};

use crate::screen::{Screen, pressed};

const KEYS: &str = "q, Ctrl-C  stop everything";
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The table of stories leaves the others so many columns.
const NUMBERS: usize = 62;

/// The terminal during a run.
#[derive(Debug)]
pub(super) struct Live {
    screen: Screen,
    title: String,
    /// Each flow until the second before.
    before: Vec<FlowNow>,
    lines: Vec<Line>,
}

impl Live {
    /// Takes the terminal over. The title names the run.
    pub(super) fn open(title: String) -> io::Result<Self> {
        let mut live = Self { screen: Screen::open()?, title, before: Vec::new(), lines: Vec::new() };
        live.lines.push(Line::plain("it begins".to_owned()));
        live.draw()?;
        Ok(live)
    }

    /// A second is over.
    pub(super) fn show(&mut self, now: &Now<'_>) -> io::Result<()> {
        let width = self.screen.area()?.width.into();
        self.lines = lines(now, &self.before, width);
        self.before = now.flows.to_vec();
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        let Self { screen, title, lines, .. } = self;
        screen.draw(|area, buf| render(title, lines, area, buf))
    }

    /// Whether a key that stops the run was pressed. A new size of the terminal is seen here, too.
    pub(super) fn stopped(&mut self) -> io::Result<bool> {
        while pressed(Duration::ZERO)? && event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) if key.code == KeyCode::Char('q') => return Ok(true),
                Event::Key(key)
                    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) =>
                {
                    return Ok(true);
                }
                Event::Resize(..) => self.draw()?,
                _ => {}
            }
        }
        Ok(false)
    }
}

/// A line of the screen.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    style: Style,
}

impl Line {
    fn plain(text: String) -> Self {
        Self { text, style: Style::new() }
    }
}

/// What the screen says below its title.
fn lines(now: &Now<'_>, before: &[FlowNow], width: usize) -> Vec<Line> {
    let second = &now.second;
    let all = now.history.samples().last().map(|(_, counts)| counts.flows).unwrap_or_default();
    let mut lines = vec![
        Line::plain(format!(
            "{}   started {}   complete {}   failed {:.0}/s   active {}",
            duration((second.seconds * 1e9) as u64),
            scaled(second.started, "/s"),
            scaled(second.complete, "flows/s"),
            second.failed,
            second.active
        )),
        Line::plain(format!(
            "out {} at {}   in {} at {}   again {:.0}/s   busy {:.0} %",
            scaled(second.packets_out, "pps"),
            bit_rate(second.bits_out),
            scaled(second.packets_in, "pps"),
            bit_rate(second.bits_in),
            second.retransmitted,
            second.busy * 100.0
        )),
        Line::plain(format!(
            "in all: {} started = {} complete + {} failed + {} active",
            all.started, all.complete, all.failed, all.active
        )),
        Line::plain(format!("complete {}", spark(now, width.saturating_sub(9)))),
        Line::plain(String::new()),
    ];
    let name = width.saturating_sub(NUMBERS).clamp(12, 40);
    let head = format!(
        "{:name$} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9}",
        "FLOW", "START/s", "DONE/s", "FAILED", "ACTIVE", "p50", "p99"
    );
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    lines.push(Line { text: format!("{head:width$}"), style: reversed });
    for (at, flow) in now.flows.iter().enumerate().filter(|(_, flow)| flow.flows.started > 0) {
        lines.push(row(now.bundle, at, flow, before.get(at), name));
    }
    lines.push(Line::plain(String::new()));
    lines.extend(failures(now.flows));
    lines
}

/// One story or attack.
fn row(bundle: &Bundle, at: usize, flow: &FlowNow, before: Option<&FlowNow>, width: usize) -> Line {
    let known = bundle.flows.get(at);
    let name = known.map_or("?", |flow| bundle.name(flow.name));
    let is_attack = known.is_some_and(|flow| flow.kind == Kind::Attack);
    let shown: String = format!("{}{name}", if is_attack { "! " } else { "" }).chars().take(width).collect();
    let then = before.map(|before| before.flows).unwrap_or_default();
    let rate = |now: u64, then: u64| scaled(now.saturating_sub(then) as f64, "");
    let time = |share: f64| match flow.took.count() {
        0 => "-".to_owned(),
        _ => duration(u64::from(flow.took.percentile(share)) * 1000),
    };
    let text = format!(
        "{shown:width$} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9}",
        rate(flow.flows.started, then.started).trim_end(),
        rate(flow.flows.complete, then.complete).trim_end(),
        flow.flows.failed,
        flow.flows.active,
        time(0.5),
        time(0.99)
    );
    let style = if flow.flows.failed > then.failed { Style::new().fg(Color::Red) } else { Style::new() };
    Line { text, style }
}

/// Ends of flows that failed, by reason.
fn failures(flows: &[FlowNow]) -> Option<Line> {
    let sum = |at: usize| flows.iter().map(|flow| flow.failed[at]).sum::<u64>();
    let some = Failure::ALL.into_iter().enumerate().filter(|(at, _)| sum(*at) > 0);
    let list: Vec<String> = some.map(|(at, why)| format!("{} {}", why.name(), sum(at))).collect();
    let style = Style::new().fg(Color::Red);
    (!list.is_empty()).then(|| Line { text: format!("failed ends: {}", list.join(", ")), style })
}

/// Complete flows a second in the last samples, as bars up to the highest of them.
fn spark(now: &Now<'_>, width: usize) -> String {
    let samples = now.history.samples();
    let last = &samples[samples.len().saturating_sub(width + 1)..];
    let rates: Vec<f64> = last.windows(2).map(|pair| Second::between(&pair[0], &pair[1]).complete).collect();
    let most = rates.iter().copied().fold(1.0, f64::max);
    rates.iter().map(|rate| BARS[((rate / most) * (BARS.len() - 1) as f64).round() as usize]).collect()
}

fn render(title: &str, lines: &[Line], area: Rect, buf: &mut Buffer) {
    let mut put = |y: u16, text: &str, style: Style| {
        if y < area.height {
            buf.set_stringn(area.x, area.y + y, text, area.width.into(), style);
        }
    };
    put(0, title, Style::new().add_modifier(Modifier::BOLD));
    let room = area.height.saturating_sub(2);
    for (y, line) in (1..=room).zip(lines) {
        put(y, &line.text, line.style);
    }
    put(area.height.saturating_sub(1).max(1), KEYS, Style::new().add_modifier(Modifier::DIM));
}

#[cfg(test)]
mod tests {
    use ringway_flows::compile::{Options, Source, compile};
    use ringway_flows::run::count::Flows;
    use ringway_flows::run::counts::Counts;
    use ringway_flows::run::history::History;

    use super::*;

    fn bundle() -> Bundle {
        let text = "pool inside = 198.18.0.0/24\npool outside = 198.19.0.0/28
            flow ask { udp q = inside -> outside : 53\n q > \"a\"\n q < \"b\" }";
        let source = Source { name: "a.flow", text, read: &|name| Err(name.to_owned()) };
        compile(&source, &Options::default()).unwrap()
    }

    fn flow(started: u64, complete: u64, timeout: u64) -> FlowNow {
        let active = started - complete - timeout;
        let mut flow =
            FlowNow { flows: Flows { started, complete, failed: timeout, active }, ..FlowNow::default() };
        flow.failed[0] = timeout;
        (0..complete).for_each(|_| flow.took.record(1500));
        flow
    }

    fn screen(width: u16, height: u16) -> Vec<String> {
        let (bundle, mut history) = (bundle(), History::new(1));
        for tick in 0..=20_u64 {
            let flows = Flows { complete: tick * tick, started: tick * tick, ..Flows::default() };
            history.push(tick * 100_000_000, Counts { flows, ..Counts::default() });
        }
        let second = Second { seconds: 2.0, complete: 390.0, failed: 2.0, ..Second::default() };
        let now = Now { bundle: &bundle, second, flows: &[flow(500, 400, 4)], history: &history };
        let lines = lines(&now, &[flow(100, 80, 2)], width.into());
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        render("ringway flows  a.flow", &lines, area, &mut buf);
        let cells: Vec<&str> = buf.content().iter().map(|cell| cell.symbol()).collect();
        cells.chunks(width.into()).map(|line| line.concat().trim_end().to_owned()).collect()
    }

    #[test]
    fn the_usual_terminal() {
        let shown = screen(80, 24);
        assert_eq!(shown[0], "ringway flows  a.flow");
        assert!(
            shown[1].starts_with("2.000 s   started 0 /s   complete 390 flows/s   failed 2/s"),
            "{shown:#?}"
        );
        assert_eq!(shown[3], "in all: 400 started = 400 complete + 0 failed + 0 active");
        assert!(shown[4].starts_with("complete ▁") && shown[4].ends_with('█'), "{shown:#?}");
        assert_eq!(shown[4].chars().count(), 9 + 20, "a bar for each sample");
        assert!(shown[6].starts_with("FLOW"), "{shown:#?}");
        let numbers: Vec<&str> = shown[7].split_whitespace().collect();
        assert_eq!(numbers[..5], ["ask", "400", "320", "4", "96"], "{shown:#?}");
        assert_eq!(shown[9], "failed ends: timeout 4");
        assert_eq!(shown[23], KEYS);
    }

    #[test]
    fn any_size_can_be_drawn() {
        for (width, height) in [(1, 1), (20, 3), (61, 5), (300, 100)] {
            let shown = screen(width, height);
            assert_eq!(shown.len(), usize::from(height));
        }
    }
}
