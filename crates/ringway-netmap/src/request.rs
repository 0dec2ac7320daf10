//! A request by `NIOCCTRL`: header, body and options, copied in once and checked as netmap checks them.

use crate::memory::{CallerMemory, Errno};
use crate::numbers::{Kind, REQUEST_MAX, VERSIONS};
use crate::options::{self, Options};

/// Bytes of a header.
pub const HEADER: usize = 88;

/// Offsets in a header.
mod at {
    pub(super) const VERSION: usize = 0;
    pub(super) const KIND: usize = 2;
    pub(super) const RESERVED: usize = 4;
    pub(super) const NAME: std::ops::Range<usize> = 8..72;
    pub(super) const OPTIONS: usize = 72;
    pub(super) const BODY: usize = 80;
}

/// A request, as the program made it.
#[derive(Debug)]
pub struct Request {
    /// What it is for.
    pub kind: Kind,
    /// The name of a port, as far as it goes before a zero byte. It may have any bytes. [`finish`](Self::finish) copies another one back.
    pub name: Vec<u8>,
    /// The body, which [`finish`](Self::finish) copies back.
    pub body: Vec<u8>,
    /// The options, with what became of each.
    pub options: Options,
    asked: Vec<u8>,
    at: u64,
    body_at: u64,
}

impl Request {
    /// Copies the request in whose header is at `at`.
    ///
    /// # Errors
    /// `EFAULT` for a pointer that leads nowhere. `EINVAL` for another version, an unknown kind, reserved bits, and a body that is
    /// there or missing against the rule. `EMSGSIZE` when body and options are longer than 4096 bytes, as a list without an end is.
    /// What is wrong with an option is noted in its status too.
    pub fn copy_in(memory: &mut impl CallerMemory, at: u64) -> Result<Self, Errno> {
        let mut header = [0; HEADER];
        memory.read(at, &mut header)?;
        let number = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let kind = Kind::of(number(at::KIND)).filter(|_| {
            VERSIONS.contains(&number(at::VERSION)) && header[at::RESERVED..at::RESERVED + 4] == [0; 4]
        });
        let kind = kind.ok_or(Errno(libc::EINVAL))?;
        let body_at = options::word(&header, at::BODY);
        let size = kind.body_size();
        if (size == 0) != (body_at == 0) {
            return Err(Errno(libc::EINVAL));
        }
        let mut body = vec![0; size];
        if size > 0 {
            memory.read(body_at, &mut body)?;
        }
        let options = Options::copy_in(memory, options::word(&header, at::OPTIONS), REQUEST_MAX - size)?;
        let name = header[at::NAME].split(|b| *b == 0).next().unwrap_or_default().to_vec();
        Ok(Self { kind, asked: name.clone(), name, body, options, at, body_at })
    }

    /// Copies name, body and options back, and says how the request ended: as `done` says, unless an option was not understood.
    ///
    /// # Errors
    /// That of `done`; `EOPNOTSUPP` when nobody [took](Options::take) an option; `EFAULT` when the program's memory went away.
    pub fn finish(self, memory: &mut impl CallerMemory, done: Result<(), Errno>) -> Result<(), Errno> {
        let options = self.options.copy_out(memory)?;
        done?;
        if !self.body.is_empty() {
            memory.write(self.body_at, &self.body)?;
        }
        if self.name != self.asked {
            memory.write(
                self.at + at::NAME.start as u64,
                &fixed_name::<{ at::NAME.end - at::NAME.start }>(&self.name),
            )?;
        }
        options
    }
}

/// A name as a request has it: as much of it as fits before a zero byte.
pub(crate) fn fixed_name<const N: usize>(name: &[u8]) -> [u8; N] {
    let mut fixed = [0; N];
    let len = name.len().min(N - 1);
    fixed[..len].copy_from_slice(&name[..len]);
    fixed
}
