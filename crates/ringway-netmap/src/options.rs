//! The options of a request: a list in the program's memory, of which a hostile one has no end.

use crate::memory::{CallerMemory, Errno};

/// Bytes that each option begins with.
pub const HEADER: usize = 24;

/// Offsets in an option.
mod at {
    pub(super) const NEXT: usize = 0;
    /// The lower half of this word; the status is the upper one.
    pub(super) const KIND: usize = 8;
    pub(super) const STATUS: u64 = 12;
    pub(super) const SIZE: usize = 16;
}

/// What an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum OptionKind {
    /// The region lies in memory that the program gives.
    ExternalMemory = 1,
    /// Descriptors by which a loop of the kernel is woken.
    KloopEventfds = 2,
    /// Cursors in memory of the program.
    Csb = 3,
    /// How that loop works.
    KloopMode = 4,
    /// Frames begin inside their buffers.
    Offsets = 5,
}

impl OptionKind {
    const ALL: [Self; 5] =
        [Self::ExternalMemory, Self::KloopEventfds, Self::Csb, Self::KloopMode, Self::Offsets];

    fn of(number: u32) -> Option<Self> {
        Self::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Bytes of the whole option; `extra` is what its header says of those behind it.
    fn size(self, extra: usize) -> usize {
        match self {
            Self::ExternalMemory => 96,
            Self::KloopEventfds => HEADER + extra,
            Self::Csb => 40,
            Self::KloopMode => 32,
            Self::Offsets => 56,
        }
    }
}

/// One option.
#[derive(Debug)]
struct Entry {
    at: u64,
    /// `None`: a kind that is not known.
    kind: Option<OptionKind>,
    bytes: Vec<u8>,
    status: i32,
}

/// The options of a request. One that nobody takes fails the request.
#[derive(Debug)]
pub struct Options(Vec<Entry>);

impl Options {
    /// Copies in the list that begins at `first`, with `room` bytes at most.
    pub(crate) fn copy_in(memory: &mut impl CallerMemory, first: u64, room: usize) -> Result<Self, Errno> {
        let (mut entries, mut next, mut left) = (Vec::new(), first, room);
        while next != 0 {
            let mut header = [0; HEADER];
            memory.read(next, &mut header)?;
            let extra = usize::try_from(word(&header, at::SIZE)).unwrap_or(usize::MAX).min(room + 1);
            let number = word(&header, at::KIND) as u32;
            let kind = OptionKind::of(number);
            let size = kind.map_or(HEADER, |kind| kind.size(extra));
            // The list's place counts too, so that one without an end comes to one.
            let taken = size + size_of::<u64>();
            left = left.checked_sub(taken).ok_or(Errno(libc::EMSGSIZE))?;
            let mut bytes = header.to_vec();
            bytes.resize(size, 0);
            memory.read(next.wrapping_add(HEADER as u64), &mut bytes[HEADER..])?;
            entries.push(Entry { at: next, kind, bytes, status: libc::EOPNOTSUPP });
            if number == 0 {
                return Err(Self(entries).refuse_last(memory));
            }
            next = word(&header, at::NEXT);
        }
        let mut options = Self(entries);
        options.refuse_twins(memory)?;
        Ok(options)
    }

    /// Notes that the last option makes no sense.
    fn refuse_last(mut self, memory: &mut impl CallerMemory) -> Errno {
        if let Some(last) = self.0.last_mut() {
            last.status = libc::EINVAL;
        }
        let _ = self.copy_out(memory); // the request fails in any case
        Errno(libc::EINVAL)
    }

    /// Refuses two options of one kind.
    fn refuse_twins(&mut self, memory: &mut impl CallerMemory) -> Result<(), Errno> {
        let twin = (1..self.0.len()).find(|&k| {
            self.0[k].kind.is_some() && self.0[..k].iter().any(|before| before.kind == self.0[k].kind)
        });
        let Some(twin) = twin else { return Ok(()) };
        self.0.truncate(twin + 1);
        let kind = self.0[twin].kind;
        self.0.iter_mut().filter(|entry| entry.kind == kind).for_each(|entry| entry.status = libc::EINVAL);
        Err(Self(std::mem::take(&mut self.0)).refuse_last(memory))
    }

    /// The bytes of the option of a kind, if the request has one. Its caller obeys it, or [refuses](Self::refuse) it.
    pub fn take(&mut self, kind: OptionKind) -> Option<&mut [u8]> {
        let entry = self.0.iter_mut().find(|entry| entry.kind == Some(kind))?;
        entry.status = 0;
        Some(&mut entry.bytes)
    }

    /// Notes why an option can't be obeyed.
    pub fn refuse(&mut self, kind: OptionKind, why: Errno) {
        if let Some(entry) = self.0.iter_mut().find(|entry| entry.kind == Some(kind)) {
            entry.status = why.0;
        }
    }

    /// Fails when an option was not taken: a request does nothing then.
    ///
    /// # Errors
    /// `EOPNOTSUPP`.
    pub fn all_taken(&self) -> Result<(), Errno> {
        match self.0.iter().any(|entry| entry.status == libc::EOPNOTSUPP) {
            true => Err(Errno(libc::EOPNOTSUPP)),
            false => Ok(()),
        }
    }

    /// Tells the program what became of each option.
    pub(crate) fn copy_out(&self, memory: &mut impl CallerMemory) -> Result<Result<(), Errno>, Errno> {
        for entry in &self.0 {
            if entry.status == 0 {
                memory.write(entry.at.wrapping_add(HEADER as u64), &entry.bytes[HEADER..])?;
            }
            memory.write(entry.at.wrapping_add(at::STATUS), &entry.status.to_ne_bytes())?;
        }
        Ok(self.all_taken())
    }
}

/// The word of 8 bytes at `at`.
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}
