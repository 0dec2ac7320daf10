//! What a report of this command comes from.

use ringway_lab::Conditions;
use ringway_rfc::benchmark::report::{Origin, TimeKind};
use ringway_tester::ports::RealClock;

use super::files::Served;
use super::options::SharedArgs;
use crate::words;

/// The origin of a report of a modelled device, or of what lies between ports.
pub(crate) fn origin(
    args: &SharedArgs,
    modelled: bool,
    device: String,
    ports: Served,
    conditions: &Conditions,
) -> Origin {
    let real = !args.virtual_time;
    Origin {
        version: env!("CARGO_PKG_VERSION").into(),
        command: words::line(),
        time: match (modelled, real) {
            (true, _) => TimeKind::Virtual,
            (false, false) => TimeKind::LockStep,
            (false, true) => TimeKind::Real,
        },
        clock_source: if real { RealClock::new().name().into() } else { "virtual".into() },
        device,
        ports,
        conditions: conditions.clone(),
    }
}
