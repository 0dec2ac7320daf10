//! The two FIFOs between Wireshark's toolbar and a capture.
//!
//! Wireshark makes them, starts the capture, and opens the FIFO to the capture for writing, which waits for the capture. The other FIFO
//! it opens for reading, at any time. Therefore the capture opens the first one at once, without waiting, and the second one when it
//! has a reader.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::message::{Broken, Message, Parser, encode};
use crate::errors::files;
use crate::failure::Failure;

/// Bytes that wait for the toolbar at most. More are dropped: nobody reads.
const MOST_WAITING: usize = 256 * 1024;

/// Bytes that are read at once.
const CHUNK: usize = 4096;

/// Rights that a FIFO may not give: others write to it.
const TOO_OPEN: u32 = 0o022;

/// How often it looks for a reader of the FIFO to the toolbar.
const RETRY: Duration = Duration::from_millis(20);

/// The toolbar closed a FIFO, or one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// Both FIFOs, open.
#[derive(Debug)]
pub(super) struct Link {
    from: File,
    parser: Parser,
    /// What came is no message: the rest is of no use.
    pub(super) broken: bool,
    to: Outlet,
    /// Whole messages, but for the first one, of which a part may have gone.
    waiting: Vec<u8>,
}

/// The FIFO to the toolbar.
#[derive(Debug)]
enum Outlet {
    /// Found and looked at. It has no reader yet.
    Found(File),
    Open(File),
}

impl Link {
    /// Opens the FIFOs that the toolbar writes to and reads from.
    pub(super) fn open(from: &Path, to: &Path) -> Result<Self, Failure> {
        let from = fifo(from, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let to = Outlet::Found(fifo(to, OFlags::PATH)?);
        Ok(Self { from, parser: Parser::default(), broken: false, to, waiting: Vec::new() })
    }

    /// Sends a message, now or when there is room.
    pub(super) fn send(&mut self, control: u8, command: u8, text: &str) {
        let bytes = encode(control, command, text);
        if self.waiting.len() + bytes.len() <= MOST_WAITING {
            self.waiting.extend(bytes);
        }
    }

    /// Waits for `period` at most, sends what waits, and takes the messages that came.
    pub(super) fn exchange(&mut self, period: Duration, messages: &mut Vec<Message>) -> Result<(), Closed> {
        self.reach();
        let period = if matches!(self.to, Outlet::Found(_)) { period.min(RETRY) } else { period };
        let readable = self.wait(period)?;
        self.write()?;
        if readable { self.read(messages) } else { Ok(()) }
    }

    /// Opens the FIFO to the toolbar, if that reads.
    fn reach(&mut self) {
        let Outlet::Found(found) = &self.to else { return };
        let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
        let again = format!("/proc/self/fd/{}", found.as_raw_fd());
        let opened = OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(again);
        if let Ok(open) = opened {
            self.to = Outlet::Open(open);
        }
    }

    /// Sleeps until a message comes, there is room for one that waits, or a FIFO is closed. Whether there is something to read.
    fn wait(&self, period: Duration) -> Result<bool, Closed> {
        let mut fds = vec![PollFd::new(&self.from, PollFlags::IN)];
        if let Outlet::Open(to) = &self.to {
            let wish = if self.waiting.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            fds.push(PollFd::new(to, wish));
        }
        match poll(&mut fds, Timespec::try_from(period).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Closed),
        }
        let unread = fds.get(1).is_some_and(|to| to.revents().contains(PollFlags::ERR));
        // Before the toolbar has opened it, there is no hang-up.
        let (readable, left) = (PollFlags::IN, PollFlags::HUP);
        match fds[0].revents() {
            _ if unread => Err(Closed),
            from if from.contains(readable) => Ok(true),
            from if from.contains(left) => Err(Closed),
            _ => Ok(false),
        }
    }

    fn write(&mut self) -> Result<(), Closed> {
        let Outlet::Open(to) = &mut self.to else { return Ok(()) };
        while !self.waiting.is_empty() {
            match to.write(&self.waiting) {
                Ok(sent) => drop(self.waiting.drain(..sent)),
                Err(e) if later(&e) => return Ok(()),
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    /// One piece. The toolbar has no more to say at once, and a stranger has no claim to more.
    fn read(&mut self, messages: &mut Vec<Message>) -> Result<(), Closed> {
        let mut chunk = [0; CHUNK];
        match self.from.read(&mut chunk) {
            Ok(len) => {
                let fed = self.parser.feed(&chunk[..len], |message| messages.push(message));
                self.broken = fed == Err(Broken);
                Ok(())
            }
            Err(e) if later(&e) => Ok(()),
            Err(_) => Err(Closed),
        }
    }
}

/// Whether a FIFO is full or empty, which passes.
fn later(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Opens a FIFO. A link instead of it is refused. Root or the process' user has to own it, and nobody else may write to it.
fn fifo(path: &Path, flags: OFlags) -> Result<File, Failure> {
    let on = path.display();
    let refused = |what: String| Failure::Other(files::UNREADABLE, format!("{on}: {what}"));
    let opened = open(path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).map_err(|e| {
        refused(format!("opening the FIFO failed: {e}; Wireshark makes it, or `mkfifo` one of your own"))
    })?;
    let file = File::from(opened);
    let is = file.metadata().map_err(|e| refused(format!("looking at the FIFO failed: {e}")))?;
    if !is.file_type().is_fifo() {
        return Err(refused("it is no FIFO; name one that `mkfifo` made".into()));
    }
    let own = nix::unistd::geteuid().as_raw();
    if is.uid() != 0 && is.uid() != own {
        let what = format!("it belongs to user {}; run Wireshark as the user that captures", is.uid());
        return Err(refused(what));
    }
    if is.mode() & TOO_OPEN != 0 {
        let mode = is.mode() & 0o7777;
        return Err(refused(format!("other users can write to it: it has mode {mode:04o}; `chmod 600` it")));
    }
    Ok(file)
}
