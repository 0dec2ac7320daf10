//! The same flows by a program on the kernel's sockets.

use ringway_flows::shard::Failure;
use ringway_lab::Lab;

use super::result::counted;
use super::story::{Kind, Sizes};
use crate::peers::{FlowRun, Peer, PeerKind};
use crate::suite::bed::receiver;
use crate::suite::{Bed, Fault, FlowCounts, REASONS, Sample};

/// As many ports as Ringway's clients have at each address, and no TIME-WAIT, which they have not either.
const SETTINGS: [&str; 3] =
    ["-qw", "net.ipv4.tcp_max_tw_buckets=0", "net.ipv4.ip_local_port_range=10000 60999"];

/// What is between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Veth,
    Loopback,
}

impl Link {
    pub(super) fn system(self) -> &'static str {
        match self {
            Self::Veth => "linux-sockets",
            Self::Loopback => "linux-sockets-lo",
        }
    }
}

/// Where a program runs, with both ends.
#[derive(Debug)]
pub(super) struct Place {
    client: Lab,
    server: Option<Lab>,
    address: &'static str,
}

impl Place {
    pub(super) fn new(bed: Bed<'_>, link: Link) -> Result<Self, Fault> {
        bed.lab()?; // tells what is missing
        let client = Lab::new()?;
        client.exec("sysctl", &SETTINGS)?;
        if link == Link::Loopback {
            client.ip("link set lo up")?;
            return Ok(Self { client, server: None, address: "127.0.0.1" });
        }
        let server = Lab::new()?;
        server.exec("sysctl", &SETTINGS)?;
        client.veth_to("a0", &server, "a1")?;
        client.ip("address add 198.18.0.1/15 dev a0")?;
        server.ip("address add 198.19.0.1/15 dev a1")?;
        Ok(Self { client, server: Some(server), address: "198.19.0.1" })
    }

    /// Starts a program with these arguments, its server's address and namespace.
    pub(super) fn start(&self, kind: PeerKind, args: &[String]) -> Result<Peer, Fault> {
        let namespace = self.server.as_ref().map(|lab| format!("/run/netns/{}", lab.name()));
        let place = [self.address.to_owned()].into_iter().chain(namespace);
        let args = args.iter().cloned().chain(place);
        Ok(Peer::spawn(kind, args, Some(self.client.name()), Some(receiver()))?)
    }
}

/// Flows between sockets.
pub(super) fn rate(bed: Bed<'_>, kind: Kind, concurrent: u32, link: Link) -> Result<Sample, Fault> {
    let place = Place::new(bed, link)?;
    let name = match kind {
        Kind::Ftp => "ftp",
        Kind::HttpShort | Kind::Http8k => "http",
        Kind::Dns => "dns",
        Kind::Mix => "mix",
    };
    let Sizes { file, page } = kind.sizes();
    let numbers = [file, page, concurrent].map(|number| number.to_string());
    let args = [&[name.to_owned()], &numbers[..], &[bed.seconds.to_string()]].concat();
    let result = place.start(PeerKind::Flows, &args)?.finish()?;
    sample(result.flows().copied().unwrap_or_default())
}

fn sample(run: FlowRun) -> Result<Sample, Fault> {
    let rate = if run.seconds > 0.0 { run.flows as f64 / run.seconds } else { 0.0 };
    counted(rate, || {
        let mut failed = [0; REASONS.len()];
        failed[..Failure::ALL.len()].copy_from_slice(&run.failed);
        failed[Failure::ALL.len()] = run.unfinished;
        let flows = FlowCounts {
            packets: run.packets as f64 / run.seconds,
            retransmitted: run.retransmitted,
            failed,
        };
        Sample { flows: Some(flows), ..Sample::of(rate) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_rate_with_its_failures() {
        let run = FlowRun { flows: 50, packets: 500, seconds: 0.5, unfinished: 2, ..FlowRun::default() };
        let measured = sample(run).unwrap();
        let flows = measured.flows.unwrap();
        assert_eq!((measured.value, flows.packets, flows.failed.iter().sum::<u64>()), (100.0, 1000.0, 2));
        assert_eq!(sample(FlowRun::default()), Err(Fault::Failed("no flow was complete".into())));
    }
}
