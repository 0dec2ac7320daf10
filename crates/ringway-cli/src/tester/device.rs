//! Devices under test by name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ringway_tester::Fault;
use ringway_tester::dut::{Backend, Dut, DutKind, DutSpec};
use ringway_tester::trial::mix::Mix;

use crate::errors;
use crate::failure::Failure;

/// Longest packet of a link of the kernel.
const MOST_MTU: u32 = 65_535;

/// Bytes of a frame that are no part of its packet: Ethernet header and FCS.
const AROUND: u32 = 18;

pub(crate) fn kinds() -> impl TypedValueParser<Value = DutKind> {
    let value = |kind: DutKind| PossibleValue::new(kind.name()).aliases(kind.alias()).help(kind.about());
    PossibleValuesParser::new(DutKind::ALL.map(value)).try_map(|name| name.parse::<DutKind>())
}

pub(crate) fn backends() -> impl TypedValueParser<Value = Backend> {
    PossibleValuesParser::new(Backend::ALL.map(Backend::name)).try_map(|name| name.parse::<Backend>())
}

/// The packet size that links have to carry for frames of these sizes.
pub(crate) fn mtu(sizes: &[Mix]) -> u32 {
    let longest = sizes.iter().map(|mix| mix.range().1).max().unwrap_or(0);
    longest.saturating_sub(AROUND).clamp(1500, MOST_MTU)
}

/// A device that is to be set up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Device {
    pub(crate) kind: DutKind,
    pub(crate) spec: DutSpec,
}

impl Device {
    /// Sets it up.
    pub(crate) fn start(&self) -> Result<Dut, Failure> {
        Dut::start(self.kind, &self.spec).map_err(|e| match e {
            Fault::Unavailable(why) => {
                Failure::Other(errors::testers::NO_DEVICE, format!("{} can't be had here: {why}", self.kind))
            }
            Fault::Failed(why) => {
                Failure::Other(errors::testers::DEVICE_FAILED, format!("{}: {why}", self.kind))
            }
        })
    }

    /// What it is, for the report.
    pub(crate) fn describe(&self) -> String {
        let filters = match self.spec.filters {
            0 => String::new(),
            1 => ", 1 filter".into(),
            n => format!(", {n} filters"),
        };
        format!("{}: {}{filters}", self.kind, self.kind.about())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_all_sizes() {
        assert_eq!(mtu(&[Mix::fixed(64), Mix::fixed(9216)]), 9198);
        assert_eq!(mtu(&[Mix::fixed(64)]), 1500);
    }
}
