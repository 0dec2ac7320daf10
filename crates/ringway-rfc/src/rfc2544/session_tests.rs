//! Sessions and journals: what is repeated, what is kept, what is taken over.

use std::fs;
use std::path::PathBuf;

use ringway::Result;

use super::journal::Journal;
use super::measure::{self, Results};
use super::session::{Event, Session};
use super::settings::{Settings, Test};
use crate::benchmark::stop::Stop;
use ringway_tester::device::{DeviceSpec, VirtualTestBed};
use ringway_tester::trial::bed::TestBed;
use ringway_tester::trial::fault::TesterFault;
use ringway_tester::trial::loops::Watch;
use ringway_tester::trial::maximum::Maximum;
use ringway_tester::trial::mix::Mix;
use ringway_tester::trial::rate::SECOND;
use ringway_tester::trial::result::TrialResult;
use ringway_tester::trial::spec::TrialSpec;

/// A bed that counts its trials and spoils some.
#[derive(Debug)]
struct Spoilt {
    inner: VirtualTestBed,
    runs: u64,
    faults: Vec<(u64, TesterFault)>,
}

impl TestBed for Spoilt {
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        self.runs += 1;
        let mut trial = self.inner.run(order, watch)?;
        let faults = self.faults.iter().filter(|(run, _)| *run == self.runs).map(|(_, fault)| fault.clone());
        trial.faults.extend(faults);
        Ok(trial)
    }

    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        self.inner.pause(ps, go_on)
    }
}

fn bed(faults: Vec<(u64, TesterFault)>) -> Spoilt {
    let device: DeviceSpec = "switch:pps=700k,buffer=50".parse().unwrap();
    Spoilt { inner: VirtualTestBed::new(device, Some(1_000_000_000), false), runs: 0, faults }
}

fn settings() -> Settings {
    let tests = vec![Test::Throughput, Test::Loss, Test::BackToBack];
    let sizes = vec![Mix::fixed(64), Mix::fixed(128)];
    Settings { tests, sizes, burst_repeats: 1, ..Settings::new(Maximum::Link(1_000_000_000)) }
}

/// Runs; the listener says no after so many trials.
fn run(
    bed: &mut Spoilt,
    settings: &Settings,
    journal: &mut Journal,
    stop_after: u64,
) -> (Results, std::result::Result<(), Stop>, usize) {
    let mut results = Results::default();
    let mut ended = 0;
    let mut listener = |event: &Event<'_>| {
        ended += u64::from(matches!(event, Event::Ended(_)));
        ended < stop_after
    };
    let mut session = Session::new(bed, settings, journal, &mut listener);
    let end = measure::run(&mut session, &mut results);
    let records = session.into_records().len();
    (results, end, records)
}

const STALL: TesterFault = TesterFault::Stalled { times: 1, longest_ns: 5_000_000, allowed_ns: 1_000_000 };

#[test]
fn invalid_trials_are_repeated_and_change_nothing() {
    let (clean, end, trials) = run(&mut bed(Vec::new()), &settings(), &mut Journal::none(), u64::MAX);
    assert!(end.is_ok());
    let faults = vec![
        (1, STALL),
        (4, STALL),
        (5, TesterFault::Overrun { frames: 3 }),
        (9, TesterFault::Short { frames: 9, allowed: 0 }),
    ];
    let (disturbed, end, more) = run(&mut bed(faults), &settings(), &mut Journal::none(), u64::MAX);
    assert!(end.is_ok());
    assert_eq!((disturbed, more), (clean, trials + 4));
}

#[test]
fn a_tester_that_stays_disturbed_gives_no_result() {
    let faults = (1..=4).map(|n| (n, STALL)).collect();
    let (results, end, _) = run(&mut bed(faults), &settings(), &mut Journal::none(), u64::MAX);
    assert!(end.is_ok());
    let missing = &results.missing[0];
    assert_eq!((missing.test, &missing.size), (Test::Loss, &Mix::fixed(64)));
    assert!(
        missing.reason.starts_with("4 trials in a row were invalid: the receiver stood still")
            && missing.reason.ends_with("or lower the load (`--pps`)"),
        "{}",
        missing.reason
    );
    assert_eq!((results.loss.len(), results.throughput.len()), (1, 2), "the rest is measured");
}

