//! The plan of a run: which flows start when, when it ends, and what is expected of it.

/// A flow's share in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index into the flows.
    pub flow: u32,
    /// Its share is this number over the sum of the mix.
    pub weight: u32,
}

/// A mix of flows by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name: an index into the names.
    pub name: u32,
    /// At least one, with a sum above 0.
    pub shares: Vec<Share>,
}

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A flow: an index into the flows.
    Flow(u32),
    /// A mix: an index into the mixes.
    Mix(u32),
}

/// What the numbers of phases count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Flows that start in a second.
    Flows,
    /// Flows that are active at the same time.
    Active,
    /// Bits of layer 2 in a second, of both directions.
    Bits,
    /// Packets in a second. Only for attacks.
    Packets,
}

/// The time between two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal.
    Even,
    /// Exponential: starts are a Poisson process.
    Poisson,
}

/// A stretch of time in which the load goes from one number to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Load at its start, in thousandths of the unit.
    pub from: u64,
    /// Load at its end, in thousandths of the unit.
    pub to: u64,
    /// How long it lasts, in nanoseconds.
    pub length: u64,
    /// Whether it belongs to the steady state, which is what is measured.
    pub steady: bool,
}

/// A load: what starts, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// What starts.
    pub what: What,
    /// Unit of the phases.
    pub unit: Unit,
    /// When the first phase begins, in nanoseconds of the run.
    pub start: u64,
    /// One after the other. Of an attack their sum is the time limit, and their greatest number the rate cap.
    pub phases: Vec<Phase>,
    /// Time between starts.
    pub spacing: Spacing,
}

/// What ends a run before its plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// This many flows have failed.
    Failed(u64),
    /// This many flows are complete.
    Complete(u64),
    /// The run lasts this many nanoseconds.
    After(u64),
    /// Failed flows are this many millionths of all that ended, after at least 1,000 ended.
    FailedShare(u64),
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// Loads, which run at the same time.
    pub loads: Vec<Load>,
    /// Nanoseconds after the last phase in which active flows may end.
    pub drain: u64,
    /// Most flows that are active at the same time. A start that finds no room is postponed and counted. 0: no limit.
    pub max_active: u64,
    /// What ends a run early.
    pub stops: Vec<Stop>,
}

/// What an expectation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Millionths of the started flows that are complete. `None`: of all flows but attacks.
    Complete(Option<u32>),
    /// How many flows failed. `None`: of all flows but attacks.
    Failed(Option<u32>),
    /// Complete flows a second in the steady state, in thousandths. `None`: of all flows but attacks.
    Rate(Option<u32>),
    /// Most flows that were active at the same time.
    Active,
    /// A percentile of a latency, in nanoseconds.
    Percentile {
        /// The percentile in thousandths: 99,000 is p99.
        milli: u32,
        /// Index into the flows.
        flow: u32,
        /// Index into the flow's latencies, or one of the [built-in ones](super::BUILT_IN).
        latency: u32,
    },
    /// A counter of a flow.
    Counter {
        /// Index into the flows.
        flow: u32,
        /// Index into the flow's counters.
        counter: u32,
    },
}

/// How a measure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}

/// What must hold at the end of a run. The exit code says whether all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What is looked at.
    pub measure: Measure,
    /// How it is compared.
    pub compare: Compare,
    /// With what.
    pub value: u64,
}
