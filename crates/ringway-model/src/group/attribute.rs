//! Gives each sample to the nearest caller that has a group, and, beside it, to the sampled function alone.
//!
//! Locks, copies and counters are called from everywhere. By name alone their time belongs to nobody; by the stack it belongs to the caller
//! that needed them.

use std::collections::HashMap;

use super::rules::Gives;
use super::{Groups, OTHER};
use crate::profile::Profile;
use crate::symbol::Frame;

/// Samples of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The group.
    pub group: String,
    /// Samples by the nearest caller with a group.
    pub by_stack: u64,
    /// Samples in functions that have the group by their own name.
    pub flat: u64,
}

/// A function without a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unruled {
    /// The function.
    pub name: String,
    /// The file or module that has it.
    pub file: String,
    /// Samples in it.
    pub samples: u64,
    /// How many of them no caller has a group for.
    pub other: u64,
}

/// To which group each sample belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribution {
    /// The groups that make up the cost of a packet, in the order of tables; the last is `other`.
    pub groups: Vec<Share>,
    /// Samples of the path: the sum of both columns.
    pub path: u64,
    /// Samples of CPUs without work.
    pub idle: u64,
    /// Samples of other work: timers, other processes, what the path does not contain.
    pub foreign: u64,
    /// Functions of the path without a rule, the heaviest first.
    pub unruled: Vec<Unruled>,
    /// Which group each node of the tree belongs to.
    of_node: Vec<Part>,
}

/// What a node of the tree belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Column(u8),
    Idle,
    Foreign,
}

/// What a node has from its callers.
#[derive(Debug, Clone, Copy)]
struct Inherited {
    nearest: Option<Gives>,
    inside: bool,
    idle: bool,
}

/// What the rules say of a frame.
#[derive(Debug, Clone, Copy)]
struct Ruled {
    gives: Option<Gives>,
    begins: bool,
    idle: bool,
}

impl Groups {
    /// Gives each sample of a profile to a group.
    #[must_use]
    pub fn attribute(&self, profile: &Profile) -> Attribution {
        let ruled: Vec<Ruled> = profile.frames.iter().map(|frame| self.ruled(frame)).collect();
        let of_node = self.parts(profile, &ruled);
        let mut all = Attribution {
            groups: self.columns().map(|g| Share { group: g.to_owned(), by_stack: 0, flat: 0 }).collect(),
            path: 0,
            idle: 0,
            foreign: 0,
            unruled: Vec::new(),
            of_node,
        };
        let other = all.groups.len() as u8 - 1;
        for (node, part) in profile.tree.nodes().iter().zip(&all.of_node) {
            match *part {
                Part::Idle => all.idle += node.samples,
                Part::Foreign => all.foreign += node.samples,
                Part::Column(column) => {
                    let flat = match ruled[node.frame as usize].gives {
                        Some(Gives::Column(flat)) => flat,
                        _ => other,
                    };
                    all.path += node.samples;
                    all.groups[usize::from(column)].by_stack += node.samples;
                    all.groups[usize::from(flat)].flat += node.samples;
                }
            }
        }
        all.unruled = unruled(profile, &ruled, &all.of_node, other);
        all
    }

    fn ruled(&self, frame: &Frame) -> Ruled {
        // Thread 0 is the CPU without work.
        let idle = frame.kind == crate::symbol::Kind::Thread && frame.file == "0";
        Ruled { gives: self.of(frame), begins: self.begins_path(frame), idle }
    }

