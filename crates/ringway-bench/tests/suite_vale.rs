//! The systems of `ringway bench vale`, in short runs of all cases, unless a case differs from others only in
//! a number. Switches, links and peers need root; says so and checks the rest without.
//!
//! Objective: each system moves frames and its result has all that the contract promises, what is not installed is named, and
//! no switch, namespace or process stays. Nothing here depends on speed.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

#[path = "support/again.rs"]
mod again;

use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use again::again;
use ringway::switch::switches;
use ringway_bench::suite::report::Report;
use ringway_bench::suite::sides::{self, SideCommand};
use ringway_bench::suite::{Bed, Options, run, vale};
use ringway_engine::Signals;
use ringway_lab::Conditions;
use ringway_lab::program::children;
use ringway_lab::{Lab, LabError, is_root, labs};

/// On a busy machine neither end may get to run in much less.
const SECONDS: f64 = 0.3;

/// Systems of the cases, and how many variants or sizes each case has.
const CASES: [(&str, usize, &[&str]); 7] = [
    ("unicast", 1, &["ringway-vale", "ringway-pipe"]),
    ("unicast", 1, &["ringway-vale", "ringway-pipe", "dpdk-memif", "linux-bridge", "ovs-userspace"]),
    ("size", 7, &["ringway-vale", "ringway-pipe"]),
    ("fdb", 3, &["ringway-vale"]),
    ("broadcast", 3, &["ringway-vale", "linux-bridge"]),
    ("nic", 1, &["ringway-vale", "xdp-redirect", "linux-bridge", "ovs-userspace"]),
    ("neighbours", 1, &["ringway-vale", "never-reads", "floods", "random-addresses"]),
];

/// Held by each test that looks for processes or starts some.
static PROCESSES: Mutex<()> = Mutex::new(());

/// Behind these arguments, which have the test program run one test, stand words for that.
const LAST: &str = "--test-threads=1";

fn arguments(test: &str) -> [&str; 4] {
    ["--exact", test, "--nocapture", LAST]
}

/// The words for the test that is run alone; none in an ordinary run.
fn words() -> Vec<String> {
    env::args().skip_while(|a| a != LAST).skip(1).collect()
}

fn side_command() -> SideCommand {
    SideCommand::this_program(&arguments("side")).unwrap()
}

/// A side of an exchange between two processes.
#[test]
fn side() {
    let words = words();
    if words.len() != 3 {
        return;
    }
    println!(); // ends the line on which the name of this test stands
    if let Err(e) = sides::side(&words) {
        eprintln!("{e}");
        process::exit(1);
    }
    process::exit(0); // the result is to be the last line
}

#[test]
fn every_system_moves_frames_and_leaves_nothing() {
    let _one_at_a_time = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = Lab::new();
    let (signals, sides) = (Signals::new(), side_command());
    let mut report: Option<Report> = None;
    for (name, ..) in &CASES[1..] {
        let options = Options { runs: 1, case: Some((*name).to_owned()), ..Options::default() };
        let part = again(|| {
            let cases = vale::cases(Bed::new(&lab, SECONDS, &signals).with_sides(&sides));
            run("vale", cases, &options, Conditions::read(), |step| eprintln!("{step:?}"))
        });
        match &mut report {
            None => report = Some(part),
            Some(all) => {
                all.rows.extend(part.rows);
                all.missing.extend(part.missing);
            }
        }
    }
    let report = report.unwrap();
    let alone = thread::available_parallelism().unwrap().get() < 2;
    for m in &report.missing {
        eprintln!("SKIP: {} {} {}: {}", m.case, m.variant, m.system, m.reason);
        assert!(m.skipped, "{m:?}");
        if alone && m.cores == 2 {
            continue;
        }
        assert!(m.system != "ringway-pipe" && (m.system != "ringway-vale" || !is_root()), "{m:?}");
    }
    let expected: usize = CASES.iter().map(|(_, times, systems)| times * systems.len()).sum();
    assert_eq!(report.rows.len() + report.missing.len(), expected);
    assert_contract(&report);
    drop(lab);
    let (switch_of_us, lab_of_us) = (format!("{:07}-", process::id()), format!("rwb-{}-", process::id()));
    assert!(!switches().iter().any(|name| name.contains(&switch_of_us)), "{:?}", switches());
    assert!(!labs().iter().any(|name| name.starts_with(&lab_of_us)), "{:?}", labs());
    assert_eq!(children(process::id()), [] as [(u32, String); 0]);
    assert_eq!(meeting_places(process::id()), [""; 0]);
}

