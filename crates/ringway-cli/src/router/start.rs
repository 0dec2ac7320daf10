//! The process of a router: made or taken over, in the background or in the foreground.
//!
//! A command that is to leave a process behind runs itself again, with `--foreground --report`. The child makes the router,
//! writes one line of JSON to its standard output, and goes on in a session of its own; what it says later goes to the log.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringway::ErrorKind;
use ringway::switch::is_router;
use ringway_router::follow::{Engine, Files, Options, Server};
use ringway_router::kernel::{Router, Spec};
use rustix::stdio;
use serde_json::{Value, json};

use crate::console::{Console, note};
use crate::failure::Failure;
use crate::stop;
use crate::units::utc;

/// Options that a child has and its parent has not.
const CHILD: [&str; 2] = ["--foreground", "--report"];

/// A log longer than this is begun anew.
const LOG: u64 = 1 << 20;

/// Runs the process until it is told to stop. `report`: it is a child whose parent waits for a word.
pub(crate) fn run(
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
            std::io::stdout().write_all(format!("{}\n", json!({ "error": e.to_string() })).as_bytes())?;
            return Ok(());
        }
        Err(e) => return Err(e),
    };
    let told = if signals.stopped() {
        Err(Failure::Other(format!("{name}: interrupted")))
    } else {
        tell(&object, report, console)
    };
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
            "{name}: the process ended; its router stays until `ringway vale del {name}`, and the kernel forwards 3 s from now"
        ));
    }
    Ok(())
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
        return Err(Failure::Other(format!(
            "{name}: {what}; leave out --tables, --groups and --budget, or remove it first (`ringway vale del {name}`)"
        )));
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

/// Makes the router. How it was started is noted before: whoever goes on after a process that was killed amid it starts alike.
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
        json!({ "arguments": own, "directory": env::current_dir().ok(), "bpffs": ringway::switch::root() });
    Ok(files.write_setup(&format!("{setup}\n"))?)
}

/// Tells parent, systemd or people that it is ready.
fn tell(object: &Value, report: bool, console: Console) -> Result<(), Failure> {
    notify();
    if !report {
        return announce(object, console);
    }
    let mut out = std::io::stdout();
    out.write_all(format!("{}\n", json!({ "ok": object })).as_bytes())?;
    out.flush()?;
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

/// Runs this command again as a process in the background, and waits until its router is ready. Without options of its own (`plain`) it
/// goes on with a router as that was started the time before.
pub(crate) fn in_background(name: &str, plain: bool, console: Console) -> Result<(), Failure> {
    let left = plain && Router::open(name).is_ok_and(|router| router.health().controller.is_none());
    let object = match left.then(|| kept(name)).and_then(Result::ok) {
        Some((arguments, setup)) => spawn(name, &arguments, &setup)?,
        None => spawn(name, &env::args_os().skip(1).collect::<Vec<_>>(), &Value::Null)?,
    };
    announce(&object, console)
}

/// Starts the process of a router again, as it was started the time before.
pub(crate) fn again(name: &str) -> Result<(), Failure> {
    let (arguments, setup) = kept(name)?;
    spawn(name, &arguments, &setup).map(drop)
}

/// How the process of a router was started.
fn kept(name: &str) -> Result<(Vec<OsString>, Value), Failure> {
    let files = Files::of(name)?;
    let lost = || {
        let setup = files.setup();
        let what =
            format!("{name}: how its process was started is not known: {} is missing", setup.display());
        Failure::Other(format!("{what}; `ringway vale add {name} --module router` goes on with it"))
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
fn spawn(name: &str, arguments: &[OsString], setup: &Value) -> Result<Value, Failure> {
    let files = Files::of(name)?;
    let failed = |what: &str, e| Failure::Other(format!("{name}: {what} failed: {e}"));
    let (log, new) = files.open_log()?;
    shorten(&log).map_err(|e| failed("beginning its log anew", e))?;
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
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        let heard = showing_progress(name, || BufReader::new(out).read_line(&mut line));
        heard.map_err(|e| failed("hearing of its process", e))?;
    }
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    match (said["error"].as_str(), said["ok"].clone()) {
        (Some(why), _) => {
            let _ = child.wait();
            if new && !is_router(name) {
                files.remove_log(); // there is nothing in it that is not told here
            }
            Err(Failure::Other(why.to_owned()))
        }
        (None, Value::Null) => {
            let _ = child.wait();
            Err(Failure::Other(format!("{name}: its process ended; {} tells why", files.log().display())))
        }
        (None, ok) => Ok(ok),
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

fn shorten(log: &File) -> std::io::Result<()> {
    if log.metadata()?.len() > LOG {
        log.set_len(0)?; // a process that has it open writes on at its end
    }
    Ok(())
}

/// Says what was made.
fn announce(object: &Value, console: Console) -> Result<(), Failure> {
    let name = object["name"].as_str().unwrap_or("?");
    let list = |key: &str| {
        object[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>()
    };
    for warning in list("warnings") {
        note(&format!("ringway: {warning}; the kernel forwards what comes in there"));
    }
    let done = if object["taken_over"] == true { "taken over" } else { "made" };
    let text =
        format!("{name}: router {done}, process {}; members {}", object["pid"], list("members").join(" "));
    console.result(&text, object)?;
    Ok(())
}
