//! Routes that change, messages that are lost, a process that dies.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use ringway_fwd::control::Check;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::Spec;

use crate::bed::{B4, B6, Bed, SHORT, Source};
use crate::support::LIMIT;

const GAP: Duration = Duration::from_millis(1);

/// `verb` for `n` IPv4 and `n` IPv6 routes from the `first` on.
fn routes(verb: &str, first: u32, n: u32) -> String {
    (first..first + n).fold(String::new(), |mut text, i| {
        writeln!(text, "route {verb} 60.{}.{}.0/24 via 10.0.2.{}", i / 256, i % 256, 2 + i % 100).unwrap();
        writeln!(text, "route {verb} 2001:db8:{i:x}::/48 via fd00:2::{:x}", 2 + i % 100).unwrap();
        text
    })
}

/// 10,000 changes a second, and another flow.
#[test]
fn routes_that_flap_cost_no_packet_of_others() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let sources = [B4, B6].map(|to| Source::open(&bed.a, to));
    // while its process stands still for 3 s the kernel forwards
    let counts = || ["forwarded", "not_ready"].map(|outcome| bed.count("vale0", outcome));
    let before = counts();
    let (flaps, done) = ([routes("add", 0, 1250), routes("del", 0, 1250)], AtomicBool::new(false));
    let (lost, changes) = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let (start, mut changes) = (Instant::now(), 0u32);
            for batch in flaps.iter().cycle().take_while(|_| !done.load(Relaxed)) {
                bed.ip(batch);
                changes += 2500;
                let due = start + Duration::from_micros(100) * changes;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            (changes, f64::from(changes) / start.elapsed().as_secs_f64())
        });
        let lost = sources.map(|s| scope.spawn(move || s.exchange(5000, GAP))).map(|t| t.join().unwrap());
        done.store(true, Relaxed);
        (lost, changes.join().unwrap())
    });
    println!("{changes:?}: changes, and a second");
    assert_eq!(lost, [0, 0]);
    let [fast, by_kernel] = [0, 1].map(|i| counts()[i] - before[i]);
    assert!(
        fast + by_kernel >= 20_000 && fast >= 5_000,
        "{fast} by the fast path, {by_kernel} by the kernel"
    );
    assert!(changes.0 >= 5_000, "{changes:?}");
    bed.ip(&flaps[1].replace("route del", "route replace"));
    bed.ip(&flaps[1]);
    assert_eq!(bed.room.json(&["router", "sync"])["fib_in_sync"], true);
    assert_eq!(bed.room.json(&["router", "sync"])["wrong"], 0);
}

