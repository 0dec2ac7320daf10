//! What is drawn: one profile, or two that are compared. Threads of one name are one.

use std::collections::HashMap;

use crate::group::Attribution;
use crate::profile::Profile;
use crate::symbol::{Frame, Kind};

/// What is drawn of a profile.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only threads whose name contains this text; empty is all.
    pub thread: String,
    /// Only samples of this group.
    pub group: Option<String>,
    /// CPUs without work too.
    pub idle: bool,
}

/// One profile, or two that are compared.
#[derive(Debug, Default)]
pub struct Merged<'a> {
    pub(super) sides: Vec<Side<'a>>,
    names: HashMap<(Kind, &'a str), u32>,
    pub(super) labels: Vec<&'a Frame>,
}

/// A profile with what was selected of it.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) profile: &'a Profile,
    pub(super) found: &'a Attribution,
    /// The label of each frame.
    pub(super) labels: Vec<u32>,
    /// Selected samples of each node in the function itself.
    pub(super) own: Vec<u64>,
    /// The same with all that it calls.
    pub(super) totals: Vec<u64>,
    /// Nodes of each node with all below.
    pub(super) sizes: Vec<u32>,
    /// Selected samples.
    pub(super) samples: u64,
}

impl<'a> Merged<'a> {
    /// Adds a profile: the first one, or the one that it is compared with.
    pub fn add(&mut self, profile: &'a Profile, found: &'a Attribution, selection: &Selection) {
        let labels = profile.frames.iter().map(|frame| self.label(frame)).collect();
        let own = selected(profile, found, selection);
        let (totals, samples) = (totals(profile, &own), own.iter().sum());
        self.sides.push(Side { profile, found, labels, own, totals, sizes: profile.tree.sizes(), samples });
    }

    fn label(&mut self, frame: &'a Frame) -> u32 {
        let next = self.labels.len() as u32;
        let number = *self.names.entry((frame.kind, &frame.name)).or_insert(next);
        if number == next {
            self.labels.push(frame);
        }
        number
    }

    /// Selected samples of a side; 0 when it is not there.
    #[must_use]
    pub fn samples(&self, side: usize) -> u64 {
        self.sides.get(side).map_or(0, |s| s.samples)
    }

    /// Samples that are not drawn: idle, or not selected.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.sides.iter().map(|s| s.profile.tree.samples() - s.samples).sum()
    }

    /// Selected samples of each group of the first side, the heaviest first.
    pub(super) fn by_group(&self) -> Vec<(&'a str, u64)> {
        let mut sums: HashMap<&str, u64> = HashMap::new();
        for side in self.sides.iter().take(1) {
            for (n, own) in side.own.iter().enumerate().filter(|(_, own)| **own > 0) {
                *sums.entry(side.found.group_of(n)).or_default() += own;
            }
        }
        let mut all: Vec<_> = sums.into_iter().collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }
}

/// The selected samples of each node.
fn selected(profile: &Profile, found: &Attribution, selection: &Selection) -> Vec<u64> {
    let threads: Vec<bool> =
        profile.frames.iter().map(|frame| frame.name.contains(&selection.thread)).collect();
    let mut of_thread = false;
    let node = |(n, node): (usize, &crate::profile::Node)| {
        if node.parent.is_none() {
            of_thread = threads[node.frame as usize];
        }
        let of_group = || selection.group.as_ref().is_none_or(|group| found.group_of(n) == group);
        let chosen = node.samples > 0 && of_thread && (selection.idle || !found.is_idle(n)) && of_group();
        if chosen { node.samples } else { 0 }
    };
    profile.tree.nodes().iter().enumerate().map(node).collect()
}

fn totals(profile: &Profile, own: &[u64]) -> Vec<u64> {
    let mut totals = own.to_vec();
    for (n, node) in profile.tree.nodes().iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            totals[parent as usize] += totals[n];
        }
    }
    totals
}
