//! Peers that are killed in the middle: each flow that they had ends with a named failure, and nothing is left behind.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringway_lab::Lab;
use serde_json::Value;

use crate::bed::{Bed, LINUX, all_complete, ended_when_idle, flows, folder, report, story};
use crate::program::{Server, has};
use crate::support::{LIMIT, Running};

/// Flows of some length, so that many are under way at any time. `PLAN` is the rate and how long it lasts, `WAIT` the timeout.
const STORY: &str = r#"
pool inside  = 198.18.0.0/24  port 10000..60999
pool outside = 198.19.0.0/28
flow talk(n = 20 kB) {
  tcp c = inside -> outside : 80  timeout WAIT
  repeat 5 as i {
    c > "say " i "\r\n"
    c < random(n)
    think 100 ms
  }
  c > close
}
run { PLAN  drain 200 s  seed 3 }
"#;

/// The story, with a plan of some length and a timeout.
fn talk(length: &str, wait: &str) -> String {
    let plan = format!("talk rate 100 flows/s for {length}");
    story("killed", &STORY.replace("PLAN", &plan).replace("WAIT", wait))
}

/// A wire between two namespaces without an address.
fn wire() -> Option<(Lab, Lab)> {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: namespaces need root; run these tests with sudo");
        return None;
    }
    let (near, far) = (Lab::new().unwrap(), Lab::new().unwrap());
    near.veth_to("near0", &far, "far0").unwrap();
    near.run_napi("near0").unwrap();
    far.run_napi("far0").unwrap();
    Some((near, far))
}

/// The seconds that a run has told.
fn seconds(running: &Running) -> Vec<Value> {
    let said = running.said();
    let objects = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    objects.map(|object| object["second"].clone()).filter(Value::is_object).collect()
}

/// Waits until one of the seconds that a run tells from now on is as it should be.
fn wait_second(running: &Running, is_so: impl Fn(&Value) -> bool) {
    let (start, before) = (Instant::now(), seconds(running).len());
    while !seconds(running)[before..].iter().any(&is_so) {
        assert!(start.elapsed() < LIMIT, "no such second: {}", running.said());
        sleep(Duration::from_millis(20));
    }
}

/// Waits until flows complete while others are under way.
fn wait_busy(running: &Running) {
    wait_second(running, |second| {
        second["complete"].as_f64() > Some(0.0) && second["active"].as_u64() > Some(5)
    });
}

/// Waits until flows fail.
fn wait_failing(running: &Running) {
    wait_second(running, |second| second["failed"].as_f64() > Some(0.0));
}

/// Kills a run as `kill -9` does.
fn kill(running: Running) {
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
}

fn number(report: &Value, end: &str, what: &str) -> u64 {
    report["flows"][0][end][what].as_u64().unwrap_or_else(|| panic!("{report:#}"))
}

/// Some flows of an end failed, and each for one of these reasons.
fn failed_for(report: &Value, end: &str, known: &[&str]) {
    let failed = report["flows"][0][end]["failed"].as_object().unwrap();
    let reasons: Vec<&str> =
        failed.iter().filter(|(_, count)| **count != 0).map(|(name, _)| name.as_str()).collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|name| known.contains(name)),
        "{reasons:?}: {report:#}"
    );
}

/// No program of the kernel is on an interface any more.
fn is_bare(lab: &Lab, interface: &str) {
    let shown =
        std::process::Command::new("ip").args(["-n", lab.name(), "-d", "link", "show", interface]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    assert!(shown.contains(interface) && !shown.contains("xdp"), "{shown}");
    assert!(!shown.contains("promiscuity 1"), "{shown}");
}

#[test]
fn servers_outlive_clients_that_are_killed() {
    let Some((near, far)) = wire() else { return };
    let (forever, short) = (talk("1000 s", "10 s"), talk("1 s", "100 s"));
    let servers = flows(&far, &forever, "--server", "ebpf:far0", &[]);
    servers.wait_said("flows: ", 1);
    for backend in ["packet", "ebpf"] {
        let port = format!("{backend}:near0");
        let clients = flows(&near, &forever, "--client", &port, &[]);
        wait_busy(&clients);
        kill(clients);
        // The port is free at once, and the servers go on with the next clients.
        let next = flows(&near, &short, "--client", &port, &[]).end();
        all_complete(&report(&next), "client", "talk", 100..=100);
        is_bare(&near, "near0");
    }
    let report = ended_when_idle(servers);
    is_bare(&far, "far0");
    assert_eq!(number(&report, "server", "active"), 0, "{report:#}");
    assert!(number(&report, "server", "complete") > 200, "{report:#}");
    failed_for(&report, "server", &["timeout", "reset"]);
}

#[test]
fn clients_outlive_servers_that_are_killed() {
    let Some((near, far)) = wire() else { return };
    let text = talk("1000 s", "2 s");
    let clients = flows(&near, &text, "--client", "packet:near0", &[]);
    clients.wait_said("flows: ", 1);
    for backend in ["packet", "ebpf"] {
        let servers = flows(&far, &text, "--server", &format!("{backend}:far0"), &[]);
        wait_busy(&clients);
        kill(servers);
        wait_failing(&clients);
        is_bare(&far, "far0");
    }
    let report = report(&clients.interrupt());
    is_bare(&near, "near0");
    assert!(number(&report, "client", "complete") > 0, "{report:#}");
    failed_for(&report, "client", &["timeout", "unreachable", "reset"]);
}

#[test]
fn clients_outlive_a_server_of_debian_that_is_killed() {
    if !has("nginx") {
        return;
    }
    let Some(bed) = Bed::new() else { return };
    let folder = folder("killed-nginx");
    let at = folder.display();
    // Slow enough that pages are under way when it is killed.
    let settings = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
        events {{ worker_connections 500; }}
        http {{
            access_log off; client_body_temp_path {at}/t1; proxy_temp_path {at}/t2;
            fastcgi_temp_path {at}/t3; uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
            server {{ listen {LINUX}:80; root {at}; limit_rate 100k; }}
        }}"
    );
    fs::write(folder.join("nginx.conf"), settings).unwrap();
    fs::write(folder.join("file.bin"), vec![b'x'; 150_000]).unwrap();
    let text = r#"
        pool clients = 10.9.0.16..10.9.0.63  port 20000..60999
        pool servers = 10.9.0.1
        flow page {
          tcp c = clients -> servers : 80  timeout 5 s
          c > http.get(path = "/file.bin", host = c.server)
          c < http.ok(body = random(150000)) match http_response(200) count n
          check n == 150000
          c > close
        }
        run { page rate 20 flows/s for 1000 s  drain 60 s }
    "#;
    let words = ["nginx", "-p", &at.to_string(), "-c", "nginx.conf"];
    let mut nginx = Server::start(&bed, &words, "tcp", 80, &folder.join("output"));
    let clients = bed.flows(&story("killed-nginx", text), "--client", "packet:ours0", &[]);
    wait_busy(&clients);
    nginx.kill();
    wait_failing(&clients);
    // Nothing but a flow that has just begun, as one does at the end of each second.
    wait_second(&clients, |second| second["active"].as_u64() < Some(2));
    let report = report(&clients.interrupt());
    bed.kernel_was_silent();
    assert!(number(&report, "client", "complete") > 0, "{report:#}");
    // The host resets what nginx had, and refuses what comes after.
    failed_for(&report, "client", &["refused", "reset", "mismatch"]);
    assert!(report["flows"][0]["client"]["failed"]["refused"].as_u64() > Some(0), "{report:#}");
}
