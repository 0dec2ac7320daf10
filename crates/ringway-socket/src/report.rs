//! Lines on standard error: failures that change what the program does, and on request a summary at exit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::config::Config;
use crate::sys;

/// Calls that are counted.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Call {
    Socket,
    Bind,
    Send,
    Sendmsg,
    Sendmmsg,
    Write,
    TxRing,
    Recv,
    Recvmsg,
    Recvmmsg,
    Read,
    Poll,
    Setsockopt,
    Getsockopt,
    Accept,
}

const NAMES: [&str; 15] = [
    "socket",
    "bind",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "write",
    "tx ring",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "read",
    "poll",
    "setsockopt",
    "getsockopt",
    "accept",
];

static CALLS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
static SENT: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
/// Packets of raw sockets to addresses for which nobody answered.
static UNANSWERED: AtomicU64 = AtomicU64::new(0);
static KERNEL: AtomicU64 = AtomicU64::new(0);

/// A call that was served.
#[inline]
pub(crate) fn served(call: Call) {
    CALLS[call as usize].fetch_add(1, Relaxed);
}

/// A call on a packet socket that was left to the kernel.
#[inline]
pub(crate) fn passed() {
    KERNEL.fetch_add(1, Relaxed);
}

#[inline]
pub(crate) fn frames_sent(n: u32) {
    SENT.fetch_add(n.into(), Relaxed);
}

#[inline]
pub(crate) fn frames_received(n: u32) {
    RECEIVED.fetch_add(n.into(), Relaxed);
}

/// A packet of a raw socket was lost, as nobody answered for the address that it goes to.
pub(crate) fn unanswered() {
    UNANSWERED.fetch_add(1, Relaxed);
}

/// A line on standard error.
pub(crate) fn say(line: &str) {
    sys::write_stderr(format!("ringway: {line}\n").as_bytes());
}

/// The summary, if it was asked for and there is something to tell.
pub(crate) fn finish() {
    let (passed, unanswered) = (KERNEL.load(Relaxed), UNANSWERED.load(Relaxed));
    let calls = NAMES.iter().zip(&CALLS).map(|(n, c)| (n, c.load(Relaxed))).filter(|(_, c)| *c > 0);
    let calls: Vec<String> = calls.map(|(n, c)| format!("{c} {n}")).collect();
    if !Config::get().verbose {
        return;
    }
    if unanswered > 0 {
        say(&format!("raw sockets: {unanswered} packets lost, as nobody answered for their address"));
    }
    if calls.is_empty() && passed == 0 {
        return;
    }
    let calls = if calls.is_empty() { "nothing".to_owned() } else { calls.join(", ") };
    let (sent, received) = (SENT.load(Relaxed), RECEIVED.load(Relaxed));
    say(&format!(
        "packet sockets: served {calls}; {sent} frames sent, {received} received; {passed} calls left to the kernel"
    ));
}
