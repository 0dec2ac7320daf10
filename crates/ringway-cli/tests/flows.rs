//! `ringway flows`: stories are checked and run in virtual time, and what is printed is what docs/json.md says.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use ringway_lab::Lab;
use serde_json::{Value, json};
use support::room::Room;
use support::schema::Schema;
use support::{file, pipe, run, start, wait_open};

const STORY: &str = r#"
define size = 1 KiB
pool inside  = 198.18.0.0/24  port 10000..60999
pool outside = 198.19.0.0/28
flow get(n = size) {
  tcp c = inside -> outside : 80  timeout 5 s
  c > "get " hex(rand32) "\r\n"
  c < random(n)
  c > close
}
run { get poisson rate 2 k flows/s for 200 ms  drain 1 s  seed 9 }
expect { complete >= 100 %  p99(get.connect) < 1 ms }
"#;

/// A file of this text.
fn story(name: &str, text: &str) -> String {
    let file = file(name);
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn two_processes_write_the_same_bytes() {
    let story = story("same.flow", STORY);
    let capture = |name: &str, seed: &[&str]| {
        let out = file(name);
        let words = ["flows", "pcap", &story, "-o", out.to_str().unwrap(), "--json"];
        let report = run(&[&words[..], seed].concat()).json();
        assert_eq!(report["total"]["complete"], report["total"]["started"], "{report:#}");
        assert!(report["total"]["complete"].as_u64() > Some(300), "{report:#}");
        fs::read(out).unwrap()
    };
    let one = capture("same-1.pcap", &[]);
    assert!(one.len() > 300_000 && one == capture("same-2.pcap", &[]));
    assert!(one == capture("same-3.pcap", &["--seed", "9"]), "the seed of the file");
    assert!(one != capture("other.pcap", &["--seed", "10"]));
}

#[test]
fn a_capture_becomes_stories_that_run() {
    let [capture, again, story] =
        ["first.pcap", "again.pcap", "imported.flow"].map(|name| file(name).display().to_string());
    run(&["flows", "pcap", "http", "-o", &capture, "--json"]).json();
    let said = run(&["flows", "import", &capture, "-o", &story, "--json"]).json();
    Schema::read().check("flows import", &said);
    // Four of the six look alike: a request, a response, and a close of the client.
    assert_eq!((&said["conversations"], &said["stories"]), (&json!(6), &json!(3)), "{said:#}");
    assert!(
        said["left"].as_array().unwrap().iter().any(|left| left.as_str().unwrap().contains("random bytes"))
    );
    let report = run(&["flows", "pcap", &story, "-o", &again, "--json"]).json();
    assert_eq!(
        (&report["total"]["started"], &report["total"]["complete"]),
        (&json!(6), &json!(6)),
        "{report:#}"
    );
    // The text, where there is no file for it.
    let text = run(&["flows", "import", &capture]);
    assert_eq!(text.stdout.trim_end(), fs::read_to_string(&story).unwrap().trim_end());
    assert!(text.stderr.contains("ARP: emulated hosts make their own"), "{}", text.stderr);
    fs::write(&story, "no capture").unwrap();
    assert!(run(&["flows", "import", &story]).error(1).contains("imported.flow"));
}

#[test]
fn stories_that_ship_run_to_their_ends() {
    for name in ["datagrams", "echo", "ftp", "http", "mail", "tls"] {
        let out = file(&format!("{name}.pcap"));
        let report = run(&["flows", "pcap", name, "-o", out.to_str().unwrap(), "--json"]).json();
        let flows = report["flows"].as_array().unwrap();
        assert!(!flows.is_empty() && flows.iter().all(|flow| flow["complete"] == 1), "{name}: {report:#}");
        assert_eq!(report["transport"]["retransmitted"], 0, "{name}");
        no_fault_by_tshark(&out.display().to_string());
    }
}

/// An independent decoder finds nothing to complain of.
fn no_fault_by_tshark(capture: &str) {
    let checks = ["ip", "tcp", "udp"].map(|of| format!("{of}.check_checksum:TRUE"));
    let mut tshark = Command::new("tshark");
    checks.iter().for_each(|check| _ = tshark.args(["-o", check]));
    // From warnings on: 0x600000.
    let faults = "_ws.malformed || _ws.expert.severity >= 6291456";
    match tshark.args(["-r", capture, "-Y", faults]).output() {
        Err(_) => eprintln!("SKIPPED: there is no tshark to look at {capture}"),
        Ok(said) => {
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            assert!(said.stdout.is_empty(), "{capture}: {}", String::from_utf8_lossy(&said.stdout));
        }
    }
}

#[test]
fn a_trace_shows_one_flow() {
    let story = story("trace.flow", STORY);
    let ended = run(&["flows", "trace", &story, "-D", "get.n=5000"]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("0.000000000 client "), "{ended:?}");
    assert_eq!(lines.last(), Some(&"client: complete, server: complete"));
    assert_eq!(
        lines.iter().filter(|line| line.contains("tcp") && line.contains(" syn, ")).count(),
        1,
        "{ended:?}"
    );
    let object = run(&["flows", "trace", &story, "--json"]).json();
    Schema::read().check("flows trace", &object);
    // The parameter has its way: four segments instead of one.
    let frames = object["frames"].as_array().unwrap().len();
    assert!(lines.len() > frames + 2, "{} {frames}", lines.len());
}

#[test]
fn json_is_what_the_page_says() {
    let schema = Schema::read();
    let out = file("json.pcap").display().to_string();
    for (command, words) in [
        ("flows check", "flows check example --json".to_owned()),
        ("flows check", "flows check ftp --json".to_owned()),
        ("flows disasm", "flows disasm dns --flow lookup --json".to_owned()),
        ("flows stories", "flows stories --json".to_owned()),
        ("flows stories", "flows stories ftp --json".to_owned()),
        ("flows pcap", format!("flows pcap example -o {out} --flows 200 --json")),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = run(&words);
        let object =
            serde_json::from_str(ended.stdout.trim()).unwrap_or_else(|e| panic!("{words:?}: {e}: {ended:?}"));
        schema.check(command, &object);
    }
}

#[test]
fn a_backlog_keeps_servers_free_beside_a_flood() {
    let flood = "attack flood(target) { raw tcp inside* -> target : 80  flags S  seq rand  no_reply }
run { flood rate 20 k pkt/s from 0 s to 200 ms target outside
      get rate 200 flows/s for 200 ms  drain 1 s }";
    let text = STORY.lines().filter(|line| !line.starts_with("run ")).collect::<Vec<_>>().join("\n");
    let story = story("backlog.flow", &format!("{text}\n{flood}\n"));
    let out = file("backlog.pcap").display().to_string();
    let with = |words: &[&str]| {
        let report = run(&[&["flows", "pcap", &story, "-o", &out, "--json"], words].concat()).json();
        Schema::read().check("flows pcap", &report);
        let count = |part: &str, key: &str| report[part][key].as_u64().unwrap();
        (count("total", "complete"), count("transport", "half_open_dropped"))
    };
    let ((all, few), (also_all, half)) = (with(&["--backlog", "100"]), with(&[]));
    assert!((all, also_all) == (40, 40) && few > 3_800 && half > 1_000 && half < few, "{few} {half}");
    // Without a limit the story starves.
    let (complete, dropped) = with(&["--backlog", "0"]);
    assert!(complete < 30 && dropped == 0, "{complete} {dropped}");
}

#[test]
fn a_listing_and_a_text_are_those_of_the_story() {
    let listing = run(&["flows", "disasm", "dns", "--flow", "lookup"]).stdout;
    assert!(listing.starts_with("flow lookup\n") && !listing.contains("flow lookup6"), "{listing}");
    let text = run(&["flows", "stories", "ftp"]).stdout;
    let copy = story("copy.flow", &text);
    assert_eq!(run(&["flows", "disasm", &copy]).stdout, run(&["flows", "disasm", "ftp"]).stdout);
    let list = run(&["flows", "stories"]).stdout;
    assert!(list.contains("ftp        Files over FTP"), "{list}");
}

#[test]
fn errors_of_a_story_show_their_place() {
    let wrong = story("wrong.flow", &STORY.replace("c < random", "d < random"));
    let ended = run(&["flows", "check", &wrong]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    for part in ["`d` is no connection", "wrong.flow:8:3", "wrong.flow: 1 error"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let outside = story("outside.flow", &STORY.replace("198.19.0.0/28", "192.88.99.0/28"));
    assert_eq!(run(&["flows", "check", &outside]).code, Some(1), "a pool outside of laboratories");
    assert_eq!(run(&["flows", "check", &outside, "--lab-ack", "our test network"]).code, Some(0));
}

#[test]
fn an_expectation_that_fails_is_a_failure() {
    let story = story("expects.flow", &STORY.replace("< 1 ms", "< 10 us"));
    let out = file("expects.pcap").display().to_string();
    let ended = run(&["flows", "pcap", &story, "-o", &out]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("\nFAILS: p99(get.connect) < 10 us: "), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("the file expects what does not hold: p99(get.connect) < 10 us ("),
        "{ended:?}"
    );
    // Frames of 1 s have no time to arrive: nothing was measured, and nothing is complete.
    let slow = ["flows", "pcap", &story, "-o", &out, "--delay-us", "1000000", "--seconds", "0.5"];
    let ended = run(&slow);
    assert!(ended.stdout.contains("FAILS: complete >= 100 %: 0 %"), "{}", ended.stdout);
}

#[test]
fn both_ends_run_over_a_pipe() {
    let (story, (a, b)) = (story("both.flow", &STORY.replace("< 1 ms", "< 10 s")), pipe());
    let ended = run(&["flows", "run", &story, "--both", &a, &b, "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let schema = Schema::read();
    let objects: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    objects.iter().for_each(|object| schema.check("flows run", object));
    let report = objects.last().unwrap();
    assert_eq!((&report["virtual_time"], &report["ended"]), (&json!(false), &json!("plan")), "{report:#}");
    assert!(report["total"]["complete"].as_u64() > Some(300), "{report:#}");
    assert_eq!(report["total"]["complete"], report["total"]["started"], "{report:#}");
}

#[test]
fn a_run_writes_its_report_as_a_page() {
    let (story, (a, b), out) = (story("page.flow", STORY), pipe(), file("page.html"));
    let page = out.display().to_string();
    let words = ["flows", "run", &story, "--both", &a, &b, "--page", &page];
    let ended = run(&words);
    let html = fs::read_to_string(&out).unwrap();
    assert_eq!(ringway_tester::report::check::faults(&html), Vec::<String>::new());
    let complete = ended.stdout.split_once(" started, ").unwrap().1.split(' ').next().unwrap();
    for part in
        ["<h2>Over time</h2>", "complete &gt;= 100 %", "p99(get.connect)", &format!("<td>{complete}</td>")]
    {
        assert!(html.contains(part), "{part}: {ended:?}");
    }
    let (a, b) = pipe();
    let ended = run(&["flows", "run", &story, "--both", &a, &b, "--page", "/no/such/page.html"]);
    assert!(ended.code == Some(1) && ended.stdout.contains("flows: "), "{ended:?}");
}

#[test]
fn a_run_in_virtual_time_has_a_page_too() {
    let story = story("virtual-page.flow", STORY);
    let [capture, page] =
        ["virtual-page.pcap", "virtual-page.html"].map(|name| file(name).display().to_string());
    let words = ["flows", "pcap", &story, "-o", &capture, "--page"];
    let report = run(&[&words[..], &[&page, "--json"]].concat()).json();
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(ringway_tester::report::check::faults(&html), Vec::<String>::new());
    let complete = format!("<td>{}</td>", report["total"]["complete"]);
    for part in ["<h2>Over time</h2>", "virtual time, ", "p99(get.connect)", "<span>pcap</span>", &complete] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let ended = run(&[&words[..], &["/no/such/page.html"]].concat());
    assert!(ended.code == Some(1) && ended.stdout.contains("flows: "), "{ended:?}");
}

#[test]
fn a_terminal_has_a_screen_and_one_key_stops_everything() {
    let text = STORY.replace("for 200 ms", "for 500 s");
    let (story, (a, b)) = (story("live.flow", &text), pipe());
    for key in ["q", "\x03"] {
        let binary = env!("CARGO_BIN_EXE_ringway");
        let words = format!("stty rows 24 cols 80; {binary} flows run {story} --both '{a}' '{b}'");
        // The far end of a terminal; it goes when the time is over.
        let mut terminal = Command::new("timeout")
            .args(["120", "script", "-qefc", &words, "/dev/null"])
            .env("RINGWAY_DIR", support::directory())
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut shown, mut bytes) = (String::new(), [0; 4096]);
        let mut out = terminal.stdout.take().unwrap();
        let mut read = |shown: &mut String| {
            let count = out.read(&mut bytes).unwrap();
            *shown += &String::from_utf8_lossy(&bytes[..count]);
            count > 0
        };
        while !(shown.contains("stop everything") && shown.contains("ACTIVE")) {
            assert!(read(&mut shown), "{shown}");
        }
        terminal.stdin.as_mut().unwrap().write_all(key.as_bytes()).unwrap();
        while read(&mut shown) {}
        terminal.wait().unwrap();
        assert!(
            shown.contains("ended by interrupted; seed 9"),
            "the report comes behind the screen: {shown}"
        );
    }
}

#[test]
fn two_processes_share_a_file_only() {
    let (story, (a, b)) = (story("two.flow", &STORY.replace("< 1 ms", "< 10 s")), pipe());
    let servers = start(&["flows", "run", &story, "--server", &b, "--json"]);
    wait_open(&b);
    let clients = run(&["flows", "run", &story, "--client", &a, "--json"]);
    assert_eq!(clients.code, Some(0), "{clients:?}");
    let last = |said: &str| serde_json::from_str::<Value>(said.lines().last().unwrap()).unwrap();
    let (client, server) = (last(&clients.stdout), last(&servers.interrupt().stdout));
    let complete = client["flows"][0]["client"]["complete"].as_u64();
    assert!(
        complete > Some(300) && complete == server["flows"][0]["server"]["complete"].as_u64(),
        "{server:#}"
    );
    assert_eq!((&server["ended"], &server["expectations"]), (&json!("interrupted"), &json!([])));
    // Another seed: the servers expect other bytes, and no flow is complete.
    let (a, b) = pipe();
    let servers = start(&["flows", "run", &story, "--server", &b, "--seed", "10", "--json"]);
    wait_open(&b);
    let clients = run(&["flows", "run", &story, "--client", &a, "--json"]);
    assert_eq!(clients.code, Some(1), "{clients:?}");
    let server = last(&servers.interrupt().stdout);
    let [complete, mismatch] =
        [&server["flows"][0]["server"]["complete"], &server["flows"][0]["server"]["failed"]["mismatch"]];
    assert!(complete == 0 && mismatch.as_u64() > Some(300), "{server:#}");
}

#[test]
fn servers_have_room_for_the_flows_of_the_plan() {
    let text = STORY.replace("  c > close", "  think 1 s\n  c > close").replace("for 200 ms", "for 1 s");
    let (story, (a, b)) =
        (story("room.flow", &text.replace("< 1 ms", "< 10 s").replace("1 s  seed", "9 s  seed")), pipe());
    let servers = start(&["flows", "run", &story, "--server", &b, "--json"]);
    wait_open(&b);
    let clients = run(&["flows", "run", &story, "--client", &a, "--json"]);
    assert_eq!(clients.code, Some(0), "{clients:?}");
    let server: Value = serde_json::from_str(servers.interrupt().stdout.lines().last().unwrap()).unwrap();
    assert!(
        server["active"]["max"].as_u64() > Some(1100),
        "more than a shard without a plan has room for: {server:#}"
    );
    assert_eq!(server["transport"]["no_room"], 0, "{server:#}");
}

/// Clients and servers in two processes, with a bad wire between them: each flow is complete, or failed for a reason that has a name.
#[test]
fn two_processes_end_all_flows_over_a_bad_wire() {
    let run_of = "get rate 200 flows/s for 1 s  drain 120 s  seed 9";
    let text = STORY.lines().filter(|line| !line.starts_with("expect")).collect::<Vec<_>>().join("\n");
    let text = text.replace("get poisson rate 2 k flows/s for 200 ms  drain 1 s  seed 9", run_of);
    let (story, (a, b)) = (story("bad-wire.flow", &text.replace("timeout 5 s", "timeout 60 s")), pipe());
    let servers = start(&["flows", "run", &story, "--server", &b, "--json"]);
    wait_open(&b);
    let wire = format!("fault:drop=3%,dup=3%,reorder=3%,corrupt=2%,delay=2ms,seed=5,port={a}");
    let clients = run(&["flows", "run", &story, "--client", &wire, "--json"]);
    let last = |said: &str| -> Value { serde_json::from_str(said.lines().last().unwrap()).unwrap() };
    let (client, server) = (last(&clients.stdout), last(&servers.interrupt().stdout));
    for (report, end) in [(&client, "client"), (&server, "server")] {
        let of = &report["flows"][0][end];
        let count = |key: &str| of[key].as_u64().unwrap();
        let failed: u64 =
            of["failed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(count("started"), count("complete") + failed + count("active"), "{of:#}");
        assert!(count("complete") > 150, "{report:#}");
        assert_eq!((&of["failed"]["mismatch"], &of["failed"]["check"]), (&json!(0), &json!(0)), "{of:#}");
    }
    assert_eq!(
        (&client["total"]["started"], &client["total"]["active"]),
        (&json!(200), &json!(0)),
        "{client:#}"
    );
    let spoilt: u64 = [&client, &server]
        .iter()
        .flat_map(|report| report["refused"].as_object().unwrap().values())
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert!(spoilt > 0 && client["transport"]["retransmitted"].as_u64() > Some(0), "{client:#} {server:#}");
}

#[test]
fn an_interface_with_a_default_route_is_refused() {
    if !ringway_lab::is_root() {
        eprintln!("SKIPPED: it needs root");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("up0", "down0").unwrap();
    let story = story("guard.flow", STORY);
    let both = |ports: [&str; 2]| {
        run(&[
            "--netns",
            lab.name(),
            "flows",
            "run",
            &story,
            "--both",
            ports[0],
            ports[1],
            "--seconds",
            "0.01",
        ])
    };
    let ended = both(["packet:up0", "packet:down0"]);
    assert!(
        !ended.stderr.contains("default route"),
        "whether flows end so soon depends on the machine: {ended:?}"
    );
    lab.ip("addr add 198.18.9.1/24 dev down0").unwrap();
    lab.ip("route add default via 198.18.9.2 dev down0").unwrap();
    for port in ["packet:down0", "trace:port=packet:down0", "down0"] {
        let ended = both(["packet:up0", port]);
        assert!(ended.error(2).contains("interface down0 holds a default route"), "{ended:?}");
    }
}

#[test]
fn a_switch_with_an_interface_that_holds_a_default_route_is_refused() {
    let Some(room) = Room::new() else { return };
    let lab = Lab::new().unwrap();
    lab.veth("up0", "down0").unwrap();
    let story = story("behind.flow", STORY);
    let inside = |args: &[&str]| room.run(&[&["--netns", lab.name()], args].concat());
    for args in [
        &["switch", "add", "vale0"][..],
        &["switch", "port", "add", "vale0:a", "vale0:b"],
        &["switch", "add", "vale0:down0"],
    ] {
        assert_eq!(inside(args).code, Some(0), "{args:?}");
    }
    let both =
        || inside(&["flows", "run", &story, "--both", "vale0:a", "trace:port=vale0:b", "--seconds", "0.01"]);
    let ended = both();
    assert!(!ended.stderr.contains("default route"), "{ended:?}");
    lab.ip("addr add 198.18.9.1/24 dev down0").unwrap();
    lab.ip("route add default via 198.18.9.2 dev down0").unwrap();
    let ended = both();
    assert!(ended.error(2).contains("interface down0 holds a default route"), "{ended:?}");
    // The port keeps its name.
    for words in ["set down0 down", "set down0 name wan0", "set wan0 up"] {
        lab.ip(&format!("link {words}")).unwrap();
    }
    lab.ip("route add default via 198.18.9.2 dev wan0").unwrap();
    let ended = both();
    assert!(ended.error(2).contains("interface wan0 holds a default route"), "{ended:?}");
}
