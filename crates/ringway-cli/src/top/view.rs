//! The screen as a function of the state: title, table, what there is to say about a row, keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::about;
use super::columns::{Column, shorten};
use super::detail::{self, Kind};
use super::row::Row;
use super::stages;
use super::state::{Page, State};
use crate::visible::none_open;

/// From this height on, what there is to say about the selected port stands below the table.
const BOTH_ROWS: u16 = 15;

const KEYS: [&str; 7] =
    ["? help", "q quit", "up/down select", "Enter port", "s sort", "p pause", "r reset totals"];

const HELP: &str = "\
KEYS
  q, Ctrl-C       quit
  up, down, j, k  select a port; PgUp, PgDn, Home, End too
  Enter, Esc      the selected port alone, and back
  s, S, i         sort by the next or previous column; invert the order
  b               bit rates on the wire (with FCS, preamble, gap) or of frames
  c               what stages of the switch or router cost; off again
  p, space; r     pause and go on; totals count from now
  +, -            longer or shorter interval

COLUMNS
  pps, bit, wire  frames and bits a second: RX given to the program, TX sent
                  of a router in the kernel: RX came in, TX forwarded
  DROP/s, DROPS   frames lost a second, and since opened or reset
  /SYNC           frames a sync, both directions
  BUSY            share of syncs that brought frames or freed slots
  CPU             processors that the owner's threads use, all its ports
  OWNER           program that has the port open, on wide terminals
  FILL            slots in use after the last sync, of those there are
High BUSY: there is work at each look. High CPU and low BUSY: the owner spins.
- is not known yet. k, M, G are powers of 1000. Also: ringway stats --json";

/// Draws all.
pub(super) fn render(state: &State, area: Rect, buf: &mut Buffer) {
    let rows = state.rows();
    let areas = Areas::of(state, &rows, area);
    put(buf, areas.title, &title(state, &rows), Style::new().add_modifier(Modifier::BOLD));
    table(state, &rows, areas.table, buf);
    page(&below(state, &rows, areas.page.width.into()), first_line(state), areas.page, buf);
    keys(state, areas.keys, buf);
}

/// How far the page can be scrolled.
pub(super) fn last_scroll(state: &State, area: Rect) -> usize {
    let rows = state.rows();
    let page = Areas::of(state, &rows, area).page;
    below(state, &rows, page.width.into()).len().saturating_sub(page.height.into())
}

/// Where things are. Any of them may be empty.
struct Areas {
    title: Rect,
    table: Rect,
    page: Rect,
    keys: Rect,
}

