//! A bundle: all that a run needs.

use super::{Dist, Expectation, Flow, Format, Mix, Parser, Plan, Pool, Raw};

/// Latencies that each flow has, in front of the ones with a name in its story: their numbers in reports and expectations.
///
/// The machine and the transport measure them, over all connections of the flow. `Lat` ends only the others, whose numbers go on behind
/// these. The compiler makes one of them, `reply`, from each request and what answers it.
pub const BUILT_IN: [&str; 3] = ["connect", "first", "flow"];

/// A stretch of the bundle's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Template {
    /// Where it begins.
    pub offset: u32,
    /// How many bytes it has.
    pub len: u32,
}

/// Compiled stories, with all tables that their programs name, and the plan of a run.
///
/// The compiler makes it, or [`decode`](super::decode) reads it. Both pass it through the verifier, on whose promises the machine relies.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bundle {
    /// Seed of all that is drawn.
    pub seed: u64,
    /// What the user wrote to allow pools outside the ranges that are set aside for laboratories. Empty: nothing.
    pub lab: String,
    /// Texts that reports show.
    pub names: Vec<String>,
    /// Pools.
    pub pools: Vec<Pool>,
    /// Bytes of all templates. They may overlap.
    pub data: Vec<u8>,
    /// Templates.
    pub templates: Vec<Template>,
    /// Formats.
    pub formats: Vec<Format>,
    /// Constants.
    pub constants: Vec<u64>,
    /// Distributions.
    pub dists: Vec<Dist>,
    /// Parsers.
    pub parsers: Vec<Parser>,
    /// Raw packets.
    pub raws: Vec<Raw>,
    /// Flows, each with its programs.
    pub flows: Vec<Flow>,
    /// Mixes.
    pub mixes: Vec<Mix>,
    /// The plan.
    pub plan: Plan,
    /// What must hold at the end.
    pub expectations: Vec<Expectation>,
}

impl Bundle {
    /// The bytes of a template. No bytes if there is none with this number, which the verifier rules out.
    #[must_use]
    pub fn template(&self, index: u32) -> &[u8] {
        let bytes = |t: &Template| self.data.get(t.offset as usize..t.offset as usize + t.len as usize);
        self.templates.get(index as usize).and_then(bytes).unwrap_or(&[])
    }

    /// How many bytes a template has. 0 if there is none with this number.
    #[must_use]
    #[inline]
    pub fn template_len(&self, index: u32) -> u32 {
        self.templates.get(index as usize).map_or(0, |template| template.len)
    }

    /// A name. Empty if there is none with this number, which the verifier rules out.
    #[must_use]
    pub fn name(&self, index: u32) -> &str {
        self.names.get(index as usize).map_or("", String::as_str)
    }
}
