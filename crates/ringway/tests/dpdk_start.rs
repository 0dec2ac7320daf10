//! A process in which DPDK does not start. One test, so that it starts DPDK itself.
#![allow(unsafe_code, reason = "the environment")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::ErrorKind;
use support::dpdk::new_lab;
use support::{assert_clear, try_open};

#[test]
fn the_first_failure_stays() {
    let Some(lab) = new_lab() else { return };
    let set = |value| {
        // SAFETY: this process has no other thread that reads its environment.
        unsafe { std::env::set_var("RINGWAY_DPDK_EAL", value) };
    };
    set("--nonsense");
    let first = try_open(&lab, "dpdk:net_null0").unwrap_err();
    assert_clear(&first, ErrorKind::Io, "dpdk:net_null0", "RINGWAY_DPDK_EAL");
    set("--no-huge -m 128");
    let then = try_open(&lab, "dpdk:net_null1").unwrap_err();
    assert_clear(&then, ErrorKind::Io, "dpdk:net_null1", "start the program again");
    assert_eq!(then.brief(), first.brief());
}