    /// Callers stand before what they call, so one pass suffices.
    fn parts(&self, profile: &Profile, ruled: &[Ruled]) -> Vec<Part> {
        let nodes = profile.tree.nodes();
        let (mut inherited, mut parts) =
            (Vec::<Inherited>::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
        let top = Inherited { nearest: None, inside: !self.has_path(), idle: false };
        let other = self.columns().count() as u8 - 1;
        for node in nodes {
            let above = node.parent.map_or(top, |parent| inherited[parent as usize]);
            let own = ruled[node.frame as usize];
            let here = Inherited {
                nearest: own.gives.filter(|&gives| gives != Gives::Nothing).or(above.nearest),
                inside: above.inside || own.begins,
                idle: above.idle || own.idle,
            };
            inherited.push(here);
            parts.push(match here.nearest {
                Some(Gives::Foreign) => Part::Foreign,
                Some(Gives::Idle) => Part::Idle,
                _ if !here.inside && here.idle => Part::Idle,
                _ if !here.inside => Part::Foreign,
                Some(Gives::Column(column)) => Part::Column(column),
                Some(Gives::Nothing) | None => Part::Column(other),
            });
        }
        parts
    }
}

impl Attribution {
    /// The name of the group that a node of the tree belongs to.
    #[must_use]
    pub fn group_of(&self, node: usize) -> &str {
        match self.of_node.get(node) {
            Some(&Part::Column(column)) => &self.groups[usize::from(column)].group,
            Some(Part::Idle) => super::IDLE,
            Some(Part::Foreign) => super::FOREIGN,
            None => OTHER,
        }
    }

    /// Whether a node of the tree is idle time.
    #[must_use]
    pub fn is_idle(&self, node: usize) -> bool {
        self.of_node.get(node) == Some(&Part::Idle)
    }
}

fn unruled(profile: &Profile, ruled: &[Ruled], parts: &[Part], other: u8) -> Vec<Unruled> {
    let mut found: HashMap<u32, (u64, u64)> = HashMap::new();
    for (node, part) in profile.tree.nodes().iter().zip(parts) {
        if let Part::Column(column) = *part
            && node.samples > 0
            && ruled[node.frame as usize].gives.is_none()
        {
            let (all, lone) = found.entry(node.frame).or_default();
            *all += node.samples;
            *lone += if column == other { node.samples } else { 0 };
        }
    }
    let named = |(frame, (samples, other)): (u32, (u64, u64))| {
        let Frame { name, file, .. } = profile.frames[frame as usize].clone();
        Unruled { name, file, samples, other }
    };
    let mut all: Vec<Unruled> = found.into_iter().map(named).collect();
    all.sort_by(|a, b| (b.other, b.samples, &a.name).cmp(&(a.other, a.samples, &b.name)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::profile;

    const RULES: &str =
        "path ^poll$\nRX ^poll$\nfree ^free$\nrouting ^route$\nforeign ^tick$\nidle ^halt$\n- ^free_helper$";

    #[test]
    fn helpers_belong_to_their_nearest_caller() {
        let profile = profile(&[
            ("idle halt", 100),
            ("idle start", 10),
            ("idle softirq poll", 1),
            ("idle softirq poll lock", 2),
            ("idle softirq poll free lock", 4),
            ("idle softirq poll free tick lock", 8),
            ("shell write route", 16),
            ("soft poll route free_helper", 32),
        ]);
        let found = Groups::parse(RULES).unwrap().attribute(&profile);
        let shares: Vec<_> = found.groups.iter().map(|g| (g.group.as_str(), g.by_stack, g.flat)).collect();
        assert_eq!(shares, [("RX", 3, 1), ("routing", 32, 0), ("free", 4, 0), ("other", 0, 38)]);
        assert_eq!((found.path, found.idle, found.foreign), (39, 110, 24));
        let unruled: Vec<_> = found.unruled.iter().map(|u| (u.name.as_str(), u.samples, u.other)).collect();
        assert_eq!(unruled, [("lock", 6, 0)]);
    }

    #[test]
    fn without_a_path_all_counts() {
        let found = Groups::parse("RX ^poll$").unwrap().attribute(&profile(&[("a b", 1), ("a poll c", 2)]));
        assert_eq!((found.path, found.foreign), (3, 0));
        assert_eq!(found.unruled[0], Unruled { name: "b".into(), file: String::new(), samples: 1, other: 1 });
        assert_eq!(found.group_of(99), OTHER);
    }
}
