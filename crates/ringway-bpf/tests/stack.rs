//! The stack of each path of calls is small enough for the verifier of the oldest kernel.
#![allow(clippy::unwrap_used, reason = "tests")]

mod assembly;

use std::collections::{BTreeMap, BTreeSet};

/// What all calls on a path may have together, in bytes, and how many calls a path may have: `MAX_BPF_STACK` and `MAX_CALL_FRAMES` of
/// Linux's `include/linux/bpf_verifier.h`.
const MOST: (u32, usize) = (512, 8);

/// The verifier of Linux 6.1 counts each frame up to a multiple of it, and an empty one as one of them.
const STEP: u32 = 32;

/// What one function has on the stack, in bytes, and which it calls or hands to the kernel to call.
#[derive(Debug, Default, PartialEq)]
struct Frame {
    bytes: u32,
    calls: BTreeSet<String>,
}

impl Frame {
    fn new(instructions: &[String]) -> Self {
        let mut frame = Self::default();
        // Registers that hold the frame's address.
        let mut bases = BTreeSet::from(["r10".to_owned()]);
        for line in instructions {
            let words: Vec<&str> = line.split([' ', '(', ')']).filter(|w| !w.is_empty()).collect();
            for three in words.windows(3).filter(|three| three[1] == "-" && bases.contains(three[0])) {
                frame.bytes = frame.bytes.max(three[2].parse().unwrap_or(0));
            }
            match words[..] {
                ["call", name] | [_, "=", name, "ll"] => {
                    frame.calls.insert(name.to_owned());
                }
                [to, "=", from] if bases.contains(from) => {
                    bases.insert(to.to_owned());
                }
                [to, "+=", offset] if bases.contains(to) => {
                    let below = offset.strip_prefix('-').and_then(|bytes| bytes.parse().ok());
                    frame.bytes = frame.bytes.max(below.unwrap_or(0));
                    bases.remove(to);
                }
                [to, "=", ..] if to != "r10" => {
                    bases.remove(to);
                }
                _ => {}
            }
        }
        frame
    }

    fn counted(&self) -> u32 {
        self.bytes.max(1).next_multiple_of(STEP)
    }
}

/// The path of calls from `name` on that has the most stack, and its bytes.
fn deepest(frames: &BTreeMap<String, Frame>, name: &str) -> (u32, Vec<String>) {
    let own = &frames[name];
    // Names of maps and of helpers are not among the functions.
    let called = own.calls.iter().filter(|callee| frames.contains_key(*callee));
    let (bytes, mut path) = called.map(|callee| deepest(frames, callee)).max().unwrap_or_default();
    path.insert(0, format!("{name} {}", own.bytes));
    (bytes + own.counted(), path)
}

/// The most calls on a path from `name` on.
fn longest(frames: &BTreeMap<String, Frame>, name: &str) -> usize {
    let called = frames[name].calls.iter().filter(|callee| frames.contains_key(*callee));
    1 + called.map(|callee| longest(frames, callee)).max().unwrap_or(0)
}

/// Asserts the bounds for all paths of one object; returns the most stack there.
fn check(source: &str, definitions: &[&str]) -> u32 {
    let functions = assembly::functions(source, definitions);
    let frames: BTreeMap<String, Frame> =
        functions.iter().map(|(name, lines)| (name.clone(), Frame::new(lines))).collect();
    assert!(!frames.is_empty(), "{source}");
    let paths = frames.keys().map(|name| (deepest(&frames, name), longest(&frames, name)));
    paths.fold(0, |most, ((bytes, path), calls)| {
        assert!(bytes <= MOST.0 && calls <= MOST.1, "{source} {definitions:?}: {bytes} bytes, {path:?}");
        most.max(bytes)
    })
}

#[test]
fn no_path_of_calls_has_more_stack_than_the_oldest_kernel_gives() {
    for source in ["port/xsk", "common/probe", "switch/look"] {
        check(source, &[]);
    }
    for build in ["-DOLD_KERNEL=0", "-DOLD_KERNEL=1"] {
        check("port/port", &["-DDECISION=0", build]);
        for source in ["router/router", "router/router_tc"] {
            check(source, &["-DDECISION=0", build]);
            check(source, &["-DDECISION=0", build, "-DTIMED"]);
        }
        for decision in ["-DDECISION=0", "-DDECISION=1", "-DDECISION=2"] {
            // A switch has rules, mirrors and tags on one path.
            assert!(check("switch/switch", &[decision, build]) > 256);
            check("nic/nic", &[decision, build]);
        }
    }
}

#[test]
fn a_frame_has_what_its_instructions_reach() {
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let frame = Frame::new(&lines(
        "*(u64 *)(r10 - 16) = r2
         r2 = r10
         r2 += -40
         r2 = r1
         r2 += -400
         r3 = step ll
         call 181
         call far",
    ));
    assert_eq!(frame.bytes, 40);
    assert_eq!(frame.calls, ["181", "far", "step"].map(str::to_owned).into());
    let frames = BTreeMap::from([
        ("far".to_owned(), Frame::default()),
        ("step".to_owned(), Frame { bytes: 33, calls: BTreeSet::new() }),
        ("root".to_owned(), frame),
    ]);
    assert_eq!(deepest(&frames, "root"), (128, vec!["root 40".into(), "step 33".into()]));
    assert_eq!(longest(&frames, "root"), 2);
}
