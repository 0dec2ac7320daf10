//! What comes after the router: rules that it may not go around, and far ends that take no frames any more.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bed::{B4, Bed};
use crate::support::LIMIT;

const GAP: Duration = Duration::from_millis(5);

/// Waits until the router is as wanted.
fn wait(bed: &Bed, wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + LIMIT;
    loop {
        let router = bed.router("vale0");
        if wanted(&router) {
            return router;
        }
        assert!(Instant::now() < end, "{router:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_free(router: &Value) -> bool {
    router["ready"] == true && router["status"]["hindrance"].is_null()
}

#[test]
fn rules_that_come_later_are_not_gone_around() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    wait(&bed, is_free);
    for (add, del, what) in [
        ("rule add from 10.9.0.0/16 lookup 100 priority 500", "rule del priority 500", "priority 500"),
        (
            "xfrm policy add src 10.8.1.0/24 dst 10.8.2.0/24 dir fwd",
            "xfrm policy deleteall",
            "1 IPsec policies",
        ),
    ] {
        bed.ip(add);
        let hindered = wait(&bed, |r| r["ready"] == false && r["status"]["hindrance"].is_string());
        let why = hindered["status"]["hindrance"].as_str().unwrap();
        assert!(why.contains(what) && why.contains("--bypass"), "{why}");
        let forwarded = bed.count("vale0", "forwarded");
        assert_eq!(bed.exchange(B4, 20, GAP), 0, "the kernel forwards");
        assert_eq!(bed.count("vale0", "forwarded"), forwarded, "and nobody else");
        for command in [&["router", "list"][..], &["router", "sync"], &["router", "get", B4]] {
            bed.room.until(|| bed.room.run(command).stdout.contains(what));
        }

        bed.ip(del);
        wait(&bed, is_free);
        bed.forwards("vale0", B4, 20, GAP);
    }
}

#[test]
fn a_far_end_that_stops_running_napi() {
    let Some(bed) = Bed::new() else { return };
    bed.make_with("vale0", &["--path", "xdp"]);
    let is_member = |router: &Value| {
        router["members"].as_array().unwrap().iter().any(|m| m["name"] == "rb" && m["gone"] == false)
    };
    assert!(is_member(&bed.router("vale0")));
    bed.b.exec("ethtool", &["-K", "b0", "gro", "off"]).unwrap();
    wait(&bed, |r| !is_member(r));
    assert_eq!(bed.exchange(B4, 20, GAP), 0, "the kernel forwards to it");
    bed.b.exec("ethtool", &["-K", "b0", "gro", "on"]).unwrap();
    wait(&bed, is_member);
    bed.forwards("vale0", B4, 20, GAP);
}

/// The kernel's message that an interface is gone comes a little after it: what is tried until then is no news for the log.
#[test]
fn interfaces_that_vanish_are_no_news() {
    let Some(bed) = Bed::new() else { return };
    let pair = "link add x0 type veth peer name x1\nlink set x0 up\nlink set x1 up";
    bed.ip(pair);
    bed.make("vale0");
    for _ in 0..5 {
        bed.room.until(|| bed.has_program("x0") && bed.has_program("x1"));
        bed.ip("link del x0");
        std::thread::sleep(Duration::from_millis(100)); // some looks of the process
        bed.ip(pair);
    }
    bed.room.until(|| bed.has_program("x0") && bed.has_program("x1"));
    let log = std::fs::read_to_string(bed.room.path("run/vale0.log")).unwrap();
    assert!(log.contains("x0: member again"), "{log}");
    assert!(!log.contains("no such") && !log.contains("No such"), "{log}");
}
