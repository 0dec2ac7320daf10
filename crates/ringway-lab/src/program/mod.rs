//! Programs that run beside a measurement: started, listened to, signalled, reaped.

mod children;
mod error;
pub mod testpmd;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use crate::sys::confine;
pub use children::children;
pub use error::ProgramError;

// A program may be kept from running on a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Exit code of a program whose machine lacks what the program needs.
const EXIT_UNAVAILABLE: i32 = 77;
/// Exit code of the dynamic loader when it does not find a library.
const EXIT_NO_LIBRARY: i32 = 127;

/// How to read the lines that a program prints.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// Whether this line, on standard output or error, says that the program is set up.
    pub ready: fn(&str) -> bool,
    /// Whether this line of standard error says best why the program failed. Without one the last line does.
    pub complaint: fn(&str) -> bool,
}

impl Signs {
    /// Lines that say nothing of the kind.
    pub const NONE: Self = Self { ready: |_| false, complaint: |_| false };
}

/// A running program. Dropping it kills the process.
///
/// The process also gets SIGTERM when the thread that started it ends: keep that thread while the program is needed.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    signs: Signs,
    lines: Receiver<Line>,
    out: Vec<String>,
    err: Vec<String>,
}

#[derive(Debug)]
enum Line {
    Out(String),
    Err(String),
}

impl Program {
    /// Starts `command` in a network namespace, by default the caller's, and waits until the program is set up.
    ///
    /// # Errors
    ///
    /// Why the program could not be set up.
    pub fn start(
        name: &str,
        command: Command,
        netns: Option<&str>,
        signs: Signs,
    ) -> Result<Self, ProgramError> {
        let mut program = Self::launch(name, command, netns, signs)?;
        program.await_ready()?;
        Ok(program)
    }

