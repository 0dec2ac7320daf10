//! A running peer: started, listened to, signalled, reaped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::{PeerError, PeerResult, Traffic, sys};

// A program may be kept from running on a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(30);
/// Exit code of our programs when the kernel lacks what they need (`peer.h`).
const EXIT_UNAVAILABLE: i32 = 77;
/// Exit code of the dynamic loader when it does not find a library.
const EXIT_NO_LIBRARY: i32 = 127;

/// How to read what a program prints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    /// Is this the line, on stdout or stderr, that says the program is set up?
    pub(super) ready: fn(&str) -> bool,
    /// The result in its stdout.
    pub(super) result: fn(&[String]) -> Option<PeerResult>,
    /// Does this line of stderr say best why it failed? The last line stands in.
    pub(super) complaint: fn(&str) -> bool,
}

/// Of the programs in `peers/`.
pub(super) const OWN_PROTOCOL: Protocol = Protocol {
    ready: |line| line == "ready",
    result: |out| serde_json::from_str(out.last()?).ok(),
    complaint: |_| false,
};

/// A running peer. Dropping it kills the process.
///
/// The process also gets SIGTERM when the thread that spawned it ends: keep that thread while the peer is needed.
#[derive(Debug)]
pub struct Peer {
    name: String,
    child: Child,
    protocol: Protocol,
    lines: Receiver<Line>,
    out: Vec<String>,
    err: Vec<String>,
}

#[derive(Debug)]
enum Line {
    Out(String),
    Err(String),
}

impl Peer {
    /// Starts `command` in a network namespace and waits until it is set up.
    pub(super) fn start(
        name: String,
        command: Command,
        netns: Option<&str>,
        protocol: Protocol,
    ) -> Result<Self, PeerError> {
        let mut peer = Self::launch(name, command, netns, protocol)?;
        peer.await_ready()?;
        Ok(peer)
    }

    /// Starts a program of others in a network namespace, and waits for the line that says that it is set up if there is one.
    /// It has no result, only [words](Self::end).
    pub(crate) fn program(
        name: &str,
        command: Command,
        netns: &str,
        ready: Option<fn(&str) -> bool>,
    ) -> Result<Self, PeerError> {
        let protocol = Protocol { ready: ready.unwrap_or(|_| true), result: |_| None, complaint: |_| false };
        let mut peer = Self::launch(name.to_owned(), command, Some(netns), protocol)?;
        if ready.is_some() {
            peer.await_ready()?;
        }
        Ok(peer)
    }

