//! The control socket: root asks, the engine answers, one line each. Neither a slow client nor many of them hold the engine up.

use std::io::{ErrorKind as Io, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use ringway::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use serde_json::json;

use super::Files;
use super::engine::Engine;
use super::protocol::{LINE, Request};

/// Clients at a time; others wait to be accepted.
const CLIENTS: usize = 16;

/// How long a client may say and read nothing.
const IDLE: Duration = Duration::from_secs(30);

/// The control socket of a router's process.
///
/// ```no_run
/// use ringway_router::follow::{Engine, Files, Options, Server};
/// use ringway_router::kernel::Spec;
/// let (mut engine, _) = Engine::create("vale0", &Spec::default(), &Options::default())?;
/// let mut server = Server::open("vale0", &Files::of("vale0")?)?;
/// loop {
///     server.wait(&engine);
///     engine.turn()?;
///     server.serve(&mut engine);
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    clients: Vec<Client>,
    files: Files,
}

#[derive(Debug)]
pub(super) struct Client {
    stream: UnixStream,
    /// A question, as far as it has come.
    line: Vec<u8>,
    /// What is left to be sent of the answer.
    answer: Vec<u8>,
    heard: Instant,
}

impl Server {
    /// Listens. Only the process that controls the router may: a socket of an earlier one is removed.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(name: &str, files: &Files) -> Result<Self> {
        let listener = files.listen()?;
        let io = |e| Error::io(name, format!("listening at {} failed", files.socket().display()), e);
        listener.set_nonblocking(true).map_err(io)?;
        Ok(Self { listener, clients: Vec::new(), files: files.clone() })
    }

    /// Waits until the kernel told something or somebody asks, as long as the engine says at most.
    pub fn wait(&self, engine: &Engine) {
        let mut fds = Vec::with_capacity(2 + self.clients.len());
        if engine.listens() {
            fds.push(PollFd::new(engine, PollFlags::IN));
        }
        if self.clients.len() < CLIENTS {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let wish = |c: &Client| if c.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT };
        fds.extend(self.clients.iter().map(|c| PollFd::new(c, wish(c))));
        let wait = Timespec::try_from(engine.wait()).unwrap_or_default();
        let _ = poll(&mut fds, Some(&wait)); // whatever it says, all are looked at
    }

    /// Accepts clients, takes questions and sends answers, as far as that does not wait.
    pub fn serve(&mut self, engine: &mut Engine) {
        while self.clients.len() < CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            let root = sockopt::socket_peercred(&stream).is_ok_and(|who| who.uid.is_root());
            if root && stream.set_nonblocking(true).is_ok() {
                self.clients.push(client(stream));
            }
        }
        self.clients.retain_mut(|client| client.turn(engine));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.files.remove_socket(); // of no use without us
    }
}

/// A client that has said nothing.
pub(super) fn client(stream: UnixStream) -> Client {
    Client { stream, line: Vec::new(), answer: Vec::new(), heard: Instant::now() }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Client {
    /// Whether it stays.
    fn turn(&mut self, engine: &mut Engine) -> bool {
        let moved = self.send().and_then(|()| self.take());
        let Ok(asked) = moved else { return false };
        if let Some(line) = asked {
            let mut answer = match serde_json::from_slice::<Request>(&line) {
                Ok(request) => engine.answer(&request),
                Err(e) => json!({ "error": format!("that is no question: {e}") }),
            }
            .to_string();
            answer.push('\n');
            self.answer = answer.into_bytes();
            self.heard = Instant::now();
            return self.send().is_ok();
        }
        self.heard.elapsed() < IDLE
    }

    fn send(&mut self) -> std::io::Result<()> {
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(n) => {
                    self.answer.drain(..n);
                    self.heard = Instant::now();
                }
                Err(e) if e.kind() == Io::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The next question, when it is whole and the answer before is sent.
    pub(super) fn take(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        if !self.answer.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; LINE];
        loop {
            if let Some(end) = self.line.iter().position(|b| *b == b'\n') {
                let rest = self.line.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.line, rest)));
            }
            if self.line.len() > LINE {
                return Err(Io::InvalidData.into());
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(Io::UnexpectedEof.into()),
                Ok(n) => self.line.extend(&bytes[..n]),
                Err(e) if e.kind() == Io::WouldBlock => return Ok(None),
                Err(e) => return Err(e),
            }
        }
    }
}
