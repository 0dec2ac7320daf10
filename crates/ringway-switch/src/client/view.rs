//! What a client may know of its own port: how far programs came, and what they counted.
//!
//! The state of a port is root's alone, since it also has addresses of other users' frames in it. So the client asks a program of
//! its port, which answers with the part that is the client's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use ringway_bpf::layout::switch::look as at;

use super::find::find;
use crate::layout::state;
use crate::secrets::Ticket;
use crate::{objects, pins};
use ringway_count::{Counters, KernelHalf, PortCounters};
use ringway_sys::bpf;
use ringway_sys::error::{Error, ErrorKind, Result};

/// The file in which a port has the program.
const FILE: &str = "look";
/// The name of the program in the kernel.
pub(crate) const LOOK_PROGRAM: &str = "vale_look";

/// The program that a client asks.
#[derive(Debug)]
pub struct View(OwnedFd);

/// What it answers for a tx and an rx ring.
#[derive(Debug, Clone)]
pub struct Look {
    /// Number of the port; 0: the port was deleted, or given to others.
    pub port: u32,
    /// Changes when the port goes away, or is given to others.
    pub epoch: u32,
    /// Whether the port is an interface.
    pub nic: bool,
    /// Points of the rx ring's doorbell (bpf/switch/reserve.h).
    dear: u32,
    /// First slot of the tx ring that was not taken.
    pub sent: u32,
    /// Position in the rx ring up to which slots are known as given back; low half.
    pub head: u32,
    /// Position up to which slots hold frames; low half.
    pub published: u32,
    /// What shows the switch program that a request is of the port's user.
    pub ticket: Ticket,
    /// What the tx ring counted.
    pub tx: Counters,
    /// What the rx ring counted.
    pub rx: Counters,
}

impl Look {
    /// Whether senders leave the doorbell alone, since it held them up.
    pub fn is_quiet(&self) -> bool {
        self.dear >= state::DEAR_QUIET
    }

    /// Tells this port from all others that the switch has had and will have.
    pub fn tag(&self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.port)
    }
}

impl View {
    /// Opens that of the port whose directory is `dir`.
    pub fn open(dir: &Path, on: &str) -> Result<Self> {
        objects::open_pin(&dir.join(FILE), true, on).map(Self)
    }

    /// A descriptor by which another process [has](Self::inherit) the view as well.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn share(&self) -> std::io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// The view that another process opened.
    #[must_use]
    pub fn inherit(program: OwnedFd) -> Self {
        Self(program)
    }

    /// That of a port, by the number of its program in the kernel, which takes privilege.
    #[must_use]
    pub fn by_program(id: u32) -> Option<Self> {
        let program = bpf::program_by_id(id).ok()?;
        (bpf::prog_name(id) == LOOK_PROGRAM).then_some(Self(program))
    }

    /// That of the port of a switch, by its file, which takes access to the port.
    #[must_use]
    pub fn of_port(switch: &str, port: &str) -> Option<Self> {
        Self::open(&pins::port(&find(switch).ok()?, port), switch).ok()
    }

    /// Adds what the switch counted for an open port: to the whole, and to each ring, tx rings first. Nothing when the view is of another
    /// port, which has the name now.
    pub fn add_counters(&self, half: &KernelHalf<'_>, sum: &mut PortCounters, each: &mut [Counters]) {
        let rings = each.len() / 2;
        let looks: Result<Vec<Look>> = (0..rings as u32).map(|r| self.look(r, half.name)).collect();
        let Ok(looks) = looks else { return };
        if looks.iter().any(|look| look.tag() != half.tag) {
            return;
        }
        let (tx, rx) = each.split_at_mut(rings);
        for ((look, tx), rx) in looks.iter().zip(tx).zip(rx) {
            for (one, sum, seen) in [(tx, &mut sum.tx, &look.tx), (rx, &mut sum.rx, &look.rx)] {
                one.add(&seen.without_syncs());
                sum.add(&seen.without_syncs());
            }
        }
    }

    /// Looks at a ring of each direction. All rings of a view are of one port.
    pub fn look(&self, ring: u32, on: &str) -> Result<Look> {
        look(self.0.as_fd(), ring).map_err(|e| Error::io(on, "reading the state of the port failed", e))
    }

    /// The program's number in the kernel.
    pub fn id(&self) -> Option<u32> {
        bpf::prog_id(self.0.as_fd()).ok()
    }
}

fn look(program: BorrowedFd<'_>, ring: u32) -> std::io::Result<Look> {
    let mut words = [0u64; at::SIZE / 8];
    words[at::RING / 8] = ring.into();
    let answer = bpf::run_syscall(program, &mut words)?;
    let word = |at: usize| (words[at / 8] >> (8 * (at % 8))) as u32;
    Ok(Look {
        port: if answer == 0 { word(at::PORT) } else { 0 },
        epoch: word(at::EPOCH),
        nic: word(at::NIC) != 0,
        dear: word(at::DEAR),
        sent: word(at::SENT),
        head: word(at::HEAD),
        published: word(at::PUB),
        ticket: Ticket::of(words[at::TICKET / 8]),
        tx: Counters::of_words(&words[at::TX / 8..]),
        rx: Counters::of_words(&words[at::RX / 8..]),
    })
}

/// The refusal of a port that its user had.
pub fn gone(on: &str) -> Error {
    Error::new(ErrorKind::Gone, on, "the port was deleted, or root gave it to others")
        .cure("open it again when it is back, if you may")
}
