//! A kernel's router becomes fast by one command, and is what it was by another.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{B4, B6, Bed, SHORT, Source};
use crate::support::schema::Schema;
use crate::support::{LIMIT, openmetrics, spawn};

const GAP: Duration = Duration::from_millis(1);

#[test]
fn a_router_of_the_kernel_becomes_fast_and_is_given_back() {
    let Some(bed) = Bed::new() else { return };
    // links may just have come up
    let passes = |to| Source::open(&bed.a, to).exchange_within(20, GAP, SHORT) == 0;
    bed.room.until(|| [B4, B6].into_iter().all(passes));
    let made = bed.make("vale0");
    assert_eq!((&made["members"], &made["taken_over"]), (&json!(["ra", "rb"]), &false.into()));
    assert!(bed.has_program("ra") && bed.has_program("rb"));

    [B4, B6].iter().for_each(|to| bed.forwards("vale0", to, 500, GAP));
    bed.room.until(|| {
        let router = bed.router("vale0");
        router["fib_in_sync"] == true && router["ready"] == true
    });

    let removed = bed.room.json(&["router", "del", "vale0"]);
    assert_eq!(removed["ports"], 2);
    assert!(!bed.has_program("ra") && !bed.has_program("rb"));
    let left: Vec<_> =
        std::fs::read_dir(bed.room.path("run")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "its process is gone, and had nothing to complain about: {left:?}");
    assert_eq!([B4, B6].map(|to| bed.exchange(to, 20, GAP)), [0, 0], "the kernel forwards again");
}

#[test]
fn routes_are_shown_and_explained() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    bed.ip("route add 192.0.2.0/24 nexthop via 10.0.2.2 nexthop via 10.0.1.2 weight 3
        route add blackhole 198.51.100.0/24\nroute add unreachable 2001:db8::/32");
    let room = &bed.room;
    assert_eq!(room.json(&["router", "sync"])["fib_in_sync"], true);

    let shown = room.run(&["router", "show"]).stdout;
    for line in ["198.51.100.0/24 blackhole\n", "2001:db8::/32 unreachable\n", "10.0.1.1/32 local\n"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains("10.0.2.2/32 via 10.0.2.2 dev rb lladdr "), "{shown}");
    assert!(shown.contains("\tnexthop via 10.0.1.2 dev ra lladdr "), "{shown}");
    let within = room.run(&["router", "show", "198.51.0.0/16", "-r", "vale0"]).stdout;
    assert_eq!(within, "198.51.100.0/24 blackhole\n");
    let json = room.run(&["router", "show", "--json", "192.0.2.0/24"]).stdout;
    let route: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&route["kind"], route["group"].as_array().unwrap().len()), (&"group".into(), 2));

    for (question, answer) in [
        ("10.0.2.2 from 10.0.1.2 iif ra", ("forward", "forwarded", 21)),
        ("fd00:2::2 from fd00:1::2 iif ra", ("forward", "forwarded", 21)),
        ("192.0.2.7 ipproto udp sport 5 dport 7", ("forward", "forwarded", 21)),
        ("10.0.2.9", ("host", "unresolved", 19)),
        ("198.51.100.1", ("drop", "blackhole", 15)),
        ("2001:db8::1", ("host", "unreachable", 16)),
        ("10.0.2.1", ("host", "local", 13)),
        ("203.0.113.1", ("host", "unreachable", 12)),
        ("127.0.0.1", ("drop", "martian_destination", 9)),
        ("10.0.2.2 from 127.0.0.1", ("drop", "martian_source", 8)),
        ("224.0.0.1", ("host", "local", 10)),
    ] {
        let words: Vec<_> = ["router", "get"].into_iter().chain(question.split(' ')).collect();
        let said = room.json(&words);
        let said = (
            said["verdict"].as_str().unwrap(),
            said["reason"].as_str().unwrap(),
            said["rule"].as_u64().unwrap(),
        );
        assert_eq!(said, answer, "{question}");
    }
    let text = room.run(&["router", "get", "192.0.2.7"]).stdout;
    assert!(text.contains("  a member; `from ADDRESS` tells which for a flow, of\n"), "{text}");
    let text = room.run(&["router", "get", "192.0.2.7", "from", "10.0.1.2"]).stdout;
    assert!(text.contains("the member for this flow, of\n"), "{text}");
    for (what, code, says) in [
        ("10.0.2.9", 1, "there is no route within 10.0.2.9/32; `ringway router get 10.0.2.9`"),
        ("10.0.2.1/24", 2, "did you mean 10.0.2.0/24?"),
        ("foo", 2, "foo: no prefix"),
    ] {
        let said = room.run(&["router", "show", what]);
        assert!(said.error(code).contains(says), "{what}: {said:?}");
    }
    assert!(room.run(&["router", "show", "192.0.2.0/24"]).stdout.starts_with("192.0.2.0/24\n\tnexthop via "));
    for command in ["show", "sync", "stats"] {
        let absent = room.run(&["router", command, "-r", "valeno"]);
        assert!(
            absent.error(1).starts_with("ringway: valeno: there is no such switch or router"),
            "{absent:?}"
        );
    }
    let wrong = room.run(&["router", "get", "10.0.2.2", "iif", "lo"]);
    assert!(wrong.error(1).starts_with("ringway: vale0: lo is no member"), "{wrong:?}");
}

