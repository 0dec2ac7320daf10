//! What is measured: cases, each with the systems that it compares.

use std::fmt;

use serde::{Deserialize, Serialize};

use ringway_flows::shard::Failure;
use ringway_tester::Fault;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Millions of packets per second; more is better.
    Mpps,
    /// Nanoseconds; less is better.
    #[serde(rename = "ns")]
    Ns,
    /// Microseconds; less is better.
    #[serde(rename = "us")]
    Us,
    /// Billions of bits per second; more is better.
    #[serde(rename = "Gbit/s")]
    Gbit,
    /// Hundredths; more is better.
    #[serde(rename = "%")]
    Percent,
    /// Millionths; less is better.
    #[serde(rename = "ppm")]
    Ppm,
    /// Millions of lookups per second; more is better.
    #[serde(rename = "Mlookup/s")]
    Mlookups,
    /// Millions of route changes per second; more is better.
    #[serde(rename = "Mupdate/s")]
    Mupdates,
    /// Millions of tokens per second; more is better.
    #[serde(rename = "Mtokens/s")]
    Mtokens,
    /// Complete flows of an application per second; more is better.
    #[serde(rename = "flows/s")]
    Flows,
    /// Bytes; less is better.
    #[serde(rename = "B")]
    Bytes,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mpps => "Mpps",
            Self::Ns => "ns",
            Self::Us => "us",
            Self::Gbit => "Gbit/s",
            Self::Percent => "%",
            Self::Ppm => "ppm",
            Self::Mlookups => "Mlookup/s",
            Self::Mupdates => "Mupdate/s",
            Self::Mtokens => "Mtokens/s",
            Self::Flows => "flows/s",
            Self::Bytes => "B",
        })
    }
}

/// One run of one system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// In the unit of the case.
    pub value: f64,
    /// Frames offered and not delivered, for cases that ask for none.
    pub lost: Option<u64>,
    /// Bytes of memory that were in use, for cases that ask for it.
    pub memory: Option<u64>,
    /// Seconds of CPUs for each Gbit, for cases that ask for it.
    pub cpu: Option<f64>,
    /// What else a run of flows had, for cases of flows.
    pub flows: Option<FlowCounts>,
}

impl Sample {
    /// A sample that is a value alone.
    pub fn of(value: f64) -> Self {
        Self { value, lost: None, memory: None, cpu: None, flows: None }
    }
}

/// Why flows failed: the reasons of [`Failure`], and `unfinished` for flows that had not ended some seconds after the run.
pub const REASONS: [&str; Failure::ALL.len() + 1] = {
    let mut names = ["unfinished"; Failure::ALL.len() + 1];
    let mut at = 0;
    while at < Failure::ALL.len() {
        names[at] = Failure::ALL[at].name();
        at += 1;
    }
    names
};

/// What a run of flows had beside its rate of complete ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlowCounts {
    /// Packets received in a second, by both ends together.
    pub packets: f64,
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Ends of flows that failed, by [`REASONS`].
    pub failed: [u64; REASONS.len()],
}

type Measure<'a> = Box<dyn FnMut() -> Result<Sample, Fault> + 'a>;

/// What is compared: a name and how to measure it once.
pub struct System<'a> {
    pub(super) name: &'static str,
    pub(super) measure: Measure<'a>,
}

impl fmt::Debug for System<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("System").field(&self.name).finish()
    }
}

/// Systems that do the same job under the same conditions.
#[derive(Debug)]
pub struct Case<'a> {
    pub(super) name: &'static str,
    pub(super) variant: &'static str,
    pub(super) frame: u32,
    pub(super) burst: u32,
    pub(super) cores: u32,
    pub(super) unit: Unit,
    pub(super) bits: bool,
    pub(super) note: &'static str,
    pub(super) systems: Vec<System<'a>>,
}

impl<'a> Case<'a> {
    /// A case without systems: 64-byte frames, burst 1, one core.
    pub fn new(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            variant: "",
            frame: 64,
            burst: 1,
            cores: 1,
            unit,
            bits: false,
            note: "",
            systems: Vec::new(),
        }
    }

    /// Sets what tells the case from others of its name, besides frame, burst and cores: `32 ports`.
    #[must_use]
    pub fn variant(self, variant: &'static str) -> Self {
        Self { variant, ..self }
    }

    /// Sets the frame size, FCS included; 0 where there are no frames.
    #[must_use]
    pub fn frame(self, frame: u32) -> Self {
        Self { frame, ..self }
    }

    /// Sets the frames handled per iteration.
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// Has the report say how many bits per second the packets per second are, FCS included.
    #[must_use]
    pub fn with_bits(self) -> Self {
        Self { bits: true, ..self }
    }

    /// Sets the cores that the systems use in user space.
    #[must_use]
    pub fn cores(self, cores: u32) -> Self {
        Self { cores, ..self }
    }

    /// Sets what a reader of the numbers must know.
    #[must_use]
    pub fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Adds a system. Names of Ringway's start with `ringway`, all others are peers.
    #[must_use]
    pub fn system(mut self, name: &'static str, measure: impl FnMut() -> Result<Sample, Fault> + 'a) -> Self {
        self.systems.push(System { name, measure: Box::new(measure) });
        self
    }
}
