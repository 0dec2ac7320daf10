//! Counters of stages cost a switch that nobody watches no instruction: its way is the one of a build without them.
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
