//! Who is at the ends of a connection, and how each is started.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::peers::{MemifDevice, MemifEnd, MemifJob, Peer};
use crate::suite::Fault;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::sides::SideCommand;
use crate::suite::window::Window;

/// The first word of a side of this suite.
pub(in crate::suite) const NAME: &str = "memif";

/// Bytes of the frame check sequence, which no buffer holds.
const FCS: u32 = 4;

/// Whose program an end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Ringway,
    Testpmd,
}

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It connects, and makes the memory.
    Client,
    /// It listens, and maps the client's memory.
    Server,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What an end does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    Send,
    Take,
    /// Sends each frame on: back where it came from, or out of the other port.
    Forward,
    /// Makes so many frames, and sends on each that comes.
    Circulate {
        burst: u32,
    },
    /// Sends into one port, and takes from the other.
    Around,
}

impl Job {
    /// What the peer does meanwhile.
    fn other(self) -> Self {
        match self {
            Self::Send => Self::Take,
            Self::Take => Self::Send,
            Self::Circulate { .. } | Self::Around => Self::Forward,
            Self::Forward => Self::Around,
        }
    }

    /// Which CPU its process has.
    pub(super) fn cpu(self) -> usize {
        match self {
            Self::Send | Self::Circulate { .. } | Self::Around => SENDER,
            Self::Take | Self::Forward => receiver(),
        }
    }

    /// The same job of testpmd, if it can do it.
    fn testpmd(self, len: u32) -> Option<MemifJob> {
        match self {
            Self::Send => Some(MemifJob::Send { len }),
            Self::Take => Some(MemifJob::Take),
            Self::Forward => Some(MemifJob::Forward),
            Self::Circulate { burst } => Some(MemifJob::Circulate { len, packets: burst }),
            Self::Around => None,
        }
    }

    /// The word that tells a side.
    pub(super) fn word(self) -> String {
        match self {
            Self::Send => "send".into(),
            Self::Take => "take".into(),
            Self::Forward => "forward".into(),
            Self::Around => "around".into(),
            Self::Circulate { burst } => burst.to_string(),
        }
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        match word {
            "send" => Some(Self::Send),
            "take" => Some(Self::Take),
            "forward" => Some(Self::Forward),
            "around" => Some(Self::Around),
            burst => Some(Self::Circulate { burst: burst.parse().ok()? }),
        }
    }
}

/// A measured end and its peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pairing {
    /// Of the measured end.
    pub(super) job: Job,
    pub(super) role: Role,
    pub(super) by: By,
    pub(super) peer: By,
    /// Whether the client offers its own buffers.
    pub(super) zero_copy: bool,
    /// With FCS.
    pub(super) frame: u32,
}

impl Pairing {
    /// The measured end and its peer. Who forwards between two ports has a peer around it.
    pub(super) fn plans(&self) -> (Plan, Plan) {
        let sockets: &[Socket] =
            if self.job == Job::Forward { &[Socket::new(), Socket::new()] } else { &[Socket::new()] };
        let plan = |by, job, role| {
            let ports = sockets.iter().map(|socket| socket.end(role, self.zero_copy)).collect();
            Plan { by, job, frame: self.frame, ports }
        };
        (plan(self.by, self.job, self.role), plan(self.peer, self.job.other(), self.role.other()))
    }

    /// Whether frames count where they arrive at the peer.
    pub(super) fn peer_counts(&self) -> bool {
        matches!(self.job, Job::Send | Job::Forward)
    }
}

/// A socket with an abstract name that nobody else has.
#[derive(Debug)]
struct Socket(String);

impl Socket {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed); // only has to differ from the others
        Self(format!("ringway-bench-{}-{number}", process::id()))
    }

    fn end(&self, role: Role, zero_copy: bool) -> MemifDevice {
        MemifDevice { socket: self.0.clone(), client: role == Role::Client, zero_copy }
    }
}

/// The name of Ringway's port at an end. DPDK does not seal the memory that it offers: a server has to accept that.
pub(super) fn port_name(end: &MemifDevice) -> String {
    let options = match (end.client, end.zero_copy) {
        (true, true) => ",role=client,zero-copy=yes",
        (true, false) => ",role=client",
        (false, true) => ",unsealed=yes",
        (false, false) => "",
    };
    format!("memif:@{}{options}", end.socket)
}