impl Areas {
    fn of(state: &State, rows: &[Row<'_>], area: Rect) -> Self {
        let at = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        let keys = u16::from(area.height > 4);
        let body = area.height.saturating_sub(1 + keys);
        let table = match state.page {
            Page::Port | Page::Help => 0,
            Page::Ports if area.height < BOTH_ROWS || rows.is_empty() => body,
            // A line between the two; half of the screen for the table when there are many ports.
            Page::Ports => (rows.len() as u16).saturating_add(2).min(body / 2),
        };
        Self {
            title: at(0, area.height.min(1)),
            table: at(1.min(area.height), table),
            page: at((1 + table).min(area.height), body - table),
            keys: at(area.height - keys, keys),
        }
    }
}

fn title(state: &State, rows: &[Row<'_>]) -> String {
    let ports = rows.iter().filter(|row| row.port().is_some()).count();
    let of = match ports {
        0 => none_open().to_owned(),
        1 => "1 port".to_owned(),
        n => format!("{n} ports"),
    };
    let routers = match rows.len() - ports {
        0 => String::new(),
        1 => ", 1 router".to_owned(),
        n => format!(", {n} routers"),
    };
    let every = state.interval.as_secs_f64();
    let paused = if state.paused { "PAUSED  " } else { "" };
    let bits = if state.wire { "wire" } else { "frames" };
    let order = if state.inverted { " inverted" } else { "" };
    format!(
        "ringway top  {paused}{of}{routers}  every {every} s  bits: {bits}  by {}{order}",
        state.sort.title()
    )
}

fn table(state: &State, rows: &[Row<'_>], area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    // With the mark of the selected one.
    let longest = rows.iter().map(|r| r.name().chars().count() + 1).max().unwrap_or(0);
    let (columns, name) = Column::fit(area.width.into(), state.wire, longest);
    let head = Style::new().add_modifier(Modifier::REVERSED);
    let line = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    put(buf, line(0), &" ".repeat(area.width.into()), head);
    cells(&columns, name, line(0), buf, |c| (c.title().to_owned(), underline(head, c == state.sort)));
    let height = usize::from(area.height) - 1;
    let place = state.place(rows);
    let first = (place + 1).saturating_sub(height);
    for (y, (n, row)) in (1..).zip(rows.iter().enumerate().skip(first).take(height)) {
        let selected = n == place && !rows.is_empty();
        let style = if selected { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let mark = if selected { ">" } else { " " };
        cells(&columns, name, line(y), buf, |c| match c {
            Column::Port => (format!("{mark}{}", shorten(&c.text(row), name.saturating_sub(1))), style),
            Column::Drops if row.drops() > Some(0.0) => (c.text(row), style.fg(Color::Red)),
            _ => (c.text(row), style),
        });
    }
}

fn underline(style: Style, yes: bool) -> Style {
    if yes { style.add_modifier(Modifier::UNDERLINED) } else { style }
}

/// One line of the table: names to the left, numbers to the right of their columns.
fn cells(
    columns: &[Column],
    name: usize,
    area: Rect,
    buf: &mut Buffer,
    cell: impl Fn(Column) -> (String, Style),
) {
    let mut x = 0;
    for &column in columns {
        let width = if column == Column::Port { name } else { column.width() };
        let (text, style) = cell(column);
        let pad = if column.is_text() { 0 } else { width.saturating_sub(text.len()) };
        let at = Rect { x: area.x + (x + pad) as u16, width: (width - pad) as u16, ..area };
        put(buf, at.intersection(area), &text, style);
        x += width + 1;
    }
}

/// The text below the table.
fn below(state: &State, rows: &[Row<'_>], width: usize) -> Vec<detail::Line> {
    if state.page == Page::Help {
        let line = |text: &str| {
            let kind = if matches!(text, "KEYS" | "COLUMNS") { Kind::Header } else { Kind::Plain };
            detail::wrap(detail::Line { kind, text: text.to_owned() }, width)
        };
        return HELP.lines().flat_map(line).collect();
    }
    let since = if state.was_reset() { "reset" } else { "opened" };
    let Some(row) = rows.get(state.place(rows)) else { return Vec::new() };
    let costs = stages::lines(&state.stages).into_iter().flat_map(|line| detail::wrap(line, width));
    about::lines(row, width, since).into_iter().chain(costs).collect()
}

/// The page below a table starts at its top.
fn first_line(state: &State) -> usize {
    if state.page == Page::Ports { 0 } else { state.scroll }
}

fn page(lines: &[detail::Line], scroll: usize, area: Rect, buf: &mut Buffer) {
    let first = scroll.min(lines.len().saturating_sub(area.height.into()));
    for (y, line) in (0..area.height).zip(lines.iter().skip(first)) {
        let style = match line.kind {
            Kind::Title => Style::new().add_modifier(Modifier::BOLD),
            Kind::Header => Style::new().add_modifier(Modifier::UNDERLINED),
            Kind::Alarm => Style::new().fg(Color::Red),
            Kind::Row | Kind::Plain => Style::new(),
        };
        put(buf, Rect { y: area.y + y, height: 1, ..area }, &line.text, style);
    }
}

/// The keys that fit, or what happened lately.
fn keys(state: &State, area: Rect, buf: &mut Buffer) {
    let mut text = String::new();
    for key in KEYS {
        if text.len() + 2 + key.len() > area.width.into() {
            break;
        }
        if !text.is_empty() {
            text += "  ";
        }
        text += key;
    }
    put(buf, area, state.message().unwrap_or(&text), Style::new().add_modifier(Modifier::DIM));
}

/// Text in one line of the buffer, as far as it fits.
fn put(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    let area = area.intersection(buf.area);
    if !area.is_empty() {
        buf.set_stringn(area.x, area.y, text, area.width.into(), style);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyCode;
    use ringway::Counters;
    use ringway_watch::ports::Reading;

    use super::*;
    use crate::stage_costs::tests::costs;
    use crate::top::samples::{counters, port};
    use crate::top::stages::Shown;

    /// Two readings, a second apart, of a port that loses frames, one with a long name and `more` idle ones.
    fn state(more: u32) -> State {
        let mut state = State::new(Duration::from_secs(1));
        for s in [1, 2] {
            let none = Counters::default();
            let mut ports = vec![
                port(
                    "ebpf:eth0",
                    4711,
                    counters(s * 2_500_000, s * 150_000_000, (s * 1000, s * 1000), s * 70),
                    none,
                ),
                port(
                    "pcap:/var/tmp/a/rather/long/way/to/the/capture.pcap@loop",
                    9,
                    none,
                    counters(s * 500, s * 30_000, (s * 1000, s * 250), 0),
                ),
            ];
            ports.extend((0..more).map(|n| port(&format!("pipe:n{n:03}{{1"), 100 + n, none, none)));
            state.add(Reading { time_ns: s * 1_000_000_000, ports });
        }
        state
    }

    fn screen(state: &State, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|f| render(state, f.area(), f.buffer_mut())).unwrap();
        let buffer = terminal.backend().buffer();
        let cells: Vec<&str> = buffer.content().iter().map(|c| c.symbol()).collect();
        cells.chunks(width.into()).map(|line| line.concat().trim_end().to_owned()).collect()
    }

    fn press(state: &mut State, keys: &str) {
        for key in keys.chars() {
            state.key(match key {
                '\n' => KeyCode::Enter.into(),
                '\x1b' => KeyCode::Esc.into(),
                c => KeyCode::Char(c).into(),
            });
        }
    }

    #[test]
    fn the_usual_terminal() {
        let expected = [
            "ringway top  2 ports  every 1 s  bits: wire  by PORT",
            "PORT              PID RX pps RXwire TX pps TXwire DROP/s  DROPS /SYNC BUSY   CPU",
            ">ebpf:eth0       4711  2.50M  1.68G      0      0     70    140 2.50k 100%    0%",
            " pcap:..@loop       9      0      0    500   336k      0      0   0.5  25%    0%",
            "",
            "ebpf:eth0 (pid 4711 forwarder)",
            "pipe: zero copy",
            "RING     pps    bit   wire /SYNC SYNC/s BUSY        FILL  DROPS",
            "rx0    2.50M  1.20G  1.68G 2.50k  1.00k 100%     12/1023    140 140 ring_full",
            "tx0        0      0      0     0      0   0%      0/1023      0",
            "dropped since opened",
            "rx ring_full 70/s, 140 in all",
            "   the program reads too slowly: give it a core of its own or a larger ring",
        ];
        let shown = screen(&state(0), 80, 24);
        assert_eq!(shown[..expected.len()], expected);
        assert!(shown[expected.len()..23].iter().all(String::is_empty), "{shown:#?}");
        assert_eq!(shown[23], "? help  q quit  up/down select  Enter port  s sort  p pause  r reset totals");
    }

    #[test]
    fn a_small_terminal_has_the_most_telling_columns() {
        let shown = screen(&state(20), 40, 10);
        let expected = [
            "ringway top  22 ports  every 1 s  bits:",
            "PORT           RX pps TX pps DROP/s BUSY",
            ">ebpf:eth0      2.50M      0     70 100%",
            " pcap:/..@loop      0    500      0  25%",
            " pipe:n000{1        0      0      0   0%",
        ];
        assert_eq!(shown[..5], expected, "{shown:#?}");
        assert_eq!(shown[9], "? help  q quit  up/down select");
        let mut state = state(20);
        press(&mut state, "\n");
        let shown = screen(&state, 40, 10);
        assert_eq!(shown[1], "ebpf:eth0 (pid 4711 forwarder)");
        assert_eq!(shown[3], "RING     pps    bit   wire /SYNC SYNC/s");
        assert_eq!(shown[8], "   the program reads too slowly: give it");
        state.scroll = 100;
        assert_eq!(screen(&state, 40, 10)[8], "   a core of its own or a larger ring");
        assert_eq!(last_scroll(&state, Rect::new(0, 0, 40, 10)), 1);
    }

    #[test]
    fn a_large_terminal_has_everything() {
        let shown = screen(&state(2), 200, 50);
        for title in Column::ALL {
            assert!(shown[1].contains(title.title()), "{}: {}", title.title(), shown[1]);
        }
        assert!(
            shown[3].starts_with(" pcap:/var/tmp/a/rather/long/way/to/the/capture.pcap@loop "),
            "{}",
            shown[3]
        );
        assert!(shown[2].contains("2.50M  1.20G  1.68G      0      0      0     70    140"), "{}", shown[2]);
        assert!(shown[1].ends_with(" CPU OWNER") && shown[2].ends_with(" forwarder"), "{shown:#?}");
    }

    #[test]
    fn stages_stand_below_the_port() {
        let mut state = state(0);
        state.stages = Shown::Read(vec![Ok(costs(10, 640, [320_000, 64_000]))]);
        let shown = screen(&state, 80, 24);
        assert_eq!(shown[12], "   the program reads too slowly: give it a core of its own or a larger ring");
        assert_eq!(shown[13], "stages of switch=vale0, ticks (TSC 2.00 GHz) of a packet");
        assert_eq!(shown[15], "decide          1000.0    500.0    83%");
        press(&mut state, "c");
        assert!(screen(&state, 80, 24)[13].is_empty());
    }

    #[test]
    fn the_selected_port_stays_in_sight() {
        let mut state = state(200);
        for (keys, name) in
            [("G", ">ebpf:eth0"), ("jjjjjjjjjjjjjjjjjj", ">pipe:n016{1"), ("kkk", ">pipe:n013{1")]
        {
            press(&mut state, keys);
            let shown = screen(&state, 80, 12);
            assert_eq!(shown.iter().filter(|l| l.starts_with('>')).count(), 1, "{shown:#?}");
            assert!(shown.iter().any(|l| l.starts_with(name)), "{name}: {shown:#?}");
        }
        state.key(KeyCode::End.into());
        assert!(screen(&state, 80, 24).iter().any(|l| l.starts_with(">pipe:n199{1")));
        press(&mut state, "sss");
        assert!(
            screen(&state, 80, 24).iter().any(|l| l.starts_with(">pipe:n199{1")),
            "also when sorted again"
        );
    }

    #[test]
    fn help_fits_the_usual_terminal() {
        let mut state = state(1);
        press(&mut state, "?");
        let shown = screen(&state, 80, 24);
        assert!(HELP.lines().all(|line| shown.iter().any(|l| l == line)), "{shown:#?}");
        assert_eq!(last_scroll(&state, Rect::new(0, 0, 80, 24)), 0);
        assert!(last_scroll(&state, Rect::new(0, 0, 40, 10)) > 10);
        press(&mut state, "\x1b");
        assert!(screen(&state, 80, 24)[2].starts_with(">ebpf:eth0"));
    }

    #[test]
    fn nothing_open_and_nothing_known_yet() {
        let mut state = State::new(Duration::from_millis(200));
        assert_eq!(
            screen(&state, 80, 24)[0],
            format!("ringway top  {}  every 0.2 s  bits: wire  by PORT", none_open())
        );
        let ports = vec![port("null:", 1, Counters::default(), Counters::default())];
        state.add(Reading { time_ns: 5, ports });
        let shown = screen(&state, 80, 24);
        assert!(shown[2].starts_with(">null:"), "{shown:#?}");
        assert!(
            shown[2].ends_with("1      -      -      -      -      -      0     -    -     -"),
            "{}",
            shown[2]
        );
        state.add(Reading { time_ns: 6, ports: Vec::new() });
        assert_eq!(screen(&state, 80, 24)[23], "closed: null: (pid 1)");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_size_can_be_drawn(width in 1u16..130, height in 1u16..60, more in 0u32..30, keys in "[?\njksbircp]{0,6}") {
            let mut state = state(more);
            press(&mut state, &keys);
            let shown = screen(&state, width, height);
            prop_assert!("ringway top".starts_with(&shown[0]) || shown[0].starts_with("ringway top"), "{shown:#?}");
            let _ = last_scroll(&state, Rect::new(0, 0, width, height));
        }
    }
}