/// Turns until nothing is in doubt, and tells how long that took.
fn settle(engine: &mut Engine) -> Duration {
    let start = Instant::now();
    loop {
        engine.turn().unwrap();
        if engine.in_sync() && engine.wait() > Duration::from_millis(2) {
            let (found, wrong) = engine.sync().unwrap();
            if found == Check::Equal && wrong == 0 {
                return start.elapsed();
            }
        }
        assert!(start.elapsed() < LIMIT, "{:?}", engine.health());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn messages_that_are_lost_are_made_up_for() {
    let Some(bed) = Bed::new() else { return };
    ringway::pinned::set_root(bed.room.path("bpf/ringway")).unwrap();
    let mut options = Options::default();
    options.follow.buffer = 4096;
    let (mut engine, warnings) = Engine::create("vale0", &Spec::default(), &options).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    settle(&mut engine);
    let flaps = |dev: &str| format!("link set {dev} down\nlink set {dev} up\n").repeat(5);
    bed.ip(&(flaps("rb") + "addr add fd00:2::1/64 dev rb nodad"));
    bed.ip(&routes("add", 0, 2500));
    bed.ip(&routes("del", 500, 1000));
    bed.ip(&routes("add", 500, 1000));
    bed.ip(&flaps("ra"));
    bed.r.ip("link del rb").unwrap();
    bed.b.veth_to("b0", &bed.r, "rb").unwrap();
    bed.b.run_napi("b0").unwrap();
    bed.ip(
        "addr add 10.0.2.1/24 dev rb\naddr add fd00:2::1/64 dev rb nodad\nroute add 61.0.0.0/8 via 10.0.2.2",
    );
    let took = settle(&mut engine);
    let health = engine.health();
    println!("equal {took:.0?} after the burst; {health:?}");
    assert!(health.overruns > 0, "{health:?}");

    let end = Instant::now() + LIMIT;
    let joined = |engine: &Engine| engine.router().members().iter().filter(|m| !m.gone).count();
    while joined(&engine) < 2 && Instant::now() < end {
        engine.turn().unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(joined(&engine), 2, "the new interface is a member: {:?}", engine.notes());
    assert!(engine.notes().iter().any(|note| note == "rb: member again"));
    engine.delete().unwrap();
    assert!(!bed.has_program("ra") && !bed.has_program("rb"));
}

fn kill(pid: u64, signal: Signal) {
    nix::sys::signal::kill(Pid::from_raw(pid as i32), signal).unwrap();
}

#[test]
fn a_process_that_dies_is_replaced() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let pid = bed.pid("vale0").unwrap();
    let killed = Instant::now();
    kill(pid, Signal::SIGKILL);
    let source = Source::open(&bed.a, B4);
    // over the moment at which the kernel takes over
    assert_eq!(source.exchange(4500, GAP), 0);
    assert!(killed.elapsed() > Duration::from_secs(4));
    let router = bed.router("vale0");
    assert_eq!((&router["ready"], router["pid"].as_u64()), (&false.into(), None), "{router}");
    assert!(bed.count("vale0", "not_ready") > 100, "the kernel forwards");
    assert!(bed.room.run(&["router", "show"]).error(1).contains("`ringway router sync -r vale0` starts one"));

    bed.ip("route add blackhole 198.51.100.0/24");
    let synced = bed.room.json(&["router", "sync"]);
    assert_eq!((&synced["started"], &synced["fib_in_sync"]), (&true.into(), &true.into()), "{synced}");
    assert_eq!(bed.room.json(&["router", "get", "198.51.100.1"])["reason"], "blackhole");
    bed.forwards("vale0", B4, 100, GAP);
    assert_ne!(bed.pid("vale0"), Some(pid));
    kill(bed.pid("vale0").unwrap(), Signal::SIGKILL);
    assert_eq!(bed.room.json(&["router", "sync"])["started"], true, "though it died a moment ago");
    // at once by another one: no packet is lost between the two
    let pid = bed.pid("vale0").unwrap();
    let lost = std::thread::scope(|scope| {
        let flow = scope.spawn(|| source.exchange(2000, GAP));
        kill(pid, Signal::SIGTERM);
        bed.room.until(|| bed.pid("vale0").is_none());
        let again = bed.room.json(&["router", "add", "vale0"]);
        assert_eq!(again["taken_over"], true);
        flow.join().unwrap()
    });
    assert_eq!(lost, 0);
}

#[test]
fn neighbours_in_use_are_examined() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let state = || {
        let shown =
            std::process::Command::new("ip").args(["-n", bed.r.name(), "neigh", "show", "10.0.2.2"]).output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    };
    // unless it is examined in between
    bed.room.until(|| {
        bed.ip("neigh change 10.0.2.2 dev rb nud stale");
        state().contains("STALE")
    });
    let source = Source::open(&bed.a, B4);
    // the walk is every 5 s, then the kernel waits for 5 s whether somebody else vouches for the neighbour
    let end = Instant::now() + LIMIT;
    while !state().contains("REACHABLE") && Instant::now() < end {
        assert_eq!(source.exchange(100, GAP), 0);
    }
    assert!(state().contains("REACHABLE"), "{}", state());
}

#[test]
fn settings_and_link_addresses_are_followed() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    let sysctl = |setting: &str| bed.r.exec("sysctl", &["-qw", setting]).unwrap();
    let forwards = || {
        bed.router("vale0")["members"]
            .as_array()
            .unwrap()
            .iter()
            .any(|m| m["name"] == "ra" && m["forwards4"] == true)
    };
    let get = |words: &str| {
        let words: Vec<_> = ["router", "get"].into_iter().chain(words.split(' ')).collect();
        bed.room.json(&words)["reason"].as_str().unwrap().to_owned()
    };
    sysctl("net.ipv4.conf.ra.rp_filter=1");
    bed.room.until(|| get("10.0.2.2 from 10.0.2.9 iif ra") == "reverse_path");
    assert_eq!(get("10.0.2.2 from 10.0.1.9 iif ra"), "forwarded");
    bed.ip("route add 192.0.2.0/24 tos 0x10 via 10.0.1.2");
    bed.room.until(|| get("10.0.2.2 from 192.0.2.1 iif ra") == "kernel_route");
    // the larger one counts: at no moment there is no filter
    sysctl("net.ipv4.conf.all.rp_filter=2");
    sysctl("net.ipv4.conf.ra.rp_filter=0");
    bed.room.until(|| get("10.0.2.2 from 10.0.2.9 iif ra") == "forwarded");
    // loose: the two settings are taken in one after the other
    bed.room.until(|| get("10.0.2.2 from 203.0.113.1 iif ra") == "reverse_path");
    sysctl("net.ipv4.conf.ra.forwarding=0");
    bed.room.until(|| !forwards());
    assert_eq!(get("10.0.2.2 from 10.0.1.9 iif ra"), "not_forwarding");
    sysctl("net.ipv4.conf.ra.forwarding=1");
    bed.room.until(forwards);
    bed.ip("link set ra address 02:00:00:00:00:77");
    // the host asks for the new address before it is of use
    bed.a.ip("neigh flush dev a0").unwrap();
    let fast = || {
        let before = bed.count("vale0", "forwarded");
        let lost = Source::open(&bed.a, B4).exchange_within(50, GAP, SHORT);
        lost == 0 && bed.count("vale0", "forwarded") - before >= 100
    };
    bed.room.until(fast);
}

