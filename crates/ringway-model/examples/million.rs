//! How long a flame graph of a million samples takes, all with different stacks.
//!
//! `cargo run --release -p ringway-model --example million`

use std::time::Instant;

use ringway_model::flame::{Merged, Selection, Title, flame_graph};
use ringway_model::group::Groups;
use ringway_model::profile::{About, Builder, Profile};
use ringway_model::symbol::{Frame, Kind};
use ringway_model::time::thread_time;

const SAMPLES: u32 = 1_000_000;
const DEPTH: usize = 24;
const FUNCTIONS: u32 = 4000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frame = |n| Frame {
        kind: if n == 0 { Kind::Thread } else { Kind::Kernel },
        name: format!("function_{n}"),
        file: String::new(),
    };
    let frames: Vec<Frame> = (0..FUNCTIONS).map(frame).collect();
    let groups = Groups::parse("RX _1\\d*$\nTX _2\\d*$\nfree 7$")?;
    let mut random = 1u64;
    let mut draw = |bound: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as u32 % bound
    };
    let stacks: Vec<[u32; DEPTH]> = (0..SAMPLES)
        .map(|_| {
            std::array::from_fn(|depth| {
                if depth == 0 { 0 } else { 1 + draw(if depth < 8 { 3 } else { FUNCTIONS - 1 }) }
            })
        })
        .collect();

    let own = std::process::id() as i32;
    let ran = || thread_time(own).map_or(0.0, |t| t.run_ns as f64 / 1e9);
    let (start, before) = (Instant::now(), ran());
    let mut tree = Builder::default();
    stacks.iter().for_each(|stack| tree.add(stack, 1));
    let profile = Profile { about: About::default(), frames, tree: tree.done() };
    let built = start.elapsed();
    let found = groups.attribute(&profile);
    let mut merged = Merged::default();
    merged.add(&profile, &found, &Selection::default());
    let svg = flame_graph(&merged, &Title { title: "a million".into(), lines: Vec::new() });
    println!(
        "{SAMPLES} samples, {} nodes: tree in {built:.2?}, tree and image of {} bytes in {:.2?}, of which the thread ran {:.2} s",
        profile.tree.nodes().len(),
        svg.len(),
        start.elapsed(),
        ran() - before
    );
    Ok(())
}