    /// Starts `command` without waiting for a line that says that it is set up.
    ///
    /// # Errors
    ///
    /// When the system starts no process, or does not open the namespace.
    pub fn launch(
        name: &str,
        mut command: Command,
        netns: Option<&str>,
        signs: Signs,
    ) -> Result<Self, ProgramError> {
        confine(&mut command, netns.map(open_netns).transpose()?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|source| ProgramError::Os { action: "start of a program", source })?;
        let (sender, lines) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            listen(out, sender.clone(), Line::Out);
        }
        if let Some(err) = child.stderr.take() {
            listen(err, sender, Line::Err);
        }
        Ok(Self { name: name.to_owned(), child, signs, lines, out: Vec::new(), err: Vec::new() })
    }

    /// The program's name, as its errors have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Keeps all lines until the program closes its output.
    pub fn hear_out(&mut self) {
        while let Ok(line) = self.lines.recv() {
            self.keep(line);
        }
    }

    /// Sends SIGTERM and keeps all lines until the program closes its output.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Timeout`] after 30 s.
    pub fn terminate(&mut self) -> Result<(), ProgramError> {
        self.signal(Signal::SIGTERM)?;
        let end = Instant::now() + STOP_LIMIT;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.keep(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => return Err(self.timeout(STOP_LIMIT)), // and drop kills
            }
        }
    }

    /// Ends the program with SIGTERM, and returns its lines on standard error. Kills it after 30 s.
    ///
    /// # Errors
    ///
    /// When the program has ended by itself before: it has failed.
    pub fn end(mut self) -> Result<Vec<String>, ProgramError> {
        let ended = self.child.try_wait().map_err(|source| ProgramError::Os { action: "wait", source })?;
        self.terminate()?;
        self.reap()?;
        match ended {
            Some(status) => Err(self.failure(status)),
            None => Ok(std::mem::take(&mut self.err)),
        }
    }

    /// Writes a line to the program's standard input.
    ///
    /// # Errors
    ///
    /// When the program reads no more.
    pub fn tell(&mut self, line: &str) -> Result<(), ProgramError> {
        let Some(stdin) = &mut self.child.stdin else { return Ok(()) };
        writeln!(stdin, "{line}").map_err(|source| ProgramError::Os { action: "write to a program", source })
    }

    /// Writes a line to the program's standard input, and waits for a line of its standard output that `answer` understands.
    ///
    /// # Errors
    ///
    /// When the program ends, or says no such line within 30 s.
    pub fn ask<T>(
        &mut self,
        question: &str,
        answer: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, ProgramError> {
        self.tell(question)?;
        self.await_output(answer)
    }

    /// Sends a signal, and waits for a line of the program's standard output that `answer` understands.
    ///
    /// # Errors
    ///
    /// When the program ends, or says no such line within 30 s.
    pub fn ask_by_signal<T>(
        &mut self,
        signal: Signal,
        answer: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, ProgramError> {
        self.signal(signal)?;
        self.await_output(answer)
    }

    /// The first line with `words` on standard error so far.
    pub fn heard(&self, words: &str) -> Option<&str> {
        self.err.iter().find(|line| line.contains(words)).map(String::as_str)
    }

    /// The lines of standard output so far.
    pub fn output(&self) -> &[String] {
        &self.out
    }

    /// What the program says is wrong.
    pub fn complaint(&self) -> Option<&str> {
        let best = self.err.iter().find(|line| (self.signs.complaint)(line));
        let last = || self.err.iter().chain(&self.out).rfind(|line| !line.trim().is_empty());
        best.or_else(last).map(String::as_str)
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn reap(&mut self) -> Result<ExitStatus, ProgramError> {
        self.child.wait().map_err(|source| ProgramError::Os { action: "wait", source })
    }

    /// The error of a program that ended like this, in its own words.
    pub fn failure(&self, status: ExitStatus) -> ProgramError {
        let program = self.name.clone();
        let words = self.complaint().map(str::to_owned);
        let message = words.unwrap_or_else(|| format!("ended with {status} and without a word"));
        match status.code() {
            Some(EXIT_UNAVAILABLE | EXIT_NO_LIBRARY) => {
                ProgramError::Unavailable { program, reason: message }
            }
            _ => ProgramError::Failed { program, message },
        }
    }

    fn await_ready(&mut self) -> Result<(), ProgramError> {
        let ready = self.signs.ready;
        let is_ready = |line: &Line| match line {
            Line::Out(text) | Line::Err(text) => ready(text).then_some(()),
        };
        self.await_answer(is_ready, READY_LIMIT)
    }

    fn await_output<T>(&mut self, mut answer: impl FnMut(&str) -> Option<T>) -> Result<T, ProgramError> {
        self.await_answer(|line| if let Line::Out(text) = line { answer(text) } else { None }, ANSWER_LIMIT)
    }

    /// Keeps all lines before the one that `answer` understands.
    fn await_answer<T>(
        &mut self,
        mut answer: impl FnMut(&Line) -> Option<T>,
        limit: Duration,
    ) -> Result<T, ProgramError> {
        let end = Instant::now() + limit;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => match answer(&line) {
                    Some(answer) => return Ok(answer),
                    None => self.keep(line),
                },
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.reap()?;
                    return Err(self.failure(status));
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.timeout(limit)),
            }
        }
    }

    fn timeout(&self, limit: Duration) -> ProgramError {
        ProgramError::Timeout { program: self.name.clone(), limit }
    }

    fn signal(&mut self, which: Signal) -> Result<(), ProgramError> {
        signal(&mut self.child, which).map_err(|source| ProgramError::Os { action: "kill", source })
    }

    fn keep(&mut self, line: Line) {
        match line {
            Line::Out(text) => self.out.push(text),
            Line::Err(text) => self.err.push(text),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // an error means that it has ended
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child that has not been waited for; does nothing if the child has ended.
///
/// # Errors
///
/// What the system said.
pub fn signal(child: &mut Child, signal: Signal) -> io::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    // Until somebody waits for the child, no other process can have its id.
    Ok(kill(Pid::from_raw(child.id().cast_signed()), signal)?)
}

fn open_netns(name: &str) -> Result<File, ProgramError> {
    File::open(Path::new("/run/netns").join(name))
        .map_err(|source| ProgramError::Netns { name: name.to_owned(), source })
}

/// Passes the lines of a pipe on until it is closed.
fn listen(pipe: impl Read + Send + 'static, lines: Sender<Line>, as_line: fn(String) -> Line) {
    thread::spawn(move || {
        for text in BufReader::new(pipe).lines().map_while(Result::ok) {
            if lines.send(as_line(text)).is_err() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNS: Signs = Signs { ready: |line| line == "ready", complaint: |_| false };

    fn shell(script: &str) -> Result<Program, ProgramError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start("sh", command, None, SIGNS)
    }

    #[test]
    fn set_up_errors_are_the_programs_words() {
        let error = shell("echo no interface x >&2; exit 1").unwrap_err();
        assert_eq!(error.to_string(), "sh: no interface x");
        assert!(!error.is_unavailable());
    }

    #[test]
    fn a_missing_library_is_unavailable() {
        let words = "error while loading shared libraries: libpcap.so.0.8";
        let error = shell(&format!("echo {words} >&2; exit 127")).unwrap_err();
        assert!(error.is_unavailable());
        assert_eq!(error.to_string(), format!("sh is not available: {words}"));
    }

    #[test]
    fn words_of_programs_are_kept() {
        let (lab, script) = (
            crate::Lab::new(),
            "trap 'echo 7 seen >&2; exit' TERM; echo set up >&2; while :; do sleep 0.01; done",
        );
        let Ok(lab) = lab else { return eprintln!("SKIP: namespaces need root; run these tests with sudo") };
        let command = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let signs = Signs { ready: |line| line == "set up", complaint: |_| false };
        let started = Program::start("sh", command(script), Some(lab.name()), signs).unwrap();
        assert_eq!(started.end().unwrap(), ["7 seen"]);
        let mut gone = Program::launch("sh", command("echo no luck >&2"), Some(lab.name()), signs).unwrap();
        while gone.child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(gone.end().unwrap_err().to_string(), "sh: no luck");
    }

    #[test]
    fn questions_are_answered() {
        let mut program =
            shell("echo ready >&2; while read q; do echo noise; echo \"you said $q\"; done").unwrap();
        let said = |text: &str| text.strip_prefix("you said ").map(str::to_owned);
        assert_eq!(program.ask("one", said).unwrap(), "one");
        assert_eq!(program.ask("two", said).unwrap(), "two");
        let mut mute = shell("echo ready >&2; read q; echo not in the mood >&2; exit 1").unwrap();
        assert_eq!(mute.ask("well?", said).unwrap_err().to_string(), "sh: not in the mood");
    }

    #[test]
    fn an_unknown_namespace_is_named() {
        let error = Program::start("x", Command::new("true"), Some("rwp-none"), SIGNS).unwrap_err();
        assert_eq!(error.to_string(), "cannot open network namespace rwp-none");
    }
}