/// What is sent at too low a rate says something of a search or a loss, and nothing of a latency.
#[test]
fn trials_that_stay_short_are_used_where_what_was_sent_counts() {
    let settings =
        Settings { tests: vec![Test::Latency], latency_ps: SECOND, latency_repeats: 1, ..settings() };
    let short = |n| (n, TesterFault::Short { frames: 9, allowed: 0 });
    let trials = |tests: Vec<Test>, faults: Vec<(u64, TesterFault)>| {
        let settings = Settings { tests, ..settings.clone() };
        run(&mut bed(faults), &settings, &mut Journal::none(), u64::MAX).0
    };
    let all: Vec<_> = (1..=4).map(short).collect();
    assert!(trials(vec![Test::Throughput], all.clone()).missing.is_empty());
    assert!(trials(vec![Test::Loss], all).missing.is_empty());
    let mixed = vec![short(1), (2, STALL), short(3), short(4)];
    assert_eq!(trials(vec![Test::Throughput], mixed).missing.len(), 1);
    // What else went wrong in one of them does not matter when another one was only short.
    let stalled = vec![short(1), short(2), short(3), short(4), (4, STALL)];
    let results = trials(vec![Test::Loss], stalled);
    assert!(results.missing.is_empty() && results.loss[0].loads[0].limited, "{results:?}");
    let never_only_short = (1..=4).flat_map(|n| [short(n), (n, STALL)]).collect();
    assert_eq!(trials(vec![Test::Loss], never_only_short).missing.len(), 1);

    let (_, _, searched) = run(
        &mut bed(Vec::new()),
        &Settings { sizes: vec![Mix::fixed(64)], tests: vec![Test::Throughput], ..settings.clone() },
        &mut Journal::none(),
        u64::MAX,
    );
    let first = searched as u64 + 1;
    let after_the_search: Vec<_> = (first..first + 4).map(short).collect();
    let settings = Settings { sizes: vec![Mix::fixed(64)], ..settings };
    let (results, ..) = run(&mut bed(after_the_search), &settings, &mut Journal::none(), u64::MAX);
    assert!(results.missing.iter().any(|m| m.test == Test::Latency), "{:?}", results.missing);
}

fn journal(name: &str) -> (PathBuf, PathBuf) {
    let directory = std::env::temp_dir().join(format!("ringway-journal-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    (directory.join("trials"), directory)
}

#[test]
fn a_run_that_was_stopped_goes_on_with_the_next_trial() {
    let (path, directory) = journal("resume");
    let settings = settings();
    let mut all = bed(vec![(3, STALL)]);
    let (expected, _, records) = run(&mut all, &settings, &mut Journal::none(), u64::MAX);
    let mut runs = 0;
    for stop_after in [1, 5, 11, u64::MAX] {
        // The third trial of all is the one that is spoilt.
        let mut bed = bed(vec![(3u64.wrapping_sub(runs), STALL)]);
        let mut journal = Journal::open(&path, "x", &settings).unwrap();
        assert_eq!(journal.left() as u64, runs);
        let (results, end, kept) = run(&mut bed, &settings, &mut journal, stop_after);
        runs += bed.runs;
        if stop_after == u64::MAX {
            assert!(end.is_ok());
            assert_eq!((&results, kept, runs), (&expected, records, all.runs));
        } else {
            assert!(matches!(end, Err(Stop::Interrupted)), "{end:?}");
            assert_eq!(bed.runs, stop_after);
        }
        // As a kill in the middle of a line leaves it.
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"number\":99,");
        fs::write(&path, bytes).unwrap();
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn journals_of_others_are_refused() {
    let (path, directory) = journal("refuse");
    let settings = settings();
    drop(Journal::open(&path, "x", &settings).unwrap());
    assert!(Journal::open(&path, "y", &settings).unwrap_err().contains("other settings"));
    let other = Settings { seed: 2, ..settings.clone() };
    assert!(Journal::open(&path, "x", &other).unwrap_err().contains("other settings"));
    let head = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{head}nonsense\n")).unwrap();
    assert!(Journal::open(&path, "x", &settings).unwrap_err().contains("line 2"));
    fs::write(&path, "nonsense\n").unwrap();
    assert!(Journal::open(&path, "x", &settings).unwrap_err().contains("no journal of trials"));
    // The parser quotes what it does not know: an error stays one line.
    for text in [
        head.replacen("\"tests\":[", r#""tests":["late\ncy","#, 1),
        format!("{head}{}\n", r#"{"number":1,"test":"late\ncy"}"#),
    ] {
        fs::write(&path, text).unwrap();
        let refused = Journal::open(&path, "x", &settings).unwrap_err();
        assert!(refused.contains("late cy") && !refused.contains('\n'), "{refused:?}");
    }
    let notes = b"notes of mine, without an end of line";
    for text in [&notes[..], &[b"first line\n", &notes[..]].concat()] {
        fs::write(&path, text).unwrap();
        assert!(Journal::open(&path, "x", &settings).unwrap_err().contains("no journal of trials"));
        assert_eq!(fs::read(&path).unwrap(), text, "left as it is");
    }
    assert!(Journal::open(&directory, "x", &settings).is_err());
    assert!(Journal::open("/dev/zero".as_ref(), "x", &settings).unwrap_err().contains("no regular file"));
    fs::remove_dir_all(directory).unwrap();
}
