//! A router's process in the background: started, heard of until it is ready, and started again as it was before.

use std::env;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway::pinned::is_router;
use ringway_router::follow::Files;
use ringway_router::kernel::Router;
use serde_json::Value;

use crate::bounded_log::shorten;
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::handover::{self, Said};

/// Options that a child has and its parent has not.
pub(super) const CHILD: [&str; 2] = ["--foreground", "--report"];

/// Runs this command again as a process in the background, and waits until its router is ready. Without options of its own (`plain`) it
/// goes on with a router as that was started the time before.
pub(super) fn start(name: &str, plain: bool, console: Console) -> Result<(), Failure> {
    let left = plain && Router::open(name).is_ok_and(|router| router.health().controller.is_none());
    let object = match left.then(|| kept(name)).and_then(Result::ok) {
        Some((arguments, setup)) => spawn(name, &arguments, &setup)?,
        None => spawn(name, &env::args_os().skip(1).collect::<Vec<_>>(), &Value::Null)?,
    };
    announce(&object, console)
}

/// Starts the process of a router again, as it was started the time before.
pub(super) fn again(name: &str) -> Result<(), Failure> {
    let (arguments, setup) = kept(name)?;
    spawn(name, &arguments, &setup).map(drop)
}

/// How the process of a router was started.
pub(super) fn kept(name: &str) -> Result<(Vec<OsString>, Value), Failure> {
    let files = Files::of(name)?;
    let lost = || {
        let setup = files.setup();
        let what =
            format!("{name}: how its process was started is not known: {} is missing", setup.display());
        Failure::Other(
            errors::switches::SETUP_LOST,
            format!("{what}; `ringway router add {name}` goes on with it"),
        )
    };
    let setup = files.read_setup().map_err(|e| match e.kind() {
        ErrorKind::Denied => Failure::from(e),
        _ => lost(),
    })?;
    let setup: Value = serde_json::from_str(&setup).map_err(|_| lost())?;
    let arguments = setup["arguments"].as_array().ok_or_else(lost)?;
    let arguments = arguments.iter().filter_map(|a| a.as_str().map(OsString::from)).collect();
    Ok((arguments, setup))
}

/// Starts the process, where and as `setup` says; what it says when it is ready.
pub(super) fn spawn(name: &str, arguments: &[OsString], setup: &Value) -> Result<Value, Failure> {
    let files = Files::of(name)?;
    let failed =
        |what: &str, e| Failure::Other(errors::processes::NOT_STARTED, format!("{name}: {what} failed: {e}"));
    let (log, new) = files.open_log()?;
    shorten(&log).map_err(|e| failed("emptying its log", e))?;
    let exe = env::current_exe().map_err(|e| failed("finding the ringway command", e))?;
    let mut command = Command::new(exe);
    command.args(arguments).args(CHILD).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    if let Some(dir) = setup["bpffs"].as_str() {
        command.env("RINGWAY_BPFFS", dir);
    }
    if let Some(dir) = setup["directory"].as_str() {
        command.current_dir(dir);
    }
    let mut child = command.spawn().map_err(|e| failed("starting its process", e))?;
    let heard = match child.stdout.take() {
        Some(out) => {
            showing_progress(name, || handover::hear(out)).map_err(|e| failed("hearing of its process", e))?
        }
        None => Said::Nothing,
    };
    match heard {
        Said::Ready(made) => Ok(made),
        Said::Failed(why) => {
            let _ = child.wait();
            if new && !is_router(name) {
                files.remove_log(); // all that it has is said here
            }
            Err(why)
        }
        Said::Nothing => {
            let _ = child.wait();
            Err(Failure::Other(
                errors::processes::BACKGROUND,
                format!("{name}: its process ended; {} says why", files.log().display()),
            ))
        }
    }
}

/// How often a wait is noted.
const NOTED: Duration = Duration::from_secs(1);

/// Waits, and says each second what for.
fn showing_progress<T>(name: &str, wait: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Nothing is ever sent: the channel closes when the wait is over.
        let (over, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            let start = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(NOTED) {
                let seconds = start.elapsed().as_secs();
                note(&format!("{name}: reads the kernel's routes and neighbours, {seconds} s"));
            }
        });
        let ended = wait();
        drop(over);
        ended
    })
}

/// Says what was made.
pub(super) fn announce(object: &Value, console: Console) -> Result<(), Failure> {
    let name = object["name"].as_str().unwrap_or("?");
    warn(object);
    let done = if object["taken_over"] == true { "taken over" } else { "made" };
    let text = format!(
        "{name}: router {done}, process {}; members {}",
        object["pid"],
        list(object, "members").join(" ")
    );
    console.result(&text, object)?;
    Ok(())
}

/// Says which interfaces are no members, and why.
pub(super) fn warn(object: &Value) {
    for warning in list(object, "warnings") {
        note(&format!("ringway: {warning}; the kernel forwards what comes in there"));
    }
}

fn list<'a>(object: &'a Value, key: &str) -> Vec<&'a str> {
    object[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
