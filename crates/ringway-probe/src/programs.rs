//! Whether the kernel takes each of Ringway's own programs.

use super::Check;
use super::port_programs;
use ringway_switch::trial;
use ringway_sys::libbpf;

/// Loads the programs of ports, host rings and switches. A refusal has the words of the kernel's verifier. Nothing is attached or
/// pinned. It takes a second or two.
///
/// Ids: `programs-port`, `programs-counts`, `programs-pools`, `programs-host-ring`, `programs-switch`, `programs-interface`.
///
/// ```no_run
/// for check in ringway_probe::programs().iter().filter(|c| c.cure.is_some()) {
///     println!("{check}");
/// }
/// ```
#[must_use]
pub fn programs() -> Vec<Check> {
    libbpf::quiet();
    let own = |programs: &[&str]| port_programs::load(programs).map(drop);
    vec![
        Check::new("programs-port", "programs of ebpf: ports").judge(own(&["nic_rx", "tx"])),
        Check::new("programs-counts", "program that counts refused frames").judge(own(&["taken"])),
        Check::new("programs-pools", "program that sees pools of pages wait").judge(own(&["released"])),
        Check::new("programs-host-ring", "programs of host rings").judge(own(&["host_rx", "tx"])),
        Check::new("programs-switch", "programs of switch ports").judge(trial::ports()),
        Check::new("programs-interface", "programs of interfaces in switches").judge(trial::interfaces()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_them_or_says_why() {
        let root = ringway_sys::is_root();
        for check in programs() {
            assert_eq!(check.cure.is_none(), root, "{check} {:?}", check.cure);
        }
    }
}
