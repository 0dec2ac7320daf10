//! `ringway top`: what all open ports of this machine do now, and routers in the kernel.

mod about;
mod columns;
mod detail;
mod object;
mod routers;
mod row;
#[cfg(test)]
mod samples;
mod stages;
mod state;
mod text;
mod view;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event};
use ringway_engine::Signals;

use crate::console::note;
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;
use crate::screen::{self, Screen};
use crate::stop;
use row::{Look, Row};
use stages::{Shown, Watcher};
use state::{State, Wish};

/// Watch the rates of all open ports, and of routers in the kernel
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("json", |json| json.requires("once")))]
pub(crate) struct Args {
    /// Time between two looks; + and - change it
    #[arg(short, long, value_name = "MS", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(10..=600_000))]
    interval: u64,

    /// Print once, as plain text, what happened within one interval
    #[arg(long)]
    once: bool,

    /// Show what stages of the port's switch or of the router cost, by their own counters; key c does so, too
    #[arg(long)]
    stages: bool,

    #[command(flatten)]
    json: Json,
}

const EXAMPLES: &str = "\
It shows the ports that you may see: root sees its own, and routers. Press ? for keys and for the meaning of the columns.

  RX, TX   frames a second given to the program and sent; bits a second of frames without FCS, and on the wire,
           with 24 bytes of FCS, preamble and gap a frame
  /SYNC    frames a sync
  BUSY     share of syncs that brought frames or freed slots
  CPU      processors that all threads of the owner use; it may have several ports open
  OWNER    the program that has the port open, on wide terminals
  FILL     slots in use after the last sync, of those that can be

A router in the kernel is a row, such as router=r0: RX is what came in by its members, TX what it forwarded.

--stages shows ticks and nanoseconds of a packet for each stage of the selected port's switch, of `ringway router run` in its
process, or of the selected router; with --once of all. These paths count while top watches, and end two seconds after it.

Examples:
  ringway top
  ringway top --stages                # with what decide and deliver of a switch cost
  ringway top --once --interval 500   # for a pipe or a log
  ringway top --once --json           # for a program";

/// The first rates come soon, whatever the interval.
const FIRST: Duration = Duration::from_millis(300);

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let signals = stop::signals()?;
    let mut state = State::new(Duration::from_millis(args.interval));
    if args.stages {
        state.stages = Shown::Starting;
    }
    state.add(Look::now());
    if args.once {
        once(&mut state, &signals);
        if args.json.console().json {
            // As text they stand in their place.
            stages::failures(&state.stages).for_each(|text| note(&format!("top: {text}")));
        }
        args.json.console().result(&text::page(&state), &object::page(&state))?;
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let what = "top needs a terminal; use ringway top --once, or ringway stats --json";
        return Err(Failure::Other(errors::command::NO_TERMINAL, what.into()));
    }
    watch(&mut Screen::open()?, &mut state, &signals)?;
    Ok(())
}

/// Measures one interval, with stages of the paths of all ports if they are wanted.
fn once(state: &mut State, signals: &Signals) {
    let mut watcher = Watcher::default();
    if state.wants_stages() {
        watcher.follow(state.rows().iter().map(Row::id));
    }
    let end = Instant::now() + state.interval;
    while !signals.stopped() && Instant::now() < end {
        signals.rest(end.saturating_duration_since(Instant::now()).min(POLL));
        watcher.prolong();
    }
    state.add(Look::now());
    if state.wants_stages() {
        state.stages = Shown::Read(watcher.read());
    }
}

/// Draws until told to stop.
fn watch(screen: &mut Screen, state: &mut State, signals: &Signals) -> io::Result<()> {
    let mut next = Instant::now() + state.interval.min(FIRST);
    let mut watcher = Watcher::default();
    while !signals.stopped() {
        follow(&mut watcher, state);
        draw(screen, state)?;
        match wait(state, next, &mut watcher, signals)? {
            Wish::Quit => return Ok(()),
            Wish::Resume => {
                state.resume(Look::now());
                next = Instant::now() + state.interval.min(FIRST);
            }
            Wish::Draw => next = next.min(Instant::now() + state.interval),
            Wish::Nothing if signals.stopped() => {}
            Wish::Nothing => {
                state.add(Look::now());
                if state.wants_stages() {
                    let changed = follow(&mut watcher, state);
                    state.stages = if changed { Shown::Starting } else { Shown::Read(watcher.read()) };
                }
                next = Instant::now() + state.interval;
            }
        }
    }
    Ok(())
}

/// Watches the stages that the state wants; whether these are other ones than before.
fn follow(watcher: &mut Watcher, state: &State) -> bool {
    if !state.wants_stages() {
        watcher.leave();
        return false;
    }
    watcher.follow(state.selected().cloned().into_iter())
}

/// Shows the state.
fn draw(screen: &mut Screen, state: &mut State) -> io::Result<()> {
    state.scroll = state.scroll.min(view::last_scroll(state, screen.area()?));
    screen.draw(|area, buf| view::render(state, area, buf))
}

/// Waits for a key that changes something, or until `next`; [`Wish::Nothing`] when that has come.
fn wait(state: &mut State, next: Instant, watcher: &mut Watcher, signals: &Signals) -> io::Result<Wish> {
    while !signals.stopped() && (state.paused || Instant::now() < next) {
        watcher.prolong();
        let left = if state.paused { POLL } else { next.saturating_duration_since(Instant::now()) };
        if !screen::pressed(left.min(POLL))? || !event::poll(Duration::ZERO)? {
            continue;
        }
        let wish = match event::read()? {
            Event::Key(key) => state.key(key),
            Event::Resize(..) => Wish::Draw,
            _ => Wish::Nothing,
        };
        if wish != Wish::Nothing {
            return Ok(wish);
        }
    }
    Ok(Wish::Nothing)
}