/// An end that is to be started.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) by: By,
    pub(super) job: Job,
    pub(super) frame: u32,
    pub(super) ports: Vec<MemifDevice>,
}

impl Plan {
    pub(super) fn is_server(&self) -> bool {
        self.ports.iter().all(|port| !port.client)
    }

    /// Starts the process.
    pub(super) fn open(&self, sides: &SideCommand) -> Result<End, Fault> {
        let (len, cpu) = (self.frame - FCS, self.job.cpu());
        match self.by {
            By::Testpmd => {
                let unable = || Fault::Unavailable(format!("testpmd can't do {:?}", self.job));
                let job = self.job.testpmd(len).ok_or_else(unable)?;
                Ok(End::Testpmd(MemifEnd::open(&self.ports, job, cpu)?))
            }
            By::Ringway => {
                let mut words = vec![NAME.to_owned(), self.job.word(), len.to_string(), cpu.to_string()];
                words.extend(self.ports.iter().map(port_name));
                Ok(End::Ringway(sides.start_words("ringway", &words)?))
            }
        }
    }
}

/// A process at an end.
#[derive(Debug)]
pub(super) enum End {
    Ringway(Peer),
    Testpmd(MemifEnd),
}

impl End {
    /// Has testpmd begin. Ringway begins when it has a window.
    pub(super) fn start(&mut self) -> Result<(), Fault> {
        match self {
            Self::Testpmd(end) => Ok(end.start()?),
            Self::Ringway(_) => Ok(()),
        }
    }

    /// Has Ringway begin.
    pub(super) fn tell(&mut self, window: Window) -> Result<(), Fault> {
        match self {
            Self::Ringway(side) => Ok(side.tell(&window.line())?),
            Self::Testpmd(_) => Ok(()),
        }
    }

    /// Has testpmd end its job, before anybody goes. Ringway's end comes when it is dismissed.
    pub(super) fn rest(&mut self) -> Result<(), Fault> {
        match self {
            Self::Testpmd(end) => Ok(end.rest()?),
            Self::Ringway(_) => Ok(()),
        }
    }

    /// Lets Ringway's side go; the frames per second that it counted.
    pub(super) fn dismiss(self) -> Result<Option<f64>, Fault> {
        let Self::Ringway(mut side) = self else { return Ok(None) };
        side.tell("")?;
        Ok(side.finish()?.traffic().map(|traffic| traffic.pps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_words() {
        for job in [Job::Send, Job::Take, Job::Forward, Job::Around, Job::Circulate { burst: 32 }] {
            assert_eq!(Job::of_word(&job.word()), Some(job));
        }
        assert_eq!(Job::of_word("x"), None);
    }

    #[test]
    fn both_ends_meet_at_one_socket() {
        let pairing = Pairing {
            job: Job::Send,
            role: Role::Client,
            by: By::Ringway,
            peer: By::Testpmd,
            zero_copy: true,
            frame: 64,
        };
        let (measured, peer) = pairing.plans();
        assert_eq!((measured.job, peer.job), (Job::Send, Job::Take));
        assert!(!measured.is_server() && peer.is_server() && pairing.peer_counts());
        let socket = &measured.ports[0].socket;
        assert_eq!(port_name(&measured.ports[0]), format!("memif:@{socket},role=client,zero-copy=yes"));
        assert_eq!(port_name(&peer.ports[0]), format!("memif:@{socket},unsealed=yes"));
    }

    #[test]
    fn a_middle_has_two_sockets() {
        let (job, role) = (Job::Forward, Role::Server);
        let pairing =
            Pairing { job, role, by: By::Testpmd, peer: By::Ringway, zero_copy: false, frame: 1518 };
        let (middle, around) = pairing.plans();
        assert_eq!((middle.ports.len(), around.job, around.ports.len()), (2, Job::Around, 2));
        assert!(middle.is_server() && middle.ports[0].socket != middle.ports[1].socket);
        assert!(middle.ports.iter().map(|p| &p.socket).eq(around.ports.iter().map(|p| &p.socket)));
    }
}
