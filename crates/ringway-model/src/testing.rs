//! What tests of several modules need.

use crate::profile::{About, Builder, Profile};
use crate::symbol::{Frame, Kind};

/// A profile of stacks, whose words are functions of the kernel behind a thread.
pub(crate) fn profile(stacks: &[(&str, u64)]) -> Profile {
    let (mut frames, mut tree) = (Vec::<Frame>::new(), Builder::default());
    for (stack, samples) in stacks {
        let mut number = |(n, word): (usize, &str)| {
            let kind = if n == 0 { Kind::Thread } else { Kind::Kernel };
            let file = if word == "idle" { "0".into() } else { String::new() };
            let frame = Frame { kind, name: word.to_owned(), file };
            frames.iter().position(|f| *f == frame).unwrap_or_else(|| {
                frames.push(frame);
                frames.len() - 1
            }) as u32
        };
        let stack: Vec<u32> = stack.split(' ').enumerate().map(&mut number).collect();
        tree.add(&stack, *samples);
    }
    Profile { about: About::default(), frames, tree: tree.done() }
}
