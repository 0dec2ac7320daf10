//! `ringway flows run` with several workers: over several pipes, and over the queues of a veth.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;

use ringway_lab::Lab;
use serde_json::Value;
use support::schema::Schema;
use support::{Ended, file, pipe, run, start, wait_open};

/// A flow of two connections, one of a connection, and one of datagrams.
fn story(name: &str) -> String {
    let ftp = run(&["flows", "stories", "ftp"]).stdout;
    let text = r#"
flow web {
  tcp c = inside -> outside : 80  timeout 5 s
  c > "get " hex(rand32) "\r\n"
  c < random(3 KiB)
  c > close
}
flow name {
  udp q = inside -> outside : 53  timeout 2 s retry 2
  q > "who " hex(rand32)
  q < "it is " hex(rand32)
}
mix all { ftp_get 30 %  web 40 %  name 30 % }
run { all poisson rate 1 k flows/s for 500 ms  drain 20 s  seed 9 }
expect { complete >= 100 % }
"#;
    let (mixed, last) = (ftp + text, file(name));
    fs::write(&last, mixed).unwrap();
    last.display().to_string()
}

fn report(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap()
}

/// Each worker has a part, and the parts add up.
fn adds_up(report: &Value, workers: usize) {
    Schema::read().check("flows run", report);
    let of = |of: &Value, key: &str| of[key].as_u64().unwrap();
    let each = report["workers"].as_array().unwrap();
    assert_eq!(each.len(), workers, "{report:#}");
    for key in ["started", "complete", "failed", "active"] {
        let sum: u64 = each.iter().map(|worker| of(worker, key)).sum();
        assert_eq!(sum, of(&report["total"], key), "{key}: {report:#}");
    }
    for part in each.iter().chain([&report["total"]]).chain(report["flows"].as_array().unwrap()) {
        assert_eq!(
            of(part, "started"),
            of(part, "complete") + of(part, "failed") + of(part, "active"),
            "{part:#}"
        );
        assert!(of(part, "started") > 20, "{report:#}");
    }
    assert_eq!(of(&report["total"], "complete"), of(&report["total"], "started"), "{report:#}");
    assert_eq!(report["transport"]["strays"], 0, "each frame found its worker: {report:#}");
    let [passed, lost] =
        ["passed_on", "passed_lost"].map(|key| each.iter().map(|worker| of(worker, key)).sum::<u64>());
    // Last acknowledgements may come when their owner has ended.
    assert!(lost * 20 <= passed, "{report:#}");
}

#[test]
fn each_pair_of_pipes_has_a_worker() {
    let story = story("pipes.flow");
    for workers in [2, 3] {
        let pairs: Vec<[String; 2]> = (0..workers).map(|_| pipe()).map(|(a, b)| [a, b]).collect();
        let both = pairs.iter().flat_map(|[a, b]| ["--both", a, b]);
        let words: Vec<&str> = ["flows", "run", &story, "--json"].into_iter().chain(both).collect();
        let report = report(&run(&words));
        adds_up(&report, workers);
        let passed = |worker: &Value| worker["passed_on"] == 0;
        assert!(report["workers"].as_array().unwrap().iter().all(passed), "wires of their own: {report:#}");
    }
}

#[test]
fn a_condition_counts_the_flows_of_all_workers() {
    let text = "pool inside = 198.18.0.0/24\npool outside = 198.19.0.0/28\n
        flow ask { udp q = inside -> outside : 53  timeout 2 s\n q > \"a\"\n q < \"b\" }\n
        run { ask rate 2 k flows/s for 100 s  drain 1 s  stop complete >= 1000 }";
    let (story, (a, b), (c, d)) = (file("stop.flow"), pipe(), pipe());
    fs::write(&story, text).unwrap();
    let story = story.display().to_string();
    let report = report(&run(&["flows", "run", &story, "--both", &a, &b, "--both", &c, &d, "--json"]));
    assert_eq!(report["ended"], "stop: complete >= 1000", "{report:#}");
    for worker in report["workers"].as_array().unwrap() {
        let complete = worker["complete"].as_u64().unwrap();
        assert!((100..1000).contains(&complete), "no worker had a thousand: {report:#}");
    }
}

/// Two ends of a veth with so many queues each.
fn queues(lab: &Lab, queues: u32) {
    let of = format!("numtxqueues {queues} numrxqueues {queues}");
    lab.ip(&format!("link add q0 {of} type veth peer name q1 {of}")).unwrap();
    for link in ["q0", "q1"] {
        lab.ip(&format!("link set {link} addrgenmode none up")).unwrap();
    }
}

#[test]
fn the_queues_of_a_veth_are_shared_out() {
    if !ringway_lab::is_root() {
        eprintln!("SKIPPED: it needs root");
        return;
    }
    let story = story("queues.flow");
    for workers in [2, 3] {
        let lab = Lab::new().unwrap();
        queues(&lab, workers);
        let count = workers.to_string();
        let words = ["--netns", lab.name(), "flows", "run", &story, "--json", "--workers", &count];
        let with = |more: [&str; 2]| start(&[&words[..], &more].concat());
        for [one, other] in [["ebpf:q0", "ebpf:q1"], ["packet:q0", "packet:q1"]] {
            adds_up(&report(&start(&[&words[..], &["--both", one, other]].concat()).end()), workers as usize);
        }
        // In two processes, each end of a connection has the same owner.
        let servers = with(["--server", "ebpf:q1"]);
        wait_open("ebpf:q1");
        adds_up(&report(&with(["--client", "ebpf:q0"]).end()), workers as usize);
        let servers: Value =
            serde_json::from_str(servers.interrupt().stdout.lines().last().unwrap()).unwrap();
        adds_up(&servers, workers as usize);
    }
}

#[test]
fn one_worker_looks_at_all_queues() {
    if !ringway_lab::is_root() {
        eprintln!("SKIPPED: it needs root");
        return;
    }
    let (story, lab) = (story("all-queues.flow"), Lab::new().unwrap());
    queues(&lab, 3);
    for [one, other] in [["ebpf:q0", "ebpf:q1"], ["packet:q0", "packet:q1"]] {
        let words = ["--netns", lab.name(), "flows", "run", &story, "--json", "--both", one, other];
        adds_up(&report(&run(&words)), 1);
    }
}

#[test]
fn what_can_not_be_shared_out_is_refused() {
    let (story, (a, b), (c, d)) = (story("refused.flow"), pipe(), pipe());
    let words = ["flows", "run", &story, "--both", &a, &b];
    let ended = run(&[&words[..], &["--workers", "2"]].concat());
    assert_eq!(ended.code, Some(1));
    for part in ["rings to send for 1 of 2 workers", "name a pair of ports for each worker"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let ended = run(&[&words[..], &["--both", &c, &d, "--workers", "2"]].concat());
    assert!(ended.error(2).contains("leave it out"), "{ended:?}");
    let ended = run(&[&words[..], &["--both", &a, &d]].concat());
    assert!(ended.error(2).contains("the port is named twice"), "{ended:?}");
}