#[test]
fn counters_are_shown_everywhere() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    bed.ip("route add blackhole 198.51.100.0/24");
    assert_eq!(bed.room.json(&["router", "sync"])["fib_in_sync"], true);
    let dropped = Source::open(&bed.a, "198.51.100.1");
    bed.room.until(|| {
        // packets that the kernel dropped meanwhile are sent again
        let lacking = 10 - bed.count("vale0", "blackhole") as u32;
        if lacking > 0 {
            dropped.exchange_within(lacking, GAP, SHORT);
        }
        lacking == 0
    });
    bed.forwards("vale0", B4, 100, GAP);
    let room = &bed.room;
    let stats = room.json(&["router", "stats"]);
    assert_eq!(stats["reasons"]["blackhole"], 10, "{stats}");
    let hops = stats["next_hops"].as_array().unwrap();
    let to_b = hops.iter().find(|h| h["via"] == B4).unwrap();
    assert!(to_b["packets"].as_u64() >= Some(100) && to_b["bytes"].as_u64() >= Some(3200), "{to_b}");
    let text = room.run(&["router", "stats"]).stdout;
    assert!(text.contains("10 dropped: blackhole\n"), "{text}");
    let text = room.run(&["router", "stats", "vale0"]).stdout;
    assert!(text.contains("vale0:ra\n") && text.contains("dropped: 10 blackhole;"), "{text}");
    assert!(room.run(&["router", "list"]).stdout.contains("vale0: router, "));

    let page = room.run(&["stats", "--openmetrics"]).stdout;
    openmetrics::parse(&page);
    for line in [
        "ringway_router_fib_in_sync{router=\"vale0\"} 1\n",
        "ringway_router_packets_total{router=\"vale0\",member=\"ra\",outcome=\"blackhole\"} 10\n",
        "ringway_router_pending{router=\"vale0\"} 0\n",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[test]
fn members_come_and_go() {
    let Some(bed) = Bed::new() else { return };
    let made = bed.room.json(&["router", "add", "vale0", "ra"]);
    assert_eq!(made["members"], json!(["ra"]));
    bed.room.until(|| {
        assert_eq!(bed.exchange(B4, 50, GAP), 0);
        bed.count("vale0", "kernel_route") >= 50 // the way out is no member
    });
    assert_eq!(bed.room.json(&["router", "port", "add", "vale0:rb"])["number"], 1);
    bed.forwards("vale0", B4, 50, GAP);
    bed.room.json(&["router", "port", "del", "vale0:ra"]);
    assert!(!bed.has_program("ra") && bed.has_program("rb"));
    assert_eq!(bed.exchange(B4, 50, GAP), 0);
    let twice = bed.room.run(&["router", "port", "del", "vale0:ra"]);
    assert!(twice.error(1).contains("ra is no member"));
}

#[test]
fn a_service_of_systemd() {
    let Some(bed) = Bed::new() else { return };
    let at = bed.room.path("run/notify");
    let notified = UnixDatagram::bind(&at).unwrap();
    notified.set_read_timeout(Some(LIMIT)).unwrap();
    let mut command = bed.room.command(&["router", "add", "vale0", "--foreground", "--check", "0.2"]);
    let service = spawn(command.env("NOTIFY_SOCKET", &at));
    let mut word = [0; 64];
    let len = loop {
        match notified.recv(&mut word) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            told => break told.unwrap(),
        }
    };
    assert_eq!(&word[..len], b"READY=1");
    assert_eq!(bed.exchange(B4, 50, GAP), 0);
    assert_eq!(bed.pid("vale0"), Some(service.pid().into()));
    bed.room.until(|| bed.router("vale0")["status"]["checks"].as_u64() > Some(2));
    service.signal(libc::SIGTERM);
    let ended = service.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("its router stays until `ringway router del vale0`"), "{ended:?}");
    assert!(bed.has_program("ra"), "the next one goes on with it");
    bed.room.json(&["router", "del", "vale0"]);
    assert!(!bed.has_program("ra"));
}

