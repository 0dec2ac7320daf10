//! Counters of stages cost a switch or router that nobody watches no instruction: its way is the one of a build without them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod assembly;

use std::collections::{HashSet, VecDeque};

/// All that a burst of plain copies runs once `vale_send` found that the port has no feature.
const PLAIN_WAY: [&str; 8] = [
    "send_plain",
    "decide_all",
    "decide_part",
    "deliver_nth",
    "deliver",
    "whole_frames",
    "wake_receiver",
    "fdb_learn",
];
/// The same for a port with rules.
const WAY_WITH_RULES: [&str; 4] =
    ["send_with_rules", "decide_with_rules", "deliver_mirrored", "deliver_with_rules"];

/// How the assembler calls the kernel's clock, `bpf_ktime_get_ns`.
const CLOCK: &str = "call 5";

#[test]
fn a_switch_that_nobody_watches_runs_no_instruction_more() {
    let bridge = |more: &[&str]| {
        assembly::functions("switch/switch", &[&["-DDECISION=0", "-DOLD_KERNEL=0"], more].concat())
    };
    let (with, without) = (bridge(&[]), bridge(&["-DWITHOUT_STAGES"]));
    for name in PLAIN_WAY.iter().chain(&WAY_WITH_RULES) {
        let (with, without) = (&with[*name], &without[*name]);
        assert!(!with.is_empty() && with == without, "{name}: {} and {}", with.len(), without.len());
    }
    let clocks = |name: &str| with[name].iter().filter(|line| *line == CLOCK).count();
    assert_eq!((clocks("send_plain"), clocks("send_with_rules")), (0, 0));
    assert_eq!((clocks("send_plain_watched"), clocks("send_with_rules_watched")), (2, 2));
    // The frames of a burst pass there, watched or not.
    assert_eq!((clocks("decide_all"), clocks("deliver")), (0, 0));
}

#[test]
fn a_router_that_nobody_watches_runs_no_instruction_more() {
    for (source, program) in [("router/router", "router"), ("router/router_tc", "router_tc")] {
        for build in ["-DOLD_KERNEL=0", "-DOLD_KERNEL=1"] {
            let router =
                |more: &[&str]| assembly::functions(source, &[&["-DDECISION=0", build], more].concat());
            let (without, mut with) = (router(&[]), router(&["-DTIMED"]));
            let count = |lines: &[String], says: &str| lines.iter().filter(|line| *line == says).count();
            for (name, lines) in &without {
                let has_stages = lines.iter().any(|line| line == CLOCK || line.contains("stage"));
                assert!(!lines.is_empty() && !has_stages, "{source}: {name}");
            }
            let timed = with.remove(program).unwrap();
            let first = with.remove("begin_first_stage").unwrap();
            assert_eq!((count(&timed, "call begin_first_stage"), count(&first, CLOCK)), (1, 1));
            // Two borders for each kind of address, and its end.
            assert_eq!(count(&timed, CLOCK), 5);
            assert!(without.keys().all(|name| name == program || with.contains_key(name)));
            assert_eq!(with.len(), without.len() - 1, "nothing else is added");
        }
    }
}

/// The shortest way through a function that has this instruction, but for its labels.
fn shortest(lines: &[String], by: &str) -> Vec<String> {
    let all: Vec<usize> = (0..lines.len()).filter(|n| lines[*n] == by).collect();
    let ways = all.into_iter().filter_map(|at| {
        let mut way = search(lines, 0, |n| n == at)?;
        way.extend(search(lines, at + 1, |n| lines[n] == "exit")?);
        Some(way.into_iter().map(|n| lines[n].clone()).filter(|line| !line.ends_with(':')).collect())
    });
    ways.min_by_key(Vec::len).expect("there is a way")
}

/// The lines from one on to the first that is wanted. Labels cost nothing, and other lines one step.
fn search(lines: &[String], from: usize, wanted: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
    let (mut ways, mut seen) = (VecDeque::from([vec![from]]), HashSet::new());
    while let Some(way) = ways.pop_front() {
        let n = *way.last()?;
        if wanted(n) {
            return Some(way);
        }
        if !seen.insert(n) || lines[n] == "exit" {
            continue;
        }
        let target = lines[n].split_once("goto ").map(|(_, label)| format!("{label}:"));
        let jump = target.and_then(|label| lines.iter().position(|line| *line == label));
        let next = (!lines[n].starts_with("goto ")).then_some(n + 1);
        for to in jump.into_iter().chain(next) {
            let more = [&way[..], &[to]].concat();
            if lines[to].ends_with(':') { ways.push_front(more) } else { ways.push_back(more) }
        }
    }
    None
}

/// The first frame of a tick looks for a watcher. The others go another way.
#[test]
fn a_frame_of_an_interface_that_nobody_watches_runs_no_instruction_more() {
    for build in ["-DOLD_KERNEL=0", "-DOLD_KERNEL=1"] {
        // How the assembler calls bpf_redirect_map, for a frame to another interface.
        for (decision, calls) in [
            ("-DDECISION=0", &["call 51", "call slow_wire", "call flood_wire", "call enter_with_rules"][..]),
            ("-DDECISION=1", &["call flood_wire", "call enter_with_rules"]),
            ("-DDECISION=2", &["call enter_with_rules"]),
        ] {
            let nic = |more: &[&str]| assembly::with_labels("nic/nic", &[&[decision, build], more].concat());
            let (with, without) = (nic(&[]), nic(&["-DWITHOUT_STAGES"]));
            for call in calls {
                let [with, without] = [&with, &without].map(|of| shortest(&of["vale_wire"], call));
                let calls = |way: &[String]| -> Vec<_> {
                    way.iter().filter(|line| line.starts_with("call ")).cloned().collect()
                };
                assert_eq!(calls(&with), calls(&without), "{build} {decision}");
                assert!(!calls(&with).contains(&"call begin_tick".to_owned()), "{with:?}");
                // For old kernels clang moves some registers more on the ways of hubs and rules.
                let is_plain = decision == "-DDECISION=0" && *call != "call enter_with_rules";
                let most = without.len() + if build == "-DOLD_KERNEL=0" || is_plain { 0 } else { 2 };
                assert!(with.len() <= most, "{call}: {} and {}", with.len(), without.len());
            }
            let same =
                ["flood_wire", "slow_wire", "deliver_wire", "enter_with_rules", "finish_wire", "find_wire"];
            for name in same {
                let [with, without] = [&with, &without].map(|of| &of[name]);
                assert!(with == without, "{name}: {} and {}", with.len(), without.len());
            }
            // A frame that a member by tc gives to one interface: bpf_redirect.
            let [with_skb, without_skb] = [&with, &without].map(|of| shortest(&of["vale_skb"], "call 23"));
            assert!(with_skb.len() <= without_skb.len(), "{build} {decision}: {with_skb:?}");
            let clocks = |name: &str| with[name].iter().filter(|line| *line == CLOCK).count();
            assert_eq!(clocks("vale_wire"), 0);
            assert!(clocks("route_timed") > 1 && clocks("route_with_rules_timed") > 1);
        }
    }
}
