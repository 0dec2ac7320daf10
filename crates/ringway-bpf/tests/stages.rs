//! Counters of stages cost a switch or router that nobody watches no instruction: its way is the one of a build without them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod assembly;

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
