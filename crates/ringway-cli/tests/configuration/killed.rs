//! `ringway apply` is killed at any moment, and the next run makes the rest.

use std::time::{Duration, Instant};

use ringway_lab::Lab;

use crate::bed::{Bed, routers, switches};

/// Moments at which it is killed; `RINGWAY_KILLS` is another number.
fn kills() -> u32 {
    std::env::var("RINGWAY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

/// How long a whole run takes.
fn timed(bed: &Bed, options: &[&str]) -> Duration {
    let begun = Instant::now();
    bed.applied(options);
    begun.elapsed()
}

/// A run that is killed after a while, and one that makes the rest.
fn killed(bed: &Bed, options: &[&str], after: Duration) {
    let running = bed.room.start(&[&["apply", "--config", &bed.folder], options].concat());
    std::thread::sleep(after);
    running.signal(libc::SIGKILL);
    running.end();
    let rest = bed.apply(options);
    assert_eq!(rest.code, Some(0), "killed after {after:?}: {rest:?}");
    let again = bed.apply(&["--prune"]);
    assert_eq!(again.stdout, "nothing to do\n", "killed after {after:?}: {again:?}");
}

#[test]
fn the_next_run_makes_the_rest() {
    let far = ringway_lab::is_root().then(|| Lab::new().unwrap());
    let Some(bed) = Bed::new(4) else { return };
    let far = far.as_ref().unwrap();
    far.veth("x0", "y0").unwrap();
    let all = switches(2, 2)
        + &routers(1)
        + &format!("[switch.vale0.port.m1]\nmemif = \"@ringway-killed-{}\"\n", std::process::id())
        + "[switch.vale0.member.e2]\n[switch.vale1.member.e3]\nvlan = \"access:10\"\n"
        + &format!("[switch.vale1.member.far]\ninterface = \"x0\"\nnetns = \"{}\"\n", far.name())
        + "[switch.vale0.fdb.\"02:00:00:00:00:01\"]\nport = \"e2\"\n"
        + "[switch.vale1.fdb.\"02:00:00:00:00:02\"]\nblackhole = true\n";
    bed.write("a.toml", &all);
    let making = timed(&bed, &[]);
    bed.write("a.toml", "");
    let removing = timed(&bed, &["--prune"]);
    let count = kills();
    for moment in (0..count).map(|n| n * 7 % count) {
        bed.write("a.toml", &all);
        killed(&bed, &[], making * moment / count);
        assert_eq!(bed.ports("vale1"), ["e3", "far", "p0", "p1"]);
        bed.write("a.toml", "");
        killed(&bed, &["--prune"], removing * moment / count);
        assert!(bed.names().is_empty());
    }
}
