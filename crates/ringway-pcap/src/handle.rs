//! A handle for a port of Ringway: what `pcap_create` makes, before and after `pcap_activate`.
//!
//! Thread-safety: one thread reads at a time and one sends at a time, and both may be different ones; others wait. All else, and
//! `break_loop` from a signal handler, goes at any time.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ringway::{ErrorKind, filter::Insn};
use ringway_shim::Inside;

use crate::devices::{self, Target};
use crate::filter::Program;
use crate::live::{Copies, Live};
use crate::status::{self, ErrorText};
use crate::types::{MAX_SNAPLEN, MICRO, NANO, Stat, TSTAMP_HOST, status as code};
use crate::{sys, tally};

/// What the setters set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {
    pub(crate) snaplen: c_int,
    pub(crate) promisc: bool,
    pub(crate) rfmon: bool,
    /// Milliseconds.
    pub(crate) timeout: c_int,
    pub(crate) buffer: c_int,
    pub(crate) precision: c_int,
    pub(crate) nonblock: bool,
}

pub(crate) struct Handle {
    target: Target,
    /// What is open already, for copies.
    ready: Mutex<Option<Copies>>,
    pub(crate) text: ErrorText,
    config: Mutex<Config>,
    live: OnceLock<Arc<Live>>,
    /// `pcap_breakloop` came, maybe before `pcap_activate`.
    break_ordered: AtomicBool,
}

impl Handle {
    /// A handle for what stands for a device; `None` for a device of the system library.
    ///
    /// Whether an interface can be copied shows when it is tried, so that is done at once: the system library has a handle for
    /// those that can't, for want of a right or of the driver's support.
    pub(crate) fn for_device(device: &str) -> Option<Self> {
        let target = devices::target(device)?;
        let ready = match &target {
            Target::Port(_) => None,
            Target::Copies(interface) => match unserved(|| Copies::open(interface)) {
                Ok(copies) => Some(copies),
                Err(e) => {
                    sys::tell(&format!("ringway: {device} is served by the system's libpcap: {e}"));
                    return None;
                }
            },
        };
        let config = Config { precision: MICRO, ..Config::default() };
        let (config, ready) = (Mutex::new(config), Mutex::new(ready));
        let (live, break_ordered) = (OnceLock::new(), AtomicBool::new(false));
        Some(Self { target, ready, text: ErrorText::new(), config, live, break_ordered })
    }

    /// Opens the port; 0 or the status to return, with its text set.
    pub(crate) fn activate(&self) -> c_int {
        if self.live.get().is_some() {
            return self.refuse_active();
        }
        let config = *self.config();
        if config.rfmon {
            self.text.set("That device doesn't support monitor mode");
            return code::RFMON_NOTSUP;
        }
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        match unserved(|| Live::open(&self.target, ready, &config)) {
            Ok(live) => {
                // Two activations at once: the second one's port was busy, or is closed here.
                let _ = self.live.set(live);
                self.break_as_ordered();
                tally::OPENED.add(1);
                0
            }
            Err(e) => {
                tally::REFUSED.add(1);
                self.text.set(&e.to_string());
                if e.kind() == ErrorKind::Denied && e.to_string().contains("promiscuous") {
                    return code::PROMISC_PERM_DENIED;
                }
                status::of(e.kind())
            }
        }
    }

    /// What an active handle has; else the status, with its text set.
    pub(crate) fn live(&self) -> Result<&Live, c_int> {
        self.live.get().map(|live| &**live).ok_or_else(|| {
            self.text.set("This handle hasn't been activated yet");
            code::NOT_ACTIVATED
        })
    }

    /// The same for functions that leave the text as it is.
    pub(crate) fn live_or_status(&self) -> Result<&Live, c_int> {
        self.live.get().map(|live| &**live).ok_or(code::NOT_ACTIVATED)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.live.get().is_some()
    }

    /// Ends the read that goes on, or the next one, if the handle is yet to be activated too. Safe in a signal handler.
    pub(crate) fn break_loop(&self) {
        self.break_ordered.store(true, SeqCst);
        self.break_as_ordered();
    }

    fn break_as_ordered(&self) {
        if let Some(live) = self.live.get()
            && self.break_ordered.swap(false, SeqCst)
        {
            live.break_loop();
        }
    }

    /// Changes what only an inactive handle lets change.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut Config)) -> c_int {
        if self.is_active() {
            return self.refuse_active();
        }
        change(&mut self.config());
        0
    }

    pub(crate) fn refuse_active(&self) -> c_int {
        self.text.set("can't perform  operation on activated capture");
        code::ACTIVATED
    }

    pub(crate) fn set_precision(&self, precision: c_int) -> c_int {
        match precision {
            _ if self.is_active() => self.refuse_active(),
            MICRO | NANO => self.configure(|c| c.precision = precision),
            _ => code::PRECISION_NOTSUP,
        }
    }

    /// Whether reads wait; before the handle is activated as it will be then.
    pub(crate) fn set_nonblock(&self, on: bool) {
        match self.live.get() {
            Some(live) => live.nonblock.store(on, Relaxed),
            None => self.config().nonblock = on,
        }
    }

    pub(crate) fn nonblock(&self) -> Result<bool, c_int> {
        self.live().map(|live| live.nonblock.load(Relaxed))
    }

    pub(crate) fn precision(&self) -> c_int {
        self.config().precision
    }

    pub(crate) fn set_tstamp_type(&self, kind: c_int) -> c_int {
        match kind {
            _ if self.is_active() => self.refuse_active(),
            TSTAMP_HOST => 0,
            _ => code::WARNING_TSTAMP_TYPE,
        }
    }

    fn config(&self) -> MutexGuard<'_, Config> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The status for a failure, with its text set.
    pub(crate) fn fail(&self, text: &str) -> c_int {
        self.text.set(text);
        code::ERROR
    }

    pub(crate) fn set_filter(&self, insns: &[Insn]) -> c_int {
        let live = match self.live() {
            Ok(live) => live,
            Err(status) => return status,
        };
        match Program::new(insns) {
            Some(program) => {
                live.set_filter(Arc::new(program));
                0
            }
            None => self.fail("BPF program is not valid"),
        }
    }

    pub(crate) fn stats(&self) -> Result<Stat, c_int> {
        Ok(self.live()?.stats())
    }
}

/// Runs `open` so that nobody serves the packet sockets that it makes for itself.
fn unserved<R>(open: impl FnOnce() -> R) -> R {
    let _inside = Inside::enter();
    open()
}

/// The snapshot length in effect: what makes no sense is the maximum.
pub(crate) fn snaplen(asked: c_int) -> u32 {
    u32::try_from(asked).ok().filter(|s| (1..=MAX_SNAPLEN).contains(s)).unwrap_or(MAX_SNAPLEN)
}
