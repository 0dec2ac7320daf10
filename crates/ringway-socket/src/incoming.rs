//! Calls that receive, up to the memory of the program: wait for frames, take them, say what goes with each.

use ringway_shim::ReentryGuard;
use std::ffi::c_int;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use crate::frame::{Frame, HEADER};
use crate::link;
use crate::link::{LinkState, SleeperGuard};
use crate::report;
use crate::socket::Socket;
use crate::sockets;
use crate::sys::kernel;
use crate::view::View;

/// Flags that change a receive here. Any other the kernel's socket answers: it refuses most, and `MSG_ERRQUEUE` asks for what
/// only it has.
const FLAGS: c_int = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_TRUNC;

/// What a call wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) flags: c_int,
    /// Frames at most.
    pub(crate) max: usize,
    /// Whether to sleep until there are so many.
    pub(crate) all: bool,
    /// After which no more is wanted, once there is one.
    pub(crate) until: Option<Instant>,
}

impl Wanted {
    pub(crate) fn one(flags: c_int) -> Self {
        Self { flags, max: 1, all: true, until: None }
    }
}

/// Writes a frame to the memory of the program, or says why not.
type Write<'a> = &'a mut dyn FnMut(&Frame<'_>, &View) -> Result<(), c_int>;

/// Receives frames: `write` takes each one, and ends the call where it fails. Returns how many there were. `None`: the socket
/// does not receive from a port, or its thread is inside already, or the call is the kernel's to answer.
pub(crate) fn receive(
    fd: RawFd,
    socket: &'static Socket,
    wanted: Wanted,
    write: Write<'_>,
) -> Option<Result<usize, c_int>> {
    if wanted.flags & !FLAGS != 0 {
        return None;
    }
    if let Some(code) = socket.late() {
        return Some(Err(code));
    }
    let mut call = Receive { fd, socket, wanted, sleeper: Sleeper::new(wanted.flags), done: 0 };
    // Not a socket that took the place of a closed one while this slept.
    while socket.receives() && sockets::get(fd).is_some_and(|s| std::ptr::eq(s, socket)) {
        match call.turn(write) {
            Turn::Again => {}
            Turn::Left => break,
            Turn::Ended(Ok(())) => return Some(Ok(call.done)),
            Turn::Ended(Err(code)) => return Some(call.end(code)),
        }
    }
    (call.done > 0).then_some(Ok(call.done))
}

/// A call that receives.
struct Receive {
    fd: RawFd,
    socket: &'static Socket,
    wanted: Wanted,
    sleeper: Sleeper,
    /// Frames that were written.
    done: usize,
}

/// How one turn of a call ended.
enum Turn {
    /// There may be more frames by now.
    Again,
    /// The socket does not receive from a port any more, or the thread is inside already.
    Left,
    Ended(Result<(), c_int>),
}

impl Receive {
    /// Takes the frames that are there, and sleeps until there are more, if the call wants more.
    fn turn(&mut self, write: Write<'_>) -> Turn {
        let Some(guard) = ReentryGuard::enter() else { return Turn::Left };
        let state = self.socket.state();
        let Some(inlet) = &state.inlet else { return Turn::Left };
        let (link, id) = (inlet.link.0, inlet.id);
        let (dgram, options) = (state.dgram, state.options);
        drop(state);
        let mut inner = match link.ready() {
            Ok(inner) => inner,
            Err(code) => return Turn::Ended(Err(code)),
        };
        let Some(context) = inner.receiver(id).map(|r| r.spec.context) else { return Turn::Again };
        if let Some(ended) = self.take(&mut inner, id, &View { dgram, options, context }, write) {
            return Turn::Ended(ended);
        }
        match inner.arm() {
            Ok(true) => return Turn::Again,
            Ok(false) => {}
            Err(code) => return Turn::Ended(Err(code)),
        }
        let Some(watch) = inner.receiver(id).map(|r| r.watch()) else { return Turn::Again };
        let asleep = SleeperGuard::new(link, &mut inner);
        drop(inner);
        link::flush_all();
        drop(guard);
        let slept = self.sleeper.sleep(watch);
        drop(asleep);
        slept.map_or_else(|code| Turn::Ended(Err(code)), |()| Turn::Again)
    }

    /// Writes the frames that are there. `None` when the call is to wait for more.
    fn take(
        &mut self,
        inner: &mut LinkState,
        id: u64,
        view: &View,
        write: Write<'_>,
    ) -> Option<Result<(), c_int>> {
        let (wanted, before) = (self.wanted, self.done);
        let (mut done, mut failed, mut stamp) = (before, None, Duration::ZERO);
        let leave = wanted.flags & libc::MSG_PEEK != 0;
        let took = inner.take(id, leave, &mut |frame| match write(frame, view) {
            Ok(()) => {
                (done, stamp) = (done + 1, frame.meta.stamp);
                done < wanted.max && wanted.until.is_none_or(|t| Instant::now() < t)
            }
            Err(code) => {
                failed = Some(code);
                false
            }
        });
        self.done = done;
        report::frames_received((done - before) as u32);
        if let Some(r) = inner.receiver(id).filter(|_| done > before) {
            r.received = stamp;
        }
        if let Some(code) = failed.or(took.err()) {
            return Some(Err(code));
        }
        let late = done > 0 && wanted.until.is_some_and(|t| Instant::now() >= t);
        if done == wanted.max || late || done > 0 && !wanted.all {
            return Some(Ok(()));
        }
        if done > before {
            self.sleeper.again();
        }
        self.sleeper.never(self.fd, self.socket).then_some(Err(libc::EAGAIN))
    }

    /// The result of a call that failed. One that has frames returns them, and the next call fails.
    fn end(&self, code: c_int) -> Result<usize, c_int> {
        if self.done > 0 && !matches!(code, libc::EAGAIN | libc::EINTR) {
            self.socket.set_late(code);
        }
        if self.done > 0 { Ok(self.done) } else { Err(code) }
    }
}

/// What an `ioctl` may ask about frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameQuery {
    /// Bytes of the next one, 0 for none.
    Length,
    /// The time of the last one that was received.
    Micros,
    Nanos,
}

