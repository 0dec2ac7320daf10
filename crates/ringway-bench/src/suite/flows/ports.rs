//! The engine over ports.

use std::sync::Once;
use std::time::Duration;

use ringway::Port;
use ringway_flows::run::over_ports::{self, Options, Sides};
use ringway_lab::Lab;
use ringway_tester::temporary::{self, TemporarySwitch};

use super::raw;
use super::result::sample;
use super::story::Kind;
use crate::suite::bed::receiver;
use crate::suite::duo::alone;
use crate::suite::{Bed, Fault, Sample};

/// How long an engine without work looks at its rings before it sleeps, as `ringway flows run` does it.
const SPIN: Duration = Duration::from_micros(20);

/// A pair of ports: of the clients and of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Raw,
    Packet,
    Ebpf,
    Vale,
    Pipe,
}

impl Place {
    pub(super) const ALL: [Self; 5] = [Self::Raw, Self::Packet, Self::Ebpf, Self::Vale, Self::Pipe];

    pub(super) fn system(self) -> &'static str {
        match self {
            Self::Raw => "ringway-raw",
            Self::Packet => "ringway-packet",
            Self::Ebpf => "ringway-ebpf",
            Self::Vale => "ringway-vale",
            Self::Pipe => "ringway-pipe",
        }
    }
}

/// Flows between a pair of ports.
pub(super) fn rate(bed: Bed<'_>, kind: Kind, concurrent: u32, place: Place) -> Result<Sample, Fault> {
    let run = |lab: Option<&Lab>, names: [String; 2]| {
        alone(lab, receiver(), || between(bed, kind, concurrent, &names))
    };
    let links = |scheme: &str| {
        let links = bed.links(&["a"])?;
        run(Some(links.lab), ["a0", "a1"].map(|interface| format!("{scheme}:{interface}")))
    };
    match place {
        Place::Raw => {
            static ONCE: Once = Once::new();
            let mut registered = Ok(());
            ONCE.call_once(|| registered = ringway::register_backend(raw::SCHEME, raw::open));
            registered?;
            links(raw::SCHEME)
        }
        Place::Packet => links("packet"),
        Place::Ebpf => links("ebpf"),
        Place::Vale => {
            let switch = TemporarySwitch::with_ports(2, 0)?;
            run(None, ["p0", "p1"].map(|port| switch.port_name(port)))
        }
        Place::Pipe => {
            let name = temporary::name("flows");
            run(None, ['{', '}'].map(|end| format!("pipe:{name}{end}1")))
        }
    }
}

fn between(bed: Bed<'_>, kind: Kind, concurrent: u32, names: &[String; 2]) -> Result<Sample, Fault> {
    let bundle = kind.bundle(concurrent, bed.seconds)?;
    let sides = Sides { client: Some(Port::open(&names[0])?), server: Some(Port::open(&names[1])?) };
    let options = Options { spin: SPIN, ..Options::default() };
    let report = over_ports::run(bundle, vec![sides], &options, || bed.signals.stopped(), |_| ())?;
    sample(&report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn flows_go_through_a_pipe() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.05, &signals);
        for kind in Kind::ALL {
            // The thread may be kept from running in the measured time.
            let sample = (0..20).find_map(|_| rate(bed, kind, 16, Place::Pipe).ok()).unwrap();
            let flows = sample.flows.unwrap();
            assert!(sample.value > 0.0 && flows.packets > sample.value, "{kind:?}: {sample:?}");
            assert_eq!(flows.failed.iter().sum::<u64>(), 0, "{kind:?}: {flows:?}");
        }
    }
}