#[test]
fn who_goes_on_goes_on_as_it_was() {
    let Some(bed) = Bed::new() else { return };
    let add = ["router", "add", "vale0"];
    bed.room.json(&[&add[..], &["--rpf6", "strict", "ra", "rb"]].concat());
    let orphan = || {
        kill(bed.pid("vale0").unwrap(), Signal::SIGKILL);
        bed.room.until(|| bed.pid("vale0").is_none());
    };
    orphan();
    bed.a.enter().unwrap();
    let elsewhere = bed.room.run(&add);
    bed.r.enter().unwrap();
    assert!(elsewhere.error(1).contains("made in another network namespace"), "{elsewhere:?}");
    let larger = bed.room.run(&[&add[..], &["--tables", "2"]].concat());
    assert!(larger.error(1).contains("has other sizes or budgets"), "{larger:?}");
    assert_eq!(bed.room.json(&add)["taken_over"], true);
    let spoofed = ["router", "get", "fd00:2::2", "from", "fd00:2::9", "iif", "ra"];
    assert_eq!(bed.room.json(&spoofed)["reason"], "reverse_path", "its options are as the time before");

    bed.room.json(&["router", "port", "del", "vale0:rb"]);
    orphan();
    assert_eq!(
        bed.room.json(&add)["members"],
        serde_json::json!(["ra"]),
        "a port that was taken out stays out"
    );

    orphan();
    let named = bed.room.json(&[&add[..], &["ra", "rb"]].concat());
    let warned = named["warnings"].to_string();
    assert!(named["members"] == serde_json::json!(["ra"]) && warned.contains("port add vale0:rb"), "{named}");
}
