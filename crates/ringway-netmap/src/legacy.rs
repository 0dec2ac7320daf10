//! Requests of older programs: 60 bytes for everything, by `NIOCREGIF` and `NIOCGINFO`.

use std::ops::Range;

use crate::memory::{CallerMemory, Errno};
use crate::numbers::{API, Kind, Mode, OLDEST_LEGACY, flag};
use crate::request::fixed_name;

/// Bytes of such a request.
pub const SIZE: usize = 60;

/// Offsets in it.
mod at {
    use std::ops::Range;

    pub(super) const NAME: Range<usize> = 0..16;
    pub(super) const VERSION: Range<usize> = 16..20;
    pub(super) const OFFSET: Range<usize> = 20..24;
    pub(super) const MEMSIZE: Range<usize> = 24..28;
    /// Slots, of tx and rx, then rings: what the newer request has in the same order.
    pub(super) const SLOTS: Range<usize> = 28..36;
    pub(super) const RINGS: Range<usize> = 36..40;
    pub(super) const RINGID: Range<usize> = 40..42;
    pub(super) const COMMAND: Range<usize> = 42..44;
    pub(super) const ARG1: Range<usize> = 44..46;
    pub(super) const MEM_ID: Range<usize> = 46..48;
    pub(super) const EXTRA_BUFS: Range<usize> = 48..52;
    pub(super) const FLAGS: Range<usize> = 52..56;
}

/// Bits of `nr_ringid` beside the number.
mod ringid {
    pub(super) const NUMBER: u32 = 0xfff;
    pub(super) const NO_TX_POLL: u32 = 0x1000;
    pub(super) const HOST: u32 = 0x2000;
    pub(super) const ONE: u32 = 0x4000;
    pub(super) const DO_RX_POLL: u32 = 0x8000;
}

/// Bits of `nr_flags` that are the mode.
const MODE: u32 = 0xf;

/// Offsets in the body of a registration.
mod body {
    use std::ops::Range;

    pub(super) const OFFSET: Range<usize> = 0..8;
    pub(super) const MEMSIZE: Range<usize> = 8..16;
    pub(super) const SLOTS: Range<usize> = 16..24;
    pub(super) const RINGS: Range<usize> = 24..28;
    pub(super) const MEM_ID: Range<usize> = 32..34;
    pub(super) const RINGID: Range<usize> = 34..36;
    pub(super) const MODE: Range<usize> = 36..40;
    pub(super) const EXTRA_BUFS: Range<usize> = 40..44;
    pub(super) const FLAGS: Range<usize> = 48..56;
}

/// Offsets in the body of a question about a port.
mod info {
    use std::ops::Range;

    pub(super) const MEMSIZE: Range<usize> = 0..8;
    pub(super) const SLOTS: Range<usize> = 8..16;
    pub(super) const RINGS: Range<usize> = 16..20;
    pub(super) const MEM_ID: Range<usize> = 24..26;
}

/// The ioctl by which a legacy request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `NIOCREGIF`: its command says what is to be done.
    Register,
    /// `NIOCGINFO`: asks about a port, or lists ports of switches.
    Info,
}

/// What a legacy request asks, in the terms of the newer ones.
#[derive(Debug)]
pub struct Legacy {
    /// What it is for: what its ioctl and its command say.
    pub kind: Kind,
    /// The name of a port. A number of a pipe stands in it, as in newer names: `eth0{7`. [`finish`](Self::finish) copies another one back.
    pub name: Vec<u8>,
    /// The body of the newer request. [`finish`](Self::finish) translates it back.
    pub body: Vec<u8>,
    asked: Vec<u8>,
    bytes: [u8; SIZE],
    at: u64,
}

impl Legacy {
    /// Copies in what is at `at`.
    ///
    /// # Errors
    /// `EFAULT` for a pointer that leads nowhere. `EINVAL` for a version below 14, an unknown mode, and an unknown command. `EOPNOTSUPP`
    /// for commands that netmap itself gave up.
    pub fn copy_in(memory: &impl CallerMemory, at: u64, call: Call) -> Result<Self, Errno> {
        let mut bytes = [0; SIZE];
        memory.read(at, &mut bytes)?;
        if number(&bytes, at::VERSION) < OLDEST_LEGACY {
            return Err(Errno(libc::EINVAL));
        }
        let kind = match (call, number(&bytes, at::COMMAND)) {
            (Call::Info, LIST) => Kind::ValeList,
            (Call::Info, _) => Kind::PortInfoGet,
            (Call::Register, command) => kind(command)?,
        };
        let mut name = bytes[at::NAME].split(|b| *b == 0).next().unwrap_or_default().to_vec();
        let mut body = vec![0; kind.body_size()];
        match kind {
            Kind::Register => fill_register(&bytes, &mut name, &mut body)?,
            Kind::ValeAttach => fill_attach(&bytes, &mut body),
            Kind::PortInfoGet => body[info::MEM_ID].copy_from_slice(&bytes[at::MEM_ID]),
            Kind::ValeNewif => {
                body[..8].copy_from_slice(&bytes[at::SLOTS]);
                body[8..12].copy_from_slice(&bytes[at::RINGS]);
                body[12..14].copy_from_slice(&bytes[at::MEM_ID]);
            }
            Kind::PortHdrSet => body[..2].copy_from_slice(&bytes[at::ARG1]),
            Kind::ValeList => {
                body[..2].copy_from_slice(&bytes[at::ARG1]);
                body[4..6].copy_from_slice(&bytes[at::MEM_ID]);
            }
            _ => {}
        }
        Ok(Self { kind, asked: name.clone(), name, body, bytes, at })
    }

