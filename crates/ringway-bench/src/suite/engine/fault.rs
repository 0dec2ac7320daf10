//! `fault`: what a thread that dies, that keeps its frames, or that stops in the middle of its work does to the others.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ringway_engine::Engine;

use super::forward::BURST;
use super::reflect::{by_engine, engine, turn_round};
use super::threads::{Worker, rate};
use crate::suite::bed::SENDER;
use crate::suite::report::{Report, Row};
use crate::suite::{Bed, Case, Fault, Sample, Unit};

/// Threads whose rate counts.
const OTHERS: usize = 2;

/// How long a thread stops in the middle of its work: the turns of some others on its CPU.
const STOP: Duration = Duration::from_millis(10);

/// How long it is until the next one dies.
const LIFE: Duration = Duration::from_millis(1);

const NOTE: &str = "null:, the rate of two threads. The I/O thread is alone on CPU 1, all others share CPU 0. -panics: a third thread panics with \
                    a burst in its hands, and a new one takes its place 1 ms later; -keeps: eight more threads never give a burst back; \
                    -stops: four more threads sleep 10 ms in the middle of each burst";

const CASE: &str = "fault";
const NOTHING_WRONG: &str = "ringway-engine";

/// What is wrong with the other threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Panics,
    Keeps,
    Stops,
}

impl Wrong {
    /// So many threads are.
    fn threads(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Panics => 1,
            Self::Keeps => 8,
            Self::Stops => 4,
        }
    }
}

pub(super) fn case(bed: Bed<'_>) -> Case<'_> {
    let measure = move |wrong| move || measure(bed, wrong);
    Case::new(CASE, Unit::Mpps)
        .burst(BURST)
        .cores(2)
        .note(NOTE)
        .system(NOTHING_WRONG, measure(Wrong::Nothing))
        .system("ringway-engine-panics", measure(Wrong::Panics))
        .system("ringway-engine-keeps", measure(Wrong::Keeps))
        .system("ringway-engine-stops", measure(Wrong::Stops))
}

fn measure(bed: Bed<'_>, wrong: Wrong) -> Result<Sample, Fault> {
    let engine = engine(&["null:60".to_owned()], BURST, true)?;
    let gone_wrong = AtomicUsize::new(0);
    let sample = rate(bed, &vec![SENDER; OTHERS + wrong.threads()], 0..OTHERS, |worker| {
        let went_wrong = match wrong {
            _ if worker.at < OTHERS => return by_engine(worker, &engine),
            Wrong::Nothing => false,
            Wrong::Panics => die_again_and_again(worker, &engine)?,
            Wrong::Keeps => keep(worker, &engine)?,
            Wrong::Stops => stop_again_and_again(worker, &engine)?,
        };
        gone_wrong.fetch_add(usize::from(went_wrong), Relaxed);
        Ok(())
    })?;
    all_of(wrong, gone_wrong.into_inner()).map(|()| sample)
}

/// Fails when fewer threads went wrong than were to.
fn all_of(wrong: Wrong, threads: usize) -> Result<(), Fault> {
    match wrong.threads() - threads {
        0 => Ok(()),
        _ => Err(Fault::Failed(format!("{threads} of {} threads went wrong", wrong.threads()))),
    }
}

/// Whether one died. So say the other ways to go wrong, too.
fn die_again_and_again(worker: &Worker<'_>, engine: &Engine) -> Result<bool, Fault> {
    let mut one_died = false;
    while !worker.is_over() {
        match thread::scope(|scope| scope.spawn(|| die(engine)).join()) {
            Ok(lived) => lived?,
            Err(_) => one_died = true,
        }
        thread::sleep(LIFE);
    }
    Ok(one_died)
}

/// Panics with a burst in its hands, if it got one, without the words of a panic.
fn die(engine: &Engine) -> Result<(), Fault> {
    let mut burst = engine.burst()?;
    match turn_round(engine, &mut burst, 0)? {
        0 => Ok(()),
        _ => resume_unwind(Box::new("meant")),
    }
}

fn keep(worker: &Worker<'_>, engine: &Engine) -> Result<bool, Fault> {
    let mut burst = engine.burst()?;
    let mut keeps = false;
    while !worker.is_over() {
        if keeps {
            thread::sleep(STOP);
        } else {
            keeps = turn_round(engine, &mut burst, 0)? > 0;
        }
    }
    Ok(keeps)
}

fn stop_again_and_again(worker: &Worker<'_>, engine: &Engine) -> Result<bool, Fault> {
    let mut burst = engine.burst()?;
    let mut stopped = false;
    while !worker.is_over() {
        stopped |= turn_round(engine, &mut burst, 0)? > 0;
        thread::sleep(STOP);
        engine.send(&mut burst)?;
    }
    Ok(stopped)
}

/// What is left of the rate beside threads that go wrong, one line for each way to.
pub fn shares(report: &Report) -> Vec<String> {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.case == CASE).collect();
    let Some(whole) = rows.iter().find(|row| row.system == NOTHING_WRONG) else { return Vec::new() };
    let wrong = rows.iter().filter(|row| row.system != NOTHING_WRONG);
    wrong
        .map(|row| format!("{CASE} {}: {:.0} % of the rate without", row.system, 100.0 * row.ratio_to(whole)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::engine::threads::tests::counted;
    use crate::suite::{Options, run};
    use ringway_lab::Conditions;

    #[test]
    fn others_go_on() {
        for wrong in [Wrong::Nothing, Wrong::Panics, Wrong::Keeps, Wrong::Stops] {
            assert!(counted(|bed| measure(bed, wrong)) > 0.0, "{wrong:?}");
        }
    }

    /// One that goes wrong eight times does not stand for eight.
    #[test]
    fn each_thread_has_to_go_wrong() {
        assert_eq!(all_of(Wrong::Nothing, 0), Ok(()));
        assert_eq!(all_of(Wrong::Keeps, 8), Ok(()));
        assert_eq!(all_of(Wrong::Keeps, 7), Err(Fault::Failed("7 of 8 threads went wrong".into())));
    }

    #[test]
    fn what_is_left_is_a_share() {
        let case = |name| {
            Case::new(name, Unit::Mpps)
                .system(NOTHING_WRONG, || Ok(Sample::of(4.0)))
                .system("ringway-engine-keeps", || Ok(Sample::of(3.0)))
        };
        let of = |name| {
            shares(&run("engine", vec![case(name)], &Options::default(), Conditions::default(), |_| ()))
        };
        assert_eq!(of("fault"), ["fault ringway-engine-keeps: 75 % of the rate without"]);
        assert_eq!(of("forward"), [""; 0]);
    }
}
