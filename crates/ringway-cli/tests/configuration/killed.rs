//! `ringway apply` is killed at any moment, and the next run makes the rest.

use std::time::{Duration, Instant};

use crate::bed::{Bed, routers, switches};

/// Moments at which it is killed; `RINGWAY_KILLS` is another number.
fn kills() -> u32 {
    std::env::var("RINGWAY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

#[test]
fn the_next_run_makes_the_rest() {
    let Some(bed) = Bed::new(4) else { return };
    let all = switches(2, 2)
        + &routers(1)
        + "[switch.vale0.member.e2]\n[switch.vale1.member.e3]\nvlan = \"access:10\"\n";
    bed.write("a.toml", &all);
    let begun = Instant::now();
    bed.applied(&[]);
    let within = begun.elapsed();
    let count = kills();
    for n in 0..count {
        bed.write("a.toml", "");
        let emptied = bed.apply(&["--prune"]);
        assert_eq!(emptied.code, Some(0), "{emptied:?}");
        assert!(bed.names().is_empty());
        bed.write("a.toml", &all);
        let running = bed.room.start(&["apply", "--config", &bed.folder]);
        let after: Duration = within * (n * 7 % count) / count;
        std::thread::sleep(after);
        running.signal(libc::SIGKILL);
        running.end();
        let rest = bed.apply(&[]);
        assert_eq!(rest.code, Some(0), "killed after {after:?}: {rest:?}");
        let again = bed.apply(&["--prune"]);
        assert_eq!(again.stdout, "nothing to do\n", "killed after {after:?}: {again:?}");
        assert_eq!(bed.ports("vale1"), ["e3", "p0", "p1"]);
    }
}