    /// Copies the answer back, when the request was done: what a registration made, or what was asked.
    ///
    /// # Errors
    /// That of `done`; `EFAULT` when the program's memory went away.
    pub fn finish(mut self, memory: &mut impl CallerMemory, done: Result<(), Errno>) -> Result<(), Errno> {
        done?;
        let (bytes, body) = (&mut self.bytes, &self.body);
        bytes[at::VERSION].copy_from_slice(&API.to_ne_bytes());
        if self.name != self.asked {
            bytes[at::NAME].copy_from_slice(&fixed_name::<{ at::NAME.end - at::NAME.start }>(&self.name));
        }
        match self.kind {
            Kind::Register => {
                // Only half of these words fits.
                bytes[at::OFFSET].copy_from_slice(&(long(body, body::OFFSET) as u32).to_ne_bytes());
                bytes[at::MEMSIZE].copy_from_slice(&(long(body, body::MEMSIZE) as u32).to_ne_bytes());
                bytes[at::SLOTS].copy_from_slice(&body[body::SLOTS]);
                bytes[at::RINGS].copy_from_slice(&body[body::RINGS]);
                bytes[at::MEM_ID].copy_from_slice(&body[body::MEM_ID]);
                bytes[at::EXTRA_BUFS].copy_from_slice(&body[body::EXTRA_BUFS]);
            }
            Kind::PortInfoGet => {
                bytes[at::MEMSIZE].copy_from_slice(&(long(body, info::MEMSIZE) as u32).to_ne_bytes());
                bytes[at::SLOTS].copy_from_slice(&body[info::SLOTS]);
                bytes[at::RINGS].copy_from_slice(&body[info::RINGS]);
                bytes[at::MEM_ID].copy_from_slice(&body[info::MEM_ID]);
            }
            Kind::ValeNewif => {
                bytes[at::SLOTS].copy_from_slice(&body[..8]);
                bytes[at::RINGS].copy_from_slice(&body[8..12]);
                bytes[at::MEM_ID].copy_from_slice(&body[12..14]);
            }
            Kind::PortHdrGet => bytes[at::ARG1].copy_from_slice(&body[..2]),
            Kind::ValeList => {
                bytes[at::ARG1].copy_from_slice(&body[..2]);
                bytes[at::MEM_ID].copy_from_slice(&body[4..6]);
            }
            _ => {}
        }
        memory.write(self.at, &self.bytes).map_err(Errno::from)
    }
}

/// The command that lists ports of switches.
const LIST: u32 = 4;

/// The kind of a command.
fn kind(command: u32) -> Result<Kind, Errno> {
    Ok(match command {
        0 => Kind::Register,
        1 => Kind::ValeAttach,
        2 => Kind::ValeDetach,
        LIST => Kind::ValeList,
        5 => Kind::PortHdrSet,
        6 => Kind::ValeNewif,
        7 => Kind::ValeDelif,
        8 | 9 => return Err(Errno(libc::EOPNOTSUPP)),
        10 => Kind::ValePollingEnable,
        11 => Kind::ValePollingDisable,
        12 => Kind::PortHdrGet,
        _ => return Err(Errno(libc::EINVAL)),
    })
}

fn fill_register(bytes: &[u8; SIZE], name: &mut Vec<u8>, to: &mut [u8]) -> Result<(), Errno> {
    let (ring, flags) = (number(bytes, at::RINGID), number(bytes, at::FLAGS));
    let mut mode = Mode::of(flags & MODE).ok_or(Errno(libc::EINVAL))?;
    if mode == Mode::Default {
        mode = match (ring & ringid::HOST != 0, ring & ringid::ONE != 0) {
            (true, _) => Mode::Host,
            (false, true) => Mode::OneNic,
            (false, false) => Mode::AllNic,
        };
    }
    let mut number = ring & ringid::NUMBER;
    if let Mode::PipeMaster | Mode::PipeSlave = mode {
        name.push(if mode == Mode::PipeMaster { b'{' } else { b'}' });
        name.extend(number.to_string().bytes());
        (mode, number) = (Mode::AllNic, 0);
    }
    let mut wanted = u64::from(flags & !MODE);
    wanted |= if ring & ringid::NO_TX_POLL != 0 { flag::NO_TX_POLL } else { 0 };
    wanted |= if ring & ringid::DO_RX_POLL != 0 { flag::DO_RX_POLL } else { 0 };
    to[body::SLOTS].copy_from_slice(&bytes[at::SLOTS]);
    to[body::RINGS].copy_from_slice(&bytes[at::RINGS]);
    to[body::MEM_ID].copy_from_slice(&bytes[at::MEM_ID]);
    to[body::RINGID].copy_from_slice(&(number as u16).to_ne_bytes());
    to[body::MODE].copy_from_slice(&(mode as u32).to_ne_bytes());
    to[body::EXTRA_BUFS].copy_from_slice(&bytes[at::EXTRA_BUFS]);
    to[body::FLAGS].copy_from_slice(&wanted.to_ne_bytes());
    Ok(())
}

fn fill_attach(bytes: &[u8; SIZE], to: &mut [u8]) {
    const WITH_HOST: u32 = 1;
    let mode = if number(bytes, at::ARG1) == WITH_HOST { Mode::NicAndHost } else { Mode::AllNic };
    to[body::MODE].copy_from_slice(&(mode as u32).to_ne_bytes());
    to[body::MEM_ID].copy_from_slice(&bytes[at::MEM_ID]);
}

/// A number of 2 or 4 bytes.
fn number(bytes: &[u8], at: Range<usize>) -> u32 {
    long(bytes, at) as u32
}

fn long(bytes: &[u8], at: Range<usize>) -> u64 {
    let mut word = [0; 8];
    word[..at.len()].copy_from_slice(&bytes[at]);
    u64::from_le_bytes(word)
}
