//! From samples to a profile.

use ringway_lab::Conditions;

use super::{About, Builder, Packets, Profile};
use crate::sample::Samples;
use crate::symbol::Resolver;
use crate::time::Clock;

impl Profile {
    /// Finds the names of what was sampled. Do it soon: processes end, and take their mappings along.
    #[must_use]
    pub fn of(samples: &Samples, packets: Option<Packets>, clock: Clock, conditions: Conditions) -> Self {
        let mut resolver = Resolver::new(samples);
        let mut tree = Builder::default();
        for stack in &samples.stacks {
            tree.add(&resolver.frames_of(stack), stack.count);
        }
        let mut notes = samples.notes.clone();
        notes.extend(resolver.lack().filter(|_| samples.tier.kernel));
        notes.extend(losses(samples));
        notes.extend(stripped(&resolver));
        let about = About {
            conditions,
            tier: samples.tier,
            frequency: samples.frequency,
            of_cpus: samples.of_cpus,
            lost: samples.lost + samples.unstored,
            spent: samples.spent,
            clock,
            packets,
            gaps: resolver.gaps,
            notes,
            ..About::default()
        };
        Self { about, frames: resolver.frames, tree: tree.done() }
    }
}

fn losses(samples: &Samples) -> Vec<String> {
    let line = |n: u64, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let gone = samples.n == 0 && samples.spent.time_ns == 0;
    [
        line(samples.lost, "samples were lost: the rings were full; lower --frequency"),
        line(
            samples.unstored,
            "samples were not kept: there are too many different stacks; record for a shorter time",
        ),
        line(
            samples.throttled,
            "times the kernel sampled less, since sampling took too much time; lower --frequency",
        ),
        gone.then(|| "the target did not run while it was sampled: has it ended?".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Files that have code without names, the heaviest first.
fn stripped(resolver: &Resolver<'_>) -> Option<String> {
    let mut files: Vec<_> = resolver.gaps.files.iter().filter(|(file, _)| *file != "kernel").collect();
    files.sort_by_key(|(_, samples)| std::cmp::Reverse(**samples));
    let list: Vec<String> =
        files.iter().take(5).map(|(file, samples)| format!("{file} ({samples} samples)")).collect();
    (!list.is_empty()).then(|| {
        format!(
            "functions have no names in {}; install debug symbols, or build without stripping",
            list.join(", ")
        )
    })
}
