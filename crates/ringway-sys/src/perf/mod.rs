//! Events that sample a thread or a CPU (perf_event_open(2)).
//!
//! | module | holds |
//! | --- | --- |
//! | [`ring`] | the ring in which the kernel leaves records |
//! | [`record`] | the records |
//! | [`own`] | timers of own threads, where the kernel lets a process have no events |

pub mod own;
pub mod record;
pub mod ring;

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::fd::check;
use ring::Ring;

/// What an event counts, and so what a sample stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Cycles of the core, by a hardware counter.
    Cycles,
    /// Nanoseconds of a CPU, by a timer of the kernel.
    CpuClock,
}

/// How an event samples.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What it counts.
    pub counts: Counts,
    /// Samples a second.
    pub frequency: u32,
    /// Whether it samples the kernel too. That needs CAP_PERFMON, or kernel.perf_event_paranoid below 2.
    pub kernel: bool,
    /// Whether threads and processes that the thread makes later count as the thread itself.
    pub inherit: bool,
    /// Whether it starts when the thread executes a program, and not by [`Event::enable`].
    pub on_exec: bool,
}

/// What an event counted so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Cycles or nanoseconds, as [`Counts`] says.
    pub count: u64,
    /// Nanoseconds that the thread ran while the event counted; of an event of a CPU all nanoseconds.
    pub ns: u64,
}

/// An event, which stops when it is dropped.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// Opens an event of one thread on one CPU, or of all that runs on the CPU. It does not count yet.
    ///
    /// # Errors
    /// What the kernel says: `EACCES` or `EPERM` without the right, `ENOENT` without such a counter, `ESRCH` for a thread that is gone.
    pub fn open(settings: &Settings, thread: Option<i32>, cpu: u32) -> io::Result<Self> {
        let attr = Attr::new(settings);
        let (thread, cpu) = (thread.unwrap_or(-1), cpu as i32);
        // SAFETY: `attr` has the size that it says, and lives across the call.
        let fd =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, thread, cpu, -1, CLOEXEC) };
        let fd = check(fd as i32)?;
        // SAFETY: the call just made this descriptor.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Maps a ring for the records of this event: a control page and `pages` pages of data, a power of two.
    ///
    /// # Errors
    /// What the kernel says: `EPERM` where the process may not lock so much memory.
    pub fn ring(&self, pages: usize) -> io::Result<Ring> {
        Ring::map(self.0.as_fd(), pages)
    }

    /// Has the records of this event go to the ring of another event on the same CPU.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn redirect(&self, to: &Self) -> io::Result<()> {
        self.control(SET_OUTPUT, to.0.as_raw_fd() as usize)
    }

    /// Starts counting.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn enable(&self) -> io::Result<()> {
        self.control(ENABLE, 0)
    }

    /// Stops counting.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn disable(&self) -> io::Result<()> {
        self.control(DISABLE, 0)
    }

    /// What it counted, children included where it inherits.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counted(&self) -> io::Result<Counted> {
        let mut file = std::fs::File::from(self.0.try_clone()?);
        let mut bytes = [0; 24];
        let read = file.read(&mut bytes)?;
        if read < bytes.len() {
            return Ok(Counted::default());
        }
        let word = |at: usize| bytes[at..at + 8].iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        Ok(Counted { count: word(0), ns: word(16) })
    }

    fn control(&self, request: u64, argument: usize) -> io::Result<()> {
        // SAFETY: these requests take a number, and no memory.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument) }).map(drop)
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The first 112 bytes of `struct perf_event_attr`, which all kernels since 4.1 know (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint: u32,
    rest: [u64; 7],
}

impl Attr {
    fn new(of: &Settings) -> Self {
        let (kind, config) = match of.counts {
            Counts::Cycles => (0, 0),
            Counts::CpuClock => (1, 0),
        };
        let chosen = [
            (of.inherit, INHERIT),
            (!of.kernel, EXCLUDE_KERNEL | EXCLUDE_CALLCHAIN_KERNEL),
            (of.kernel, KSYMBOL),
            (of.on_exec, ENABLE_ON_EXEC),
        ];
        let chosen = chosen.iter().filter(|(on, _)| *on).fold(0, |all, (_, flag)| all | flag);
        Self {
            kind,
            size: size_of::<Self>() as u32,
            config,
            frequency: of.frequency.into(),
            sample_type: record::SAMPLE_TYPE,
            read_format: TIME_ENABLED | TIME_RUNNING,
            flags: DISABLED | EXCLUDE_HV | FREQ | MMAP | MMAP2 | COMM | COMM_EXEC | TASK | WATERMARK | chosen,
            wakeup_watermark: WAKEUP_BYTES,
            ..Self::default()
        }
    }
}

/// So many bytes in a ring wake its reader.
const WAKEUP_BYTES: u32 = 64 << 10;

// linux/perf_event.h.
const CLOEXEC: u64 = 8;
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;
const SET_OUTPUT: u64 = 0x2405;
const TIME_ENABLED: u64 = 1;
const TIME_RUNNING: u64 = 2;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const FREQ: u64 = 1 << 10;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const EXCLUDE_CALLCHAIN_KERNEL: u64 = 1 << 21;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const KSYMBOL: u64 = 1 << 29;

#[cfg(test)]
mod tests {
    use super::record::Record;
    use super::*;

    #[test]
    fn the_kernel_samples_this_thread() {
        let settings = Settings {
            counts: Counts::CpuClock,
            frequency: 4999,
            kernel: false,
            inherit: false,
            on_exec: false,
        };
        let events: Vec<Event> = match (0..cpus()).map(|cpu| Event::open(&settings, Some(0), cpu)).collect() {
            Ok(events) => events,
            Err(e) => return eprintln!("SKIP: this process may not sample itself: {e}"),
        };
        let mut rings: Vec<Ring> = events.iter().map(|e| e.ring(8).unwrap()).collect();
        events.iter().for_each(|e| e.enable().unwrap());
        let (mut samples, mut bytes, mut spun) = (0, Vec::new(), 0u64);
        while samples < 20 {
            (0..100_000).for_each(|n| spun = std::hint::black_box(spun ^ n));
            for ring in &mut rings {
                bytes.clear();
                ring.take(&mut bytes);
                samples += record::records(&bytes)
                    .filter(|r| matches!(r, Record::Sample(s) if !s.chain.is_empty()))
                    .count();
            }
        }
        events.iter().for_each(|e| e.disable().unwrap());
        let ns: u64 = events.iter().map(|e| e.counted().unwrap().ns).sum();
        assert!(ns > 1_000_000, "{samples} samples in {ns} ns");
    }

    fn cpus() -> u32 {
        // SAFETY: no pointers are passed.
        unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) as u32 }
    }
}
