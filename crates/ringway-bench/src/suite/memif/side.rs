//! A process of Ringway that is one end of a connection, in the middle between two, or around that middle.

use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ringway::{OpenOptions, Port, time::monotonic_ns};
use ringway_engine::affinity::pin;

use super::ends::Job;
use super::loops;
use crate::peers::Traffic;
use crate::suite::Fault;
use crate::suite::window::{Window, count};

/// How often an end that has nothing to do yet looks after its connection.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// How much longer an end works than another one counts, which so never waits for the last frame.
const AFTER_NS: u64 = 50_000_000;

/// Is an end: `words` are its job, the length of frames, its CPU, and one port or two.
///
/// Says `ready` on standard error, reads when to measure from standard input, works, prints its result on standard output, and stays
/// until there is one more line on standard input.
pub(in crate::suite) fn side(words: &[String]) -> Result<(), Fault> {
    let stranger = || Fault::Failed("only a benchmark starts this".into());
    let [job, len, cpu, names @ ..] = words else { return Err(stranger()) };
    let job = Job::of_word(job).ok_or_else(stranger)?;
    let (len, cpu) = (len.parse().map_err(|_| stranger())?, cpu.parse().map_err(|_| stranger())?);
    let mut ports: Vec<Port> = match names {
        [one] => vec![Port::open(one)?],
        [a, b] => OpenOptions::new().open_all([a, b])?.into(),
        _ => return Err(stranger()),
    };
    pin(cpu)?;
    let lines = lines();
    eprintln!("ready");
    let line = await_line(&lines, &ports).ok_or_else(stranger)?;
    let window = Window::parse(&line).ok_or_else(stranger)?;
    let traffic = work(job, &mut ports, len, window)?;
    println!("{}", serde_json::to_string(&traffic).map_err(|e| Fault::Failed(e.to_string()))?);
    await_line(&lines, &ports); // none comes from a benchmark that was killed
    Ok(())
}

fn work(job: Job, ports: &mut [Port], len: usize, window: Window) -> Result<Traffic, Fault> {
    let longer = Window { end: window.end + AFTER_NS, ..window };
    let traffic = match (job, ports) {
        (Job::Send, [port]) => count(longer, len, monotonic_ns, || loops::send(&mut port.tx[0], len)),
        (Job::Take, [port]) => count(window, len, monotonic_ns, || loops::take(&mut port.rx[0])),
        (Job::Forward, [port]) => count(longer, len, monotonic_ns, || loops::turn_round(port)),
        (Job::Forward, [a, b]) => count(longer, len, monotonic_ns, || loops::pass(a, b)),
        (Job::Circulate { burst }, [port]) => {
            let frame = vec![0; len];
            (0..burst).for_each(|_| _ = port.tx[0].push(&frame));
            port.tx[0].sync()?;
            count(window, len, monotonic_ns, || loops::turn_round(port))
        }
        (Job::Around, [a, b]) => count(window, len, monotonic_ns, || {
            loops::send_untouched(&mut a.tx[0], len)?;
            loops::take(&mut b.rx[0])
        }),
        (_, ports) => return Err(Fault::Failed(format!("{job:?} has no use for {} ports", ports.len()))),
    };
    Ok(traffic?)
}

/// The lines of standard input, read by a thread of their own.
fn lines() -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

/// The next line. The connections are looked after meanwhile.
fn await_line(lines: &Receiver<String>, ports: &[Port]) -> Option<String> {
    loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => ports.iter().for_each(|port| _ = port.link_up()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Window {
        let start = monotonic_ns();
        Window { start, end: start + 2_000_000 }
    }

    #[test]
    fn each_job_moves_frames() {
        for job in [Job::Send, Job::Take] {
            let counted = work(job, &mut [Port::open("null:").unwrap()], 1514, soon()).unwrap();
            assert!(counted.packets > 0 && counted.bytes == counted.packets * 1514, "{job:?}: {counted:?}");
        }
        for job in [Job::Circulate { burst: 3 }, Job::Forward] {
            let mut port = Port::open("loop:").unwrap();
            assert!(port.tx[0].push(&[0; 60]) && port.tx[0].sync().is_ok());
            assert!(work(job, &mut [port], 60, soon()).unwrap().packets > 0, "{job:?}");
        }
        for job in [Job::Around, Job::Forward] {
            let mut ports = OpenOptions::new().open_all(["null:", "null:"]).unwrap();
            assert!(work(job, &mut ports, 60, soon()).unwrap().packets > 0, "{job:?}");
        }
        assert!(work(Job::Around, &mut [Port::open("null:").unwrap()], 60, soon()).is_err());
    }

    #[test]
    fn strangers_are_told() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        for wrong in ["send", "x 60 0 null:", "send x 0 null:", "send 60 0", "send 60 0 null: null: null:"] {
            assert_eq!(
                side(&words(wrong)),
                Err(Fault::Failed("only a benchmark starts this".into())),
                "{wrong}"
            );
        }
    }
}