    fn launch(
        name: String,
        mut command: Command,
        netns: Option<&str>,
        protocol: Protocol,
    ) -> Result<Self, PeerError> {
        sys::confine(&mut command, netns.map(open_netns).transpose()?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|source| PeerError::Os { action: "start of a peer", source })?;
        let (sender, lines) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            listen(out, sender.clone(), Line::Out);
        }
        if let Some(err) = child.stderr.take() {
            listen(err, sender, Line::Err);
        }
        Ok(Self { name, child, protocol, lines, out: Vec::new(), err: Vec::new() })
    }

    /// The peer's name, such as `peer-pcap`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for a peer that ends by itself: `tx`, `rx`, `flood`, `ping`. Any other is waited for until something
    /// else ends it; use [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// Why the peer has no result.
    pub fn finish(mut self) -> Result<PeerResult, PeerError> {
        while let Ok(line) = self.lines.recv() {
            self.keep(line);
        }
        self.conclude()
    }

    /// Ends a peer with SIGTERM and takes its result. Kills it after 30 s.
    ///
    /// # Errors
    ///
    /// Why the peer has no result.
    pub fn stop(mut self) -> Result<PeerResult, PeerError> {
        self.terminate()?;
        self.conclude()
    }

    /// Ends a program of others with SIGTERM, and returns what it said on standard error. Kills it after 30 s.
    ///
    /// A program that has ended by itself has failed.
    pub(crate) fn end(mut self) -> Result<Vec<String>, PeerError> {
        let ended = self.child.try_wait().map_err(|source| PeerError::Os { action: "wait", source })?;
        self.terminate()?;
        self.reap()?;
        match ended {
            Some(status) => Err(self.failure(status)),
            None => Ok(std::mem::take(&mut self.err)),
        }
    }

    /// Sends SIGTERM and keeps what the peer says until it closes its output.
    fn terminate(&mut self) -> Result<(), PeerError> {
        self.signal(libc::SIGTERM)?;
        let end = Instant::now() + STOP_LIMIT;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.keep(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => return Err(self.timeout(STOP_LIMIT)), // and drop kills
            }
        }
    }

    /// The counts so far of `peer-xdp` `sink`, `sink-skb`, `pass` or `redirect`, which goes on. For a rate take
    /// [`Traffic::since`] of two of them.
    ///
    /// # Errors
    ///
    /// [`PeerError::Timeout`] if the peer is none of these.
    pub fn snapshot(&mut self) -> Result<Traffic, PeerError> {
        self.signal(libc::SIGUSR1)?;
        let end = Instant::now() + SNAPSHOT_LIMIT;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            let answer = matches!(line, Line::Out(_));
            self.keep(line);
            if let (true, Some(PeerResult::Traffic(traffic))) = (answer, (self.protocol.result)(&self.out)) {
                return Ok(traffic);
            }
        }
        Err(self.timeout(SNAPSHOT_LIMIT))
    }

    /// Writes a line to the peer's standard input.
    pub(crate) fn tell(&mut self, line: &str) -> Result<(), PeerError> {
        let Some(stdin) = &mut self.child.stdin else { return Ok(()) };
        writeln!(stdin, "{line}").map_err(|source| PeerError::Os { action: "write to a peer", source })
    }

    /// The same, and waits for a line on its stdout that `answer` understands.
    pub(super) fn ask<T>(
        &mut self,
        question: &str,
        answer: impl Fn(&str) -> Option<T>,
    ) -> Result<T, PeerError> {
        self.tell(question)?;
        let end = Instant::now() + ANSWER_LIMIT;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let answered = if let Line::Out(text) = &line { answer(text) } else { None };
                    self.keep(line);
                    if let Some(answered) = answered {
                        return Ok(answered);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.reap()?;
                    return Err(self.failure(status));
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.timeout(ANSWER_LIMIT)),
            }
        }
    }

    /// The first line with `words` on stderr so far.
    pub(super) fn heard(&self, words: &str) -> Option<&str> {
        self.err.iter().find(|line| line.contains(words)).map(String::as_str)
    }

    /// Has a line with `words` come on stdout so far?
    pub(super) fn said(&self, words: &str) -> bool {
        self.out.iter().any(|line| line.contains(words))
    }

    /// What the peer says is wrong.
    pub(super) fn complaint(&self) -> Option<&str> {
        let best = self.err.iter().find(|line| (self.protocol.complaint)(line));
        let last = || self.err.iter().chain(&self.out).rfind(|line| !line.trim().is_empty());
        best.or_else(last).map(String::as_str)
    }

    fn await_ready(&mut self) -> Result<(), PeerError> {
        let end = Instant::now() + READY_LIMIT;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Line::Out(text) | Line::Err(text)) if (self.protocol.ready)(&text) => return Ok(()),
                Ok(line) => self.keep(line),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.reap()?;
                    return Err(self.failure(status));
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.timeout(READY_LIMIT)),
            }
        }
    }

    /// The result of a process whose output has ended.
    fn conclude(mut self) -> Result<PeerResult, PeerError> {
        let status = self.reap()?;
        let result = if status.success() { (self.protocol.result)(&self.out) } else { None };
        result.ok_or_else(|| self.failure(status))
    }

    fn failure(&self, status: ExitStatus) -> PeerError {
        let peer = self.name.clone();
        let words = self.complaint().map(str::to_owned);
        let message = words.unwrap_or_else(|| format!("ended with {status} and without a word"));
        match status.code() {
            Some(EXIT_UNAVAILABLE | EXIT_NO_LIBRARY) => PeerError::Unavailable { peer, reason: message },
            _ => PeerError::Failed { peer, message },
        }
    }

    fn timeout(&self, limit: Duration) -> PeerError {
        PeerError::Timeout { peer: self.name.clone(), limit }
    }

    fn signal(&mut self, signal: libc::c_int) -> Result<(), PeerError> {
        sys::signal(&mut self.child, signal).map_err(|source| PeerError::Os { action: "kill", source })
    }

    fn reap(&mut self) -> Result<ExitStatus, PeerError> {
        self.child.wait().map_err(|source| PeerError::Os { action: "wait", source })
    }

    fn keep(&mut self, line: Line) {
        match line {
            Line::Out(text) => self.out.push(text),
            Line::Err(text) => self.err.push(text),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // an error means that it has ended
        let _ = self.child.wait();
    }
}

