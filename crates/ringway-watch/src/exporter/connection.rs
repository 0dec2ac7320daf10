//! One client: it asks, is answered, and leaves.
//!
//! ```text
//!  asking (bytes of the request) -> answering (bytes of the answer) -> leaving (until the client closes too)
//! ```
//!
//! All of that has one time limit, which nothing that the client does makes longer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::door::Door;
use super::http::{self, Answer, MAX_REQUEST};

/// How long a client may take, from its connection to its end.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// How much of what a client still sends after its answer is read, so that the answer is not lost by a reset.
const MAX_DISCARDED: usize = 1 << 20;

/// Bytes read at once.
const CHUNK: usize = 4096;

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    phase: Phase,
    /// When it is closed, whatever it does.
    pub(super) deadline: Instant,
}

#[derive(Debug)]
enum Phase {
    Asking(Vec<u8>),
    Answering(Rc<[u8]>, usize),
    Leaving(usize),
}

/// What came of an attempt to go on.
enum Step {
    /// Another may do more.
    Again,
    /// Nothing more can be done now.
    Wait,
    /// The connection is done with.
    Done,
}

impl Connection {
    /// A client that has just come.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, phase: Phase::Asking(Vec::new()), deadline: Instant::now() + LIMIT })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether it waits to send; else it waits to receive.
    pub(super) fn sends(&self) -> bool {
        matches!(self.phase, Phase::Answering(..))
    }

    /// Does what can be done without waiting; false when the connection is done with. `door` says whom
    /// to answer, and `respond` makes the bytes of an answer.
    pub(super) fn advance(&mut self, door: &Door, mut respond: impl FnMut(Answer) -> Rc<[u8]>) -> bool {
        loop {
            let step = match self.phase {
                Phase::Asking(_) => self.ask(door, &mut respond),
                Phase::Answering(..) => self.answer(),
                Phase::Leaving(_) => self.leave(),
            };
            match step {
                Ok(Step::Again) => {}
                Ok(Step::Wait) => return true,
                Ok(Step::Done) => return false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    fn ask(&mut self, door: &Door, respond: &mut impl FnMut(Answer) -> Rc<[u8]>) -> io::Result<Step> {
        let Phase::Asking(request) = &mut self.phase else { return Ok(Step::Again) };
        let mut chunk = [0; CHUNK];
        let room = CHUNK.min(MAX_REQUEST - request.len());
        let n = self.stream.read(&mut chunk[..room])?;
        if n == 0 {
            return Ok(Step::Done);
        }
        let seen = request.len();
        request.extend_from_slice(&chunk[..n]);
        if let Some(answer) = http::answer(request, seen, door) {
            self.phase = Phase::Answering(respond(answer), 0);
        }
        Ok(Step::Again)
    }

    fn answer(&mut self) -> io::Result<Step> {
        let Phase::Answering(bytes, sent) = &mut self.phase else { return Ok(Step::Again) };
        *sent += self.stream.write(&bytes[*sent..])?;
        if *sent == bytes.len() {
            self.stream.shutdown(Shutdown::Write)?;
            self.phase = Phase::Leaving(0);
        }
        Ok(Step::Again)
    }

    /// Reads on, a piece at a time so that others have their turn: closing with bytes unread would reset the connection,
    /// and the client might not see its answer.
    fn leave(&mut self) -> io::Result<Step> {
        let Phase::Leaving(discarded) = &mut self.phase else { return Ok(Step::Again) };
        let n = self.stream.read(&mut [0; CHUNK])?;
        *discarded += n;
        Ok(if n == 0 || *discarded > MAX_DISCARDED { Step::Done } else { Step::Wait })
    }
}
