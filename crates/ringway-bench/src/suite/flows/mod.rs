//! The suite `flows`: complete flows of applications a second, by Ringway's engine over its ports, over raw sockets, and by the kernel's sockets.
//!
//! | case | what | unit |
//! | --- | --- | --- |
//! | `ftp` | control and data connection, a file of 1 KiB | flows/s |
//! | `http-short`, `http-8k` | one request, one page of 128 bytes or of 8 KiB | flows/s |
//! | `dns` | a question and its answer | flows/s |
//! | `mix` | 30 % questions, 55 % pages of 8 KiB, 15 % files of 64 KiB | flows/s |
//! | `idle` | memory of an end of an open connection | bytes |
//! | `vm` | an instruction of the byte code, and the share of all instructions in a flow's time | ns, % |
//!
//! The stories ship with `ringway flows`. Both ends of all flows are in one thread on CPU 1. So many flows run at the same time as the [`Load`]
//! says: one that ends makes room for the next.
//!
//! | system | frames go |
//! | --- | --- |
//! | `linux-sockets` | between sockets of the kernel, over a veth between two namespaces |
//! | `linux-sockets-lo` | the same over the loopback interface |
//! | `ringway-raw` | over a veth, by one `send` or `recv` of a packet socket for each |
//! | `ringway-packet`, `ringway-ebpf` | over the same veth, by ports of these kinds |
//! | `ringway-vale`, `ringway-pipe` | between ports of a switch, through a pipe |
//! | `ringway-memory` | over rings in the engine's own memory |
//!
//! Work for each flow, besides the frames:
//!
//! | | Ringway | sockets |
//! | --- | --- | --- |
//! | messages | each byte compared, contents drawn from the seed | messages compared, files and pages by their length |
//! | checksums | computed and verified | left out by the kernel, on a veth and on loopback |
//! | TIME-WAIT | none | none: `tcp_max_tw_buckets` is 0 |
//! | port of an FTP server's data | chosen and opened for each flow | a listener of each session, opened beforehand |
//!
//! The socket program starts nothing for a flow but its sockets: no process, no thread.

mod idle;
mod memory;
mod ports;
mod ratios;
mod raw;
mod result;
mod sockets;
mod story;
mod vm;

use ports::Place;
pub use ratios::ratios;
use sockets::Link;
use story::Kind;

use super::{Bed, Case, Unit};

/// How many connections and flows there are.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Flows at the same time, in all cases but `idle`.
    pub concurrent: u32,
    /// Connections of `idle`.
    pub connections: u32,
}

impl Default for Load {
    /// 256 flows, a million connections.
    fn default() -> Self {
        Self { concurrent: 256, connections: 1_000_000 }
    }
}

const NOTE: &str = "complete flows; both ends in one thread on CPU 1. kpps: packets received by both ends. Ringway compares each byte and verifies \
                    checksums; sockets compare messages and lengths, and the kernel leaves checksums out. raw: one packet a system call";

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>, load: Load) -> Vec<Case<'_>> {
    let rates = Kind::ALL.into_iter().map(|kind| rate(bed, kind, load.concurrent));
    let mut cases: Vec<Case<'_>> = rates.collect();
    cases.push(idle::case(bed, load.connections));
    cases.extend(vm::cases(bed, load.concurrent));
    cases
}

/// A kind of flow by each system.
fn rate(bed: Bed<'_>, kind: Kind, concurrent: u32) -> Case<'_> {
    let case = Case::new(kind.name(), Unit::Flows).frame(0).note(NOTE);
    let case = [Link::Veth, Link::Loopback].into_iter().fold(case, |case, link| {
        case.system(link.system(), move || sockets::rate(bed, kind, concurrent, link))
    });
    let case = Place::ALL.into_iter().fold(case, |case, place| {
        case.system(place.system(), move || ports::rate(bed, kind, concurrent, place))
    });
    case.system("ringway-memory", move || memory::rate(bed, kind, concurrent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Fault, names};
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn cases_and_systems_have_their_names() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let cases = cases(Bed::new(&lab, 0.1, &signals), Load::default());
        assert_eq!(cases.len(), 9);
        let (cases, systems) = names(&cases);
        assert_eq!(cases, ["ftp", "http-short", "http-8k", "dns", "mix", "idle", "vm"]);
        let all = [
            "linux-sockets",
            "linux-sockets-lo",
            "ringway-raw",
            "ringway-packet",
            "ringway-ebpf",
            "ringway-vale",
            "ringway-pipe",
            "ringway-memory",
        ];
        assert_eq!(systems, all);
    }

    #[test]
    fn links_need_root() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.1, &signals);
        let unavailable = |result| matches!(result, Err(Fault::Unavailable(why)) if why.contains("root"));
        assert!(unavailable(sockets::rate(bed, Kind::Ftp, 8, Link::Loopback)));
        assert!(unavailable(ports::rate(bed, Kind::Ftp, 8, Place::Raw)));
    }
}