fn open_netns(name: &str) -> Result<File, PeerError> {
    File::open(Path::new("/run/netns").join(name))
        .map_err(|source| PeerError::Netns { name: name.to_owned(), source })
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

    fn shell(script: &str) -> Result<Peer, PeerError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Peer::start("peer-sh".into(), command, None, OWN_PROTOCOL)
    }

    const LINE: &str = r#"{"packets":1,"bytes":60,"seconds":1.0,"drops":0,"total_packets":1}"#;

    #[test]
    fn the_last_line_is_the_result() {
        let peer = shell(&format!("echo ready >&2; echo '{LINE}'")).unwrap();
        assert_eq!(peer.finish().unwrap().traffic().unwrap().packets, 1);
    }

    #[test]
    fn set_up_errors_are_the_peers_words() {
        let error = shell("echo no interface x >&2; exit 1").unwrap_err();
        assert_eq!(error.to_string(), "peer-sh: no interface x");
        assert!(!error.is_unavailable());
    }

    #[test]
    fn a_missing_library_is_unavailable() {
        let words = "error while loading shared libraries: libpcap.so.0.8";
        let error = shell(&format!("echo {words} >&2; exit 127")).unwrap_err();
        assert!(error.is_unavailable());
        assert_eq!(error.to_string(), format!("peer-sh is not available: {words}"));
    }

    #[test]
    fn stop_sends_sigterm() {
        let peer = shell(&format!(
            "trap \"echo '{}'; exit 0\" TERM; echo ready >&2; while :; do sleep 0.01; done",
            LINE.replace('"', "\\\"")
        ))
        .unwrap();
        assert_eq!(peer.stop().unwrap().traffic().unwrap().bytes, 60);
    }

    #[test]
    fn words_of_programs_are_kept() {
        let (lab, script) = (
            ringway_lab::Lab::new(),
            "trap 'echo 7 seen >&2; exit' TERM; echo set up >&2; while :; do sleep 0.01; done",
        );
        let Ok(lab) = lab else { return eprintln!("SKIP: namespaces need root; run these tests with sudo") };
        let start = |script: &str, ready| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Peer::program("sh", command, lab.name(), ready)
        };
        let is_set_up: fn(&str) -> bool = |line| line == "set up";
        assert_eq!(start(script, Some(is_set_up)).unwrap().end().unwrap(), ["7 seen"]);
        let mut gone = start("echo no luck >&2", None).unwrap();
        while gone.child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(gone.end().unwrap_err().to_string(), "sh: no luck");
    }

    #[test]
    fn questions_are_answered() {
        let mut peer =
            shell("echo ready >&2; while read q; do echo noise; echo \"you said $q\"; done").unwrap();
        let said = |text: &str| text.strip_prefix("you said ").map(str::to_owned);
        assert_eq!(peer.ask("one", said).unwrap(), "one");
        assert_eq!(peer.ask("two", said).unwrap(), "two");
        let mut mute = shell("echo ready >&2; read q; echo not in the mood >&2; exit 1").unwrap();
        assert_eq!(mute.ask("well?", said).unwrap_err().to_string(), "peer-sh: not in the mood");
    }

    #[test]
    fn an_end_without_a_result_is_an_error() {
        let peer = shell("echo ready >&2; echo nonsense").unwrap();
        assert_eq!(peer.finish().unwrap_err().to_string(), "peer-sh: nonsense");
    }

    #[test]
    fn an_unknown_namespace_is_named() {
        let error =
            Peer::start("x".into(), Command::new("true"), Some("rwp-none"), OWN_PROTOCOL).unwrap_err();
        assert_eq!(error.to_string(), "cannot open network namespace rwp-none");
    }
}