/// The answer, in two words for a time. `None` as for [`receive`].
pub(crate) fn answer_query(socket: &Socket, what: FrameQuery) -> Option<Result<[i64; 2], c_int>> {
    let _guard = ReentryGuard::enter()?;
    let state = socket.state();
    let inlet = state.inlet.as_ref()?;
    let mut inner = match inlet.link.ready() {
        Ok(inner) => inner,
        Err(code) => return Some(Err(code)),
    };
    if what != FrameQuery::Length {
        let stamp = inner.receiver(inlet.id)?.received;
        let part = if what == FrameQuery::Micros { stamp.subsec_micros() } else { stamp.subsec_nanos() };
        let time = [stamp.as_secs() as i64, part.into()];
        return Some(if stamp.is_zero() { Err(libc::ENOENT) } else { Ok(time) });
    }
    let hidden = if state.dgram { HEADER } else { 0 };
    let mut len = 0;
    let looked = inner.take(inlet.id, true, &mut |frame| {
        len = frame.meta.snap.saturating_sub(hidden) as i64;
        false
    });
    Some(looked.map(|()| [len, 0]))
}

/// How a call waits: not at all, for a time, for ever.
#[derive(Debug)]
struct Sleeper {
    never: bool,
    asked: bool,
    until: Option<Instant>,
}

impl Sleeper {
    fn new(flags: c_int) -> Self {
        Self { never: flags & libc::MSG_DONTWAIT != 0, asked: false, until: None }
    }

    /// Another frame may take as long.
    fn again(&mut self) {
        self.asked = false;
    }

    /// Whether the call must not sleep; if it may, finds out for how long.
    fn never(&mut self, fd: RawFd, socket: &Socket) -> bool {
        if self.never || socket.nonblocking() {
            return true;
        }
        if !self.asked {
            self.asked = true;
            self.until = kernel::patience(fd).and_then(|p| Instant::now().checked_add(p));
        }
        false
    }

    fn sleep(&self, watch: RawFd) -> Result<(), c_int> {
        let left = self.until.map(|t| t.saturating_duration_since(Instant::now()));
        if left.is_some_and(|l| l.is_zero()) {
            return Err(libc::EAGAIN);
        }
        match kernel::sleep_on(watch, left) {
            Err(libc::EINTR) if self.until.is_none() && kernel::restarts() => Ok(()),
            Err(code) => Err(code),
            Ok(_) => Ok(()),
        }
    }
}
