//! `ringway prof sweep`, `predict`, `whatif` and `vantage`, end to end.
//!
//! Objective: a short sweep of sizes of the kernel's router works from the device to the prediction, goes on from its file, and after
//! Ctrl-C its file is partial. Speed is asserted nowhere.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::thread;
use std::time::Duration;

use ringway_lab::is_root;
use serde_json::Value;
use support::schema::Schema;
use support::{file, run, start};

fn root() -> bool {
    if !is_root() {
        eprintln!("SKIP: devices need root (namespaces); run these tests with sudo");
    }
    is_root()
}

#[test]
fn the_paper_is_checked_by_name() {
    let found = run(&["prof", "predict", "--paper", "--json"]).json();
    Schema::read().check("prof predict", &found);
    let names: Vec<&str> =
        found["contradictions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for part in
        ["check_leaf within C_routing at 1048576", "rate at 1048576", "16384 routes", "1048576 routes"]
    {
        assert!(names.iter().any(|name| name.contains(part)), "{part}: {names:?}");
    }
    let text = run(&["prof", "predict", "--paper"]).stdout;
    assert!(text.contains("784.000") && text.contains("1.364") && text.contains("CONTRADICTS"), "{text}");
}

#[test]
fn a_change_of_the_paper_s_groups() {
    let page = file("whatif.html");
    let words = [
        "prof",
        "whatif",
        "--paper",
        "64",
        "routing=-50%",
        "alloc=0",
        "--json",
        "--page",
        page.to_str().unwrap(),
    ];
    let found = run(&words).json();
    Schema::read().check("prof whatif", &found);
    assert_eq!(found["after"]["total"], 1978.0 - 100.0 - 144.0);
    assert_eq!(
        (&found["ranking"][0]["group"], &found["after"]["rate"]["bottleneck"]),
        (&"RX".into(), &"core".into())
    );
    assert!(fs::read_to_string(page).unwrap().contains("</html>"));
    // Two cores are more than the link of large frames carries.
    let text = run(&["prof", "whatif", "--paper", "1500", "--cores", "2"]).stdout;
    assert!(text.contains("0.822 Mpps, limited by the link"), "{text}");
    let costs = run(&["prof", "whatif", "--costs", "RX=600,TX=400", "--hz", "2G"]).stdout;
    assert!(costs.contains("2.000 Mpps, limited by the core"), "{costs}");
    for (words, why) in [
        (vec!["--paper", "65"], "has no row of 65"),
        (vec!["--paper", "64", "x=0"], "there is no group 'x'"),
        (vec!["--costs", "RX=1"], "--hz"),
        (vec!["--of", "/nonexistent"], "/nonexistent"),
    ] {
        let all = [&["prof", "whatif"][..], &words].concat();
        assert!(run(&all).stderr.contains(why), "{words:?}");
    }
}

#[test]
fn a_sweep_of_sizes_from_the_device_to_the_prediction() {
    if !root() {
        return;
    }
    let (sweep, page) = (file("sizes.json"), file("sizes.html"));
    let (sweep, page) = (sweep.to_str().unwrap(), page.to_str().unwrap());
    let short = ["--over", "size", "--values", "64,512,1518", "--runs", "2", "--seconds", "0.1"];
    let words =
        [&["prof", "sweep", sweep, "--dut", "linux-forward", "--json", "--page", page][..], &short].concat();
    let found = run(&words).json();
    Schema::read().check("prof sweep", &found);
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    for point in points {
        let ns = point["ns"]["value"].as_f64().unwrap();
        assert!(ns > 10.0 && ns < 1e6 && point["passed_pps"]["value"].as_f64().unwrap() > 0.0, "{point}");
    }
    assert!(fs::read_to_string(page).unwrap().contains("</html>"));
    // The file has all: with as many runs as are asked for nothing is measured again.
    let again = run(&["prof", "sweep", sweep, "--json"]).json();
    let runs = |of: &Value| -> Vec<u64> {
        of["points"].as_array().unwrap().iter().filter_map(|p| p["runs"].as_u64()).collect()
    };
    if found["partial"] == false {
        assert_eq!(
            (&again["conditions"]["date"], runs(&again)),
            (&found["conditions"]["date"], runs(&found))
        );
    }
    let other = run(&["prof", "sweep", sweep, "--dut", "linux-bridge", "--over", "size"]);
    assert!(other.error(2).contains("has another sweep"));
    let predicted = run(&["prof", "predict", sweep, "--at", "1024", "--json", "--page", page]).json();
    Schema::read().check("prof predict", &predicted);
    assert_eq!(predicted["points"].as_array().unwrap().len(), 3);
    assert!(predicted["predicted"][0]["pps"].as_f64().unwrap() > 0.0);
    let from = run(&["prof", "predict", sweep, "--from", "64,1518"]).stdout;
    assert!(from.contains("part of the curve") && from.contains("Between points: 1 points"), "{from}");
    let whatif = run(&["prof", "whatif", "--of", sweep]);
    assert!(whatif.error(1).contains("--groups"));
}

#[test]
fn two_devices_predict_both_in_one() {
    if !root() {
        return;
    }
    let short = ["--over", "size", "--values", "64,1518", "--runs", "1", "--seconds", "0.1"];
    let sweep = |device: &str, more: &[&str]| {
        let file = file(&format!("{device}.json")).to_str().unwrap().to_owned();
        let words = [&["prof", "sweep", &file, "--dut", device, "--json"][..], &short, more].concat();
        assert_eq!(run(&words).json()["points"].as_array().unwrap().len(), 2, "{device}");
        file
    };
    let (bridge, router) = (sweep("linux-bridge", &["--groups"]), sweep("linux-forward", &["--groups"]));
    let both = sweep("linux-bridged-router", &[]);
    let words = ["prof", "predict", &bridge, "--then", &router, "--measured", &both];
    let found = run(&[&words[..], &["--json"]].concat()).json();
    Schema::read().check("prof predict", &found);
    for point in found["points"].as_array().unwrap() {
        let of = |key: &str| point[key].as_f64().unwrap();
        assert!(of("predicted_ns") >= of("first_ns").max(of("second_ns")), "{point}");
        assert!(of("predicted_ns") < of("first_ns") + of("second_ns"), "receiving counts once: {point}");
    }
    assert_eq!(found["errors"]["points"], 2);
    let text = run(&words).stdout;
    assert!(text.contains("linux-bridge, then linux-router, in one thread"), "{text}");
    let without = run(&["prof", "predict", &both, "--then", &router]);
    assert!(without.error(1).contains("--groups"), "{}", without.stderr);
}

#[test]
fn ctrl_c_leaves_a_partial_sweep() {
    if !root() {
        return;
    }
    let sweep = file("stopped.json");
    let name = sweep.to_str().unwrap();
    let mut running = start(&[
        "prof",
        "sweep",
        name,
        "--dut",
        "veth",
        "--over",
        "size",
        "--values",
        "64",
        "--runs",
        "1000",
        "--seconds",
        "0.05",
        "--json",
    ]);
    while !sweep.exists() && running.running() {
        thread::sleep(Duration::from_millis(10));
    }
    let ended = running.interrupt();
    assert_eq!(ended.json()["partial"], true);
    let kept: Value = serde_json::from_str(&fs::read_to_string(&sweep).unwrap()).unwrap();
    let runs = kept["runs"][0].as_array().unwrap();
    assert!(kept["partial"] == true && !runs.is_empty() && runs.len() < 1000, "{kept}");
}

#[test]
fn files_that_are_no_sweeps_are_refused() {
    let path = file("no.json");
    fs::write(&path, "{\"format\":\"ringway-sweep\",\"version\":9}").unwrap();
    let name = path.to_str().unwrap();
    for command in ["sweep", "predict"] {
        assert!(run(&["prof", command, name]).error(1).contains("version 9 of the format"), "{command}");
    }
    assert!(run(&["prof", "sweep", "/nonexistent"]).error(2).contains("--dut linux-forward --over size"));
    let e = run(&["prof", "sweep", "x", "--dut", "linux-bridge", "--over", "routes"]);
    assert!(e.error(2).contains("has no routes"));
    assert!(run(&["prof", "vantage", "--dut", "veth"]).error(2).contains("linux-forward, linux-bridge"));
}

#[test]
fn stages_of_the_kernel_s_router() {
    if !root() {
        return;
    }
    let page = file("stages.html");
    let words = [
        "prof",
        "vantage",
        "--dut",
        "linux-forward",
        "--rounds",
        "1",
        "--seconds",
        "0.1",
        "--json",
        "--page",
    ];
    let found = run(&[&words[..], &[page.to_str().unwrap()]].concat()).json();
    Schema::read().check("prof vantage", &found);
    let stages = found["stages"].as_array().unwrap();
    assert_eq!((stages.len(), &stages[4]["place"]), (5, &"full path".into()));
    assert!(stages.iter().all(|s| s["until_ns"]["value"].as_f64().unwrap() > 0.0), "{stages:?}");
}
