//! Places of boxes. A box narrower than a tenth of a pixel is not drawn, and counted; nobody looks at what is below it.

use super::merged::Merged;

/// Pixels from the left edge to the right one.
pub(super) const WIDTH: f64 = 1200.0;
/// Below so many pixels a box is not drawn.
const NARROWEST: f64 = 0.1;

/// A function on a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place<'a> {
    /// Its name, by its place among the labels.
    pub(super) label: u32,
    /// The group of its own samples.
    pub(super) group: &'a str,
    /// Callers above it.
    pub(super) depth: usize,
    /// Where it begins, and its width, in pixels.
    pub(super) x: f64,
    pub(super) width: f64,
    /// Samples of both sides.
    pub(super) total: [u64; 2],
}

/// All boxes.
#[derive(Debug, Default)]
pub(super) struct Layout<'a> {
    pub(super) places: Vec<Place<'a>>,
    /// The longest path.
    pub(super) depth: usize,
    /// Functions that are too narrow, with those below them, and the samples in them.
    pub(super) narrow: u64,
    pub(super) narrow_samples: u64,
    /// Samples of the other side in stacks that the drawn side does not have.
    pub(super) gone: u64,
}

/// The calls that are drawn as one box: a side and a node for each.
type Calls = Vec<(usize, u32)>;

/// What lies above a box: its caller's calls, `None` above threads.
struct Task {
    calls: Option<Calls>,
    depth: usize,
    x: f64,
}

/// Lays boxes out, as wide as the samples of one side.
pub(super) fn layout<'a>(merged: &Merged<'a>, side: usize) -> Layout<'a> {
    let all = merged.samples(side);
    let scale = if all > 0 { WIDTH / all as f64 } else { 0.0 };
    let ranks = ranks(merged);
    let mut out = Layout::default();
    let mut tasks = vec![Task { calls: None, depth: 0, x: 0.0 }];
    while let Some(task) = tasks.pop() {
        let mut x = task.x;
        for calls in by_name(merged, &ranks, task.calls.as_ref()) {
            let total = total(merged, &calls);
            let width = total[side] as f64 * scale;
            if width < NARROWEST {
                out.skip(merged, &calls, total, side);
            } else if let Some(&(owner, node)) = calls.iter().find(|call| call.0 == side) {
                let of = &merged.sides[owner];
                let label = of.labels[of.profile.tree.nodes()[node as usize].frame as usize];
                let group = of.found.group_of(node as usize);
                out.places.push(Place { label, group, depth: task.depth, x, width, total });
                out.depth = out.depth.max(task.depth + 1);
                tasks.push(Task { calls: Some(calls), depth: task.depth + 1, x });
            }
            x += width;
        }
    }
    out
}

impl Layout<'_> {
    fn skip(&mut self, merged: &Merged<'_>, calls: &Calls, total: [u64; 2], side: usize) {
        self.narrow_samples += total[side];
        if total[side] == 0 {
            self.gone += total[1 - side];
        } else {
            let sizes = calls
                .iter()
                .filter(|call| call.0 == side)
                .map(|&(side, node)| merged.sides[side].sizes[node as usize]);
            self.narrow += sizes.map(u64::from).sum::<u64>();
        }
    }
}

/// The place of each label in the order of names, so that sorting compares numbers.
fn ranks(merged: &Merged<'_>) -> Vec<u32> {
    let mut order: Vec<usize> = (0..merged.labels.len()).collect();
    order.sort_unstable_by_key(|&label| (&merged.labels[label].name, merged.labels[label].kind));
    let mut ranks = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&label, rank)| ranks[label] = rank);
    ranks
}

/// What some calls call, the calls of one function together, in the order of names. Without calls: all threads.
fn by_name(merged: &Merged<'_>, ranks: &[u32], calls: Option<&Calls>) -> Vec<Calls> {
    let mut found: Vec<(u32, usize, u32)> = Vec::new();
    let mut children = |side: usize, mut child: u32, end: u32| {
        let of = &merged.sides[side];
        while child < end {
            if of.totals[child as usize] > 0 {
                let frame = of.profile.tree.nodes()[child as usize].frame;
                found.push((ranks[of.labels[frame as usize] as usize], side, child));
            }
            child += of.sizes[child as usize];
        }
    };
    match calls {
        None => {
            merged.sides.iter().enumerate().for_each(|(side, of)| children(side, 0, of.sizes.len() as u32))
        }
        Some(calls) => {
            calls.iter().for_each(|&(side, node)| {
                children(side, node + 1, node + merged.sides[side].sizes[node as usize])
            });
        }
    }
    found.sort_unstable();
    found
        .chunk_by(|a, b| a.0 == b.0)
        .map(|run| run.iter().map(|&(_, side, node)| (side, node)).collect())
        .collect()
}

fn total(merged: &Merged<'_>, calls: &Calls) -> [u64; 2] {
    let mut total = [0; 2];
    calls.iter().for_each(|&(side, node)| total[side] += merged.sides[side].totals[node as usize]);
    total
}
