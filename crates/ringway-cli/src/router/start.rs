//! The process of a router: made or taken over, in the background or in the foreground.
//!
//! A command that is to leave a process behind runs itself again, with `--foreground --report` (`background`). The child makes
//! the router, and writes one line of JSON to its standard output. It goes on in a session of its own, and writes to the log.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::SystemTime;

use ringway::pinned::is_router;
use ringway_router::follow::{Engine, Files, Options, Server};
use ringway_router::kernel::{Router, Spec};
use rustix::stdio;
use serde_json::{Value, json};

use super::background::{CHILD, announce};
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::units::utc;
use crate::{handover, stop};

/// Runs the process until Ctrl-C or SIGTERM. `report`: it is a child whose parent waits for a word.
pub(super) fn run(
    name: &str,
    spec: &Spec,
    options: &Options,
    report: bool,
    console: Console,
) -> Result<(), Failure> {
    let files = Files::of(name)?;
    if report {
        // a session of its own, which no terminal ends; fails only where it has one
        let _ = nix::unistd::setsid();
    }
    let signals = stop::signals()?;
    let (mut engine, mut server, object) = match begin(name, spec, options, &files) {
        Ok(begun) => begun,
        Err(e) if report => {
            handover::say_failure(&e)?;
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let told = if signals.stopped() { interrupted(name, report) } else { tell(&object, report, console) };
    if told.is_err() && object["taken_over"] == false {
        // nobody knows of it, or wants it any more
        drop(server);
        engine.delete()?;
        files.remove();
        return told;
    }
    while !signals.stopped() {
        server.wait(&engine);
        engine.turn()?;
        server.serve(&mut engine);
        engine.notes().iter().for_each(|line| log(line, report));
    }
    files.remove_pid(); // nobody reads it any more
    if !report {
        note(&format!(
            "{name}: the process ended; its router stays until `ringway router del {name}`, and the kernel forwards 3 s from now"
        ));
    }
    Ok(())
}

/// A signal came before anybody heard of the router.
fn interrupted(name: &str, report: bool) -> Result<(), Failure> {
    let why = Failure::Other(errors::command::INTERRUPTED, format!("{name}: interrupted"));
    if report {
        // A parent that does not listen any more changes nothing.
        let _ = handover::say_failure(&why);
    }
    Err(why)
}

/// A line of the log, with the time; systemd has times of its own.
fn log(line: &str, timed: bool) {
    note(&if timed { format!("{} {line}", utc(SystemTime::now())) } else { line.to_owned() });
}

/// Makes the router, or takes it over from a process that died, and says what was done.
fn begin(
    name: &str,
    spec: &Spec,
    options: &Options,
    files: &Files,
) -> Result<(Engine, Server, Value), Failure> {
    let left = Router::open(name).ok().filter(|router| router.health().controller.is_none());
    let orphan = left.is_some();
    if left.is_some_and(|router| *spec != Spec::default() && *spec != router.spec()) {
        let what = "the router that is there has other sizes or budgets, which stay as they were made";
        return Err(Failure::Other(
            errors::switches::OTHER_SIZES,
            format!(
                "{name}: {what}; leave out --tables, --groups and --budget, or remove it first (`ringway router del {name}`)"
            ),
        ));
    }
    let (engine, warnings) = match orphan {
        true => Engine::take_over(name, options)?,
        false => create(name, spec, options, files)?,
    };
    let listening = Server::open(name, files).map_err(Failure::from).and_then(|server| {
        keep(files)?;
        files.write_pid()?;
        Ok(server)
    });
    let server = match listening {
        Ok(server) => server,
        Err(e) if orphan => return Err(e),
        Err(e) => {
            engine.delete()?;
            files.remove();
            return Err(e);
        }
    };
    let members: Vec<_> = engine.router().members().into_iter().map(|m| m.name).collect();
    let object = json!({
        "name": name,
        "pid": std::process::id(),
        "taken_over": orphan,
        "members": members,
        "warnings": warnings,
    });
    Ok((engine, server, object))
}

/// Makes the router. How it was started is noted before: after a process that was killed meanwhile, the next one starts alike.
fn create(
    name: &str,
    spec: &Spec,
    options: &Options,
    files: &Files,
) -> Result<(Engine, Vec<String>), Failure> {
    if !is_router(name) {
        files.make_directory()?;
        keep(files)?;
    }
    let made = Engine::create(name, spec, options);
    if made.is_err() && !is_router(name) {
        files.remove();
    }
    Ok(made?)
}

/// Notes how it was started.
fn keep(files: &Files) -> Result<(), Failure> {
    let arguments = env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let own: Vec<_> = arguments.filter(|arg| !CHILD.contains(&arg.as_str())).collect();
    let setup =
        json!({ "arguments": own, "directory": env::current_dir().ok(), "bpffs": ringway::pinned::root() });
    Ok(files.write_setup(&format!("{setup}\n"))?)
}

/// Tells parent, systemd or people that it is ready.
fn tell(object: &Value, report: bool, console: Console) -> Result<(), Failure> {
    notify();
    if !report {
        return announce(object, console);
    }
    handover::say_ready(object)?;
    // the parent's pipe ends here: standard error is the log
    stdio::dup2_stdout(stdio::stderr()).map_err(|e| Failure::Output(e.into()))
}

/// sd_notify(3), for services of `Type=notify`.
fn notify() {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else { return };
    let to = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    // where nobody listens, nobody waits
    let _ = to.and_then(|to| UnixDatagram::unbound()?.send_to_addr(b"READY=1", &to));
}