/// One run that needs no root.
fn pipes_between_processes(seconds: f64) -> Report {
    let (lab, signals, sides) = (Err(LabError::NotRoot), Signals::new(), side_command());
    let mut cases = vale::cases(Bed::new(&lab, seconds, &signals).with_sides(&sides));
    cases.drain(..1); // that on one core
    let [case, only] = ["unicast", "ringway-pipe"].map(String::from);
    let options = Options { runs: 1, case: Some(case), only: vec![only], ..Options::default() };
    run("vale", cases, &options, Conditions::read(), |_| ())
}

/// A benchmark that lasts an hour.
#[test]
fn long() {
    if words() != ["on"] {
        return;
    }
    let report = pipes_between_processes(3600.0);
    panic!("it ended: {:?}", report.missing);
}

#[test]
fn sides_end_with_a_benchmark_that_is_killed() {
    let _one_at_a_time = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner);
    if thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIP: it needs two CPUs");
        return;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(arguments("long")).arg("on").stdout(Stdio::null());
    let mut benchmark = Killed(command.spawn().unwrap());
    let pid = benchmark.0.id();
    let sides = eventually("both sides are there", || {
        let sides: Vec<u32> = children(pid).into_iter().map(|(pid, _)| pid).collect();
        assert!(benchmark.0.try_wait().unwrap().is_none(), "the benchmark has ended");
        (sides.len() == 2 && sides.iter().all(|pid| spins(*pid))).then_some(sides)
    });
    assert_eq!(meeting_places(pid).len(), 1);
    drop(benchmark);
    eventually("both sides have ended", || {
        sides.iter().all(|pid| fs::metadata(format!("/proc/{pid}")).is_err()).then_some(())
    });
    // What they shared goes away with the next benchmark.
    let report = again(|| pipes_between_processes(SECONDS));
    assert_eq!(report.rows.len(), 1, "{:?}", report.missing);
    assert_eq!(meeting_places(pid), [""; 0]);
}

/// A process that is killed when dropped.
struct Killed(process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process has used a tenth of a second of a CPU: it knows its window then.
fn spins(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    ticks.map(|n| n.parse::<u64>().unwrap()).sum::<u64>() >= 10
}

/// Tries until there is something.
fn eventually<T>(what: &str, mut try_it: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = try_it() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Folders in which the sides of a benchmark meet.
fn meeting_places(pid: u32) -> Vec<String> {
    let names = fs::read_dir("/dev/shm").unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(&format!("ringway-{pid}-"))).collect()
}

/// All keys of all rows, as the JSON has them.
fn assert_contract(report: &Report) {
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    for key in ["suite", "host", "kernel", "cpu", "cores", "load", "rows", "missing", "interrupted"] {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!(json["suite"], "vale");
    for row in json["rows"].as_array().unwrap() {
        let case = row["case"].as_str().unwrap();
        let systems = CASES.iter().filter(|(name, ..)| *name == case).flat_map(|(_, _, systems)| *systems);
        assert!(systems.clone().any(|system| row["system"] == *system), "{row}");
        for key in ["frame", "burst", "cores", "median", "min", "max", "runs"] {
            assert!(row[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {row}");
        }
        assert_eq!((&row["unit"], row["samples"].as_array().unwrap().len()), (&"Mpps".into(), 1), "{row}");
        assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
        let two = case == "unicast" && row["cores"] == 2;
        assert_eq!(row["variant"].is_string(), two || ["fdb", "broadcast"].contains(&case), "{row}");
        assert_eq!(row["variant"] == "2 processes", two, "{row}");
        assert_eq!(row["gbit"].is_number(), case == "size", "{row}");
    }
}