#[test]
fn an_interface_that_moves_away_is_no_member() {
    let Some(bed) = Bed::new() else { return };
    bed.make("vale0");
    bed.ip(&format!("link set rb netns {}", bed.a.name()));
    let names = || {
        bed.router("vale0")["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["name"].clone())
            .collect::<Vec<_>>()
    };
    bed.room.until(|| names() == ["ra"]);
    let shown =
        std::process::Command::new("ip").args(["-n", bed.a.name(), "link", "show", "rb"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("rb") && !shown.contains("xdp"), "{shown}");
    bed.a.ip(&format!("link set rb netns {}", bed.r.name())).unwrap();
    bed.ip("link set rb up\naddr add 10.0.2.1/24 dev rb");
    bed.room.until(|| names() == ["ra", "rb"]);
    bed.room.until(|| Source::open(&bed.a, B4).exchange_within(50, GAP, SHORT) == 0);
}

#[test]
fn results_are_those_of_the_page() {
    let Some(bed) = Bed::new() else { return };
    let (room, schema) = (&bed.room, Schema::read());
    schema.check("router add", &bed.make("vale0"));
    bed.ip("route add 192.0.2.0/24 nexthop via 10.0.2.2 nexthop via 10.0.1.2 weight 3");
    assert_eq!(bed.exchange(B4, 20, GAP), 0);
    for to in [B4, "192.0.2.1", "127.0.0.1", "203.0.113.1"] {
        schema.check("router get", &room.json(&["router", "get", to]));
    }
    for line in room.run(&["router", "show", "--json"]).stdout.lines() {
        schema.check("router show", &serde_json::from_str(line).unwrap());
    }
    schema.check("router sync", &room.json(&["router", "sync"]));
    let stats = room.json(&["router", "stats"]);
    assert!(!stats["next_hops"].as_array().unwrap().is_empty(), "{stats}");
    schema.check("router stats", &stats);
    schema.check("router list", &room.json(&["router", "list"]));
    schema.check("switch list", &room.json(&["vale", "list"]));
    schema.check("switch stats", &room.json(&["vale", "stats"]));
    schema.check("router port del", &room.json(&["router", "port", "del", "vale0:ra"]));
    schema.check("router port add", &room.json(&["router", "port", "add", "vale0:ra"]));
    schema.check("router del", &room.json(&["router", "del", "vale0"]));
}

/// `vale` and `route` are names of old.
#[test]
fn names_of_old_do_the_same() {
    let Some(bed) = Bed::new() else { return };
    let room = &bed.room;
    let made = room.json(&["vale", "add", "vale7", "--module", "router", "--nic", "ra"]);
    assert_eq!((&made["name"], &made["members"]), (&"vale7".into(), &json!(["ra"])));
    assert_eq!(room.json(&["vale", "add", "vale7:rb"])["number"], 1);
    assert_eq!(room.json(&["route", "sync", "-r", "vale7"])["fib_in_sync"], true);
    assert_eq!(room.json(&["route", "get", B4])["to"], B4);
    assert!(room.run(&["route", "show"]).stdout.contains("10.0.1.1/32 local\n"));
    assert_eq!(room.json(&["route", "stats", "-r", "vale7"])["name"], "vale7");
    room.json(&["vale", "add", "vale8"]);
    let listed = room.json(&["vale", "list"]);
    let names = |key: &str| listed[key].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    let (switches, routers): (Vec<_>, Vec<_>) = (names("switches"), names("routers"));
    assert_eq!((switches, routers), (vec![json!("vale8")], vec![json!("vale7")]));
    assert!(room.json(&["switch", "list"])["routers"].is_null());
    assert_eq!(room.json(&["vale", "stats", "vale7"])["routers"][0]["name"], "vale7");
    room.json(&["vale", "port", "del", "vale7:rb"]);
    assert_eq!(room.json(&["vale", "del", "vale7"])["ports"], 1);
    room.json(&["vale", "del", "vale8"]);
}

/// A router has no ports that are opened as `NAME:PORT`, so it may be called otherwise than a switch.
#[test]
fn a_router_by_any_name() {
    let Some(bed) = Bed::new() else { return };
    let room = &bed.room;
    assert_eq!(room.json(&["router", "add", "r0", "ra", "rb"])["members"], json!(["ra", "rb"]));
    bed.forwards("r0", B4, 100, GAP);
    assert_eq!(room.json(&["router", "list"])["routers"][0]["name"], "r0");
    assert_eq!(room.json(&["router", "sync", "r0"])["fib_in_sync"], true);
    let no_switch = room.run(&["switch", "list", "r0"]);
    assert!(no_switch.error(1).contains("r0 is a router"), "{no_switch:?}");
    room.json(&["router", "port", "del", "r0:rb"]);
    assert_eq!(room.json(&["router", "del", "r0"])["ports"], 1);
    assert!(!bed.has_program("ra"));
    for wrong in ["lock", "0r", "r.0", "a-name-that-is-too-long"] {
        let refused = room.run(&["router", "add", wrong]);
        assert!(refused.error(2).contains("not the name of a router"), "{refused:?}");
    }
}
