//! More than fits: clear words, and what was there goes on.

use ringway::ErrorKind;
use ringway_fwd::control::Limits;
use ringway_fwd::router::HostReason;
use ringway_lab::AnyError;
use ringway_router::user::{Options, Router, Side, Watch};

use crate::bed::{Bed, eventually, ping};

fn sides(names: &[&str]) -> Vec<Side> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// Whether a packet passes by the fast path.
fn passes(bed: &Bed, watch: &Watch) -> bool {
    let before = watch.counts(0).forwarded;
    ping(&bed.a, "10.1.0.2") && watch.counts(0).forwarded > before
}

/// What opening a router in R says.
fn refused(bed: &Bed, options: &Options) -> ringway::Error {
    bed.r.run(|| Ok::<_, AnyError>(Router::open(options).unwrap_err())).unwrap()
}

#[test]
fn sides_that_cannot_be_served() {
    let Some(bed) = Bed::new() else { return };
    let e = refused(&bed, &Options::new(sides(&["r0", "absent"])));
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().starts_with("absent: there is no such interface"), "{e}");
    let e = refused(&bed, &Options::new(sides(&["r0", "r1", "r0=null:,null:"])));
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.to_string().starts_with("r0: the interface is named twice"), "{e}");
    let links: String =
        (0..129).map(|i| format!("link add d{i} type veth peer name d{}\n", 129 + i)).collect();
    let file = std::env::temp_dir().join(format!("ringway-user-{}", std::process::id()));
    std::fs::write(&file, links).unwrap();
    let added = bed.r.exec("ip", &["-batch", &file.display().to_string()]);
    std::fs::remove_file(&file).unwrap();
    added.unwrap();
    let many: Vec<_> = (0..257).map(|i| format!("d{i}=null:,null:")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let e = refused(&bed, &Options::new(sides(&many)));
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.to_string().contains("257 interfaces; a router serves 256 at most"), "{e}");
    let e = refused(&bed, &Options::new(sides(&["r0", "r1=ebpf:absent,null:"])));
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("ebpf:absent"), "{e}");
}

#[test]
fn tables_that_cannot_be_named() {
    let Some(bed) = Bed::new() else { return };
    let mut options = Options::new(sides(&["r0=null:,null:"]));
    options.tables.fib4 = ringway_fib::Limits { words: u32::MAX };
    let e = refused(&bed, &options);
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.to_string().contains("words can be named"), "{e}");
}

/// What goes to next hops without a number goes to the host, which forwards it, and all does while a route has no place; what is taken away
/// makes room.
#[test]
fn more_routes_and_next_hops_than_fit() {
    let Some(bed) = Bed::new() else { return };
    let mut options = Options::new(sides(&["r0", "r1"]));
    options.tables.next_hops = Limits { next_hops: 24, groups: 1 };
    let routes = |verb: &str| {
        for i in 0..40 {
            bed.r.ip(&format!("route {verb} 192.0.{i}.0/24 via 10.1.0.{}", 100 + i)).unwrap();
        }
    };
    bed.routed_by(&options, |watch| {
        eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
        routes("add");
        eventually("next hops are full", || {
            watch.status().trouble.is_some_and(|t| t.contains("all 24 next hops are in use"))
        });
        assert!(!watch.status().in_sync && watch.status().pending > 0);
        eventually("what was there goes on", || passes(&bed, watch));
        routes("del");
        eventually("all fits again", || watch.status().in_sync && watch.status().pending == 0);
    });

    options.tables.next_hops = Limits::default();
    options.tables.fib4 = ringway_fib::Limits { words: 1024 };
    let long = |verb: &str| {
        for i in 0..200 {
            bed.r.ip(&format!("route {verb} 198.18.{i}.7/32 via 10.1.0.2")).unwrap();
        }
    };
    bed.routed_by(&options, |watch| {
        eventually("B is reached", || ping(&bed.a, "10.1.0.2"));
        long("add");
        eventually("the table is full", || watch.status().trouble.is_some_and(|t| t.contains("table full")));
        // A packet to a route that is not there would take a shorter one's way: the kernel has them all.
        let not_ready = || watch.counts(0).host(HostReason::NotReady);
        eventually("all goes to the host", || {
            let before = (watch.counts(0).forwarded, not_ready());
            ping(&bed.a, "10.1.0.2") && not_ready() > before.1 && watch.counts(0).forwarded == before.0
        });
        long("del");
        eventually("all fits again", || watch.status().in_sync);
        eventually("the fast path goes on", || passes(&bed, watch));
    });
}
