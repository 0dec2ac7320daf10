//! Ctrl-C and SIGTERM end a suite soon, wherever it is, and nothing stays behind.
//!
//! A suite looks for the signal where it waits for traffic. It may be elsewhere: a table of a million routes is loaded, a program does not answer.
//! So a thread gives it a moment, prints what was measured, and has the process execute itself. That ends all threads and closes all
//! files, and the process keeps the id by which its leftovers are known. What begins then is `ringway bench clean-up`.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ringway_bench::suite::leftovers;
use ringway_engine::Signals;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::output::Shared;
use crate::errors;
use crate::failure::Failure;

/// How long a suite has to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// How long printing may take, where nobody reads what was printed before.
const PRINTING: Duration = Duration::from_millis(300);

/// Signals that SIGINT and SIGTERM stop. The suite that does not end then is cut short. A second signal does nothing.
pub(super) fn watch(output: Shared) -> Result<Signals, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut caught = catch(&stop)
        .map_err(|e| Failure::Other(errors::command::SYSTEM, format!("signals can't be handled: {e}")))?;
    thread::spawn(move || {
        if caught.read_exact(&mut [0]).is_ok() {
            thread::sleep(GRACE);
            cut_short(output);
        }
    });
    Ok(Signals::with_stop(stop))
}

/// Has both signals set a flag, and write a byte to what is returned.
fn catch(stop: &Arc<AtomicBool>) -> io::Result<UnixStream> {
    let (caught, tell) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, stop.clone())?;
        low_level::pipe::register(signal, tell.try_clone()?)?;
    }
    Ok(caught)
}

fn cut_short(output: Shared) {
    let (printed, over) = mpsc::channel();
    thread::spawn(move || {
        let done = output.take().cut_short();
        let _ = printed.send(done); // nobody waits for ever
    });
    if let Ok(Err(e)) = over.recv_timeout(PRINTING) {
        errors::print(e.code(), &e.to_string());
    }
    // Between here and the handlers of the program that begins, a signal would end the process.
    let ready = leftovers::shield();
    let e = ready.err().unwrap_or_else(|| Command::new("/proc/self/exe").args(["bench", "clean-up"]).exec());
    let what = "interrupted, and what was made may be left behind until the next benchmark";
    errors::print(errors::command::INTERRUPTED, &format!("{what}: {e}"));
    process::exit(1);
}

/// Deletes all that this process left outside.
pub(super) fn clean_up() {
    let _ = leftovers::shield(); // without it a second Ctrl-C may leave something behind
    leftovers::delete();
}

/// How a suite that was cut short ends.
pub(super) fn interrupted() -> Failure {
    Failure::Other(errors::command::INTERRUPTED, "interrupted: the numbers are incomplete".into())
}
