//! `ringway rfc2544`, end to end: in virtual time, and over ports that need no privilege.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::thread;
use std::time::Duration;

use ringway_lab::{AnyError, Lab, is_root};
use serde_json::Value;
use support::{file, pipe, run, start};

/// Runs with `words`, split at spaces.
fn rfc(words: &str) -> support::Ended {
    run(&args(words))
}

fn args(words: &str) -> Vec<&str> {
    std::iter::once("rfc2544").chain(words.split(' ').filter(|w| !w.is_empty())).collect()
}

#[test]
fn counts_of_the_hardware_tester_in_one_command() {
    let report =
        rfc("--virtual-time --link 1G --sizes 64,128,256,512,1024,1518 --test burst,throughput --json")
            .json();
    let counts = [29_761_905, 16_891_892, 9_057_972, 4_699_249, 2_394_637, 1_625_488];
    let kpps = [1488, 844, 452, 234, 119, 81];
    for k in 0..6 {
        let burst = &report["results"]["burst"][k];
        for key in ["scheduled", "tx", "rx"] {
            assert_eq!(burst[key], counts[k], "{burst}");
        }
        assert_eq!(burst["lost"], 0);
        assert_eq!((report["results"]["throughput"][k]["fps"].as_f64().unwrap() / 1e3) as u64, kpps[k]);
    }
    assert_eq!((&report["time"], &report["schema"]), (&Value::from("virtual"), &Value::from(2)));
}

#[test]
fn all_tests_over_a_modelled_switch_with_every_kind_of_report() {
    let (page, json, csv) = (file("r.html"), file("r.json"), file("r.csv.d"));
    let command = format!(
        "--virtual-time --link 10G --device switch:pps=8M,buffer=256 --test all --sizes 64,1518 --imix imix --search-seconds 0.05 \
         --seconds 0.1 --latency-seconds 0.1 --latency-repeat 2 --burst-repeat 2 --burst-seconds 0.1 --page {} --save {} --csv {}",
        page.display(),
        json.display(),
        csv.display()
    );
    let ended = rfc(&command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "Throughput",
        "Latency",
        "Frame loss",
        "Back-to-back",
        "Bursts",
        "System recovery",
        "Reset",
        "7x64,4x570,1x1518",
    ] {
        assert!(ended.stdout.contains(part), "{part}\n{}", ended.stdout);
    }
    assert!(ended.stdout.contains("a mix has no back-to-back result"), "{}", ended.stdout);
    let html = fs::read_to_string(&page).unwrap();
    for part in ["Frames per second by frame size", "<dt>Date</dt>", "<span>--virtual-time</span>"] {
        assert!(html.contains(part), "{part}");
    }
    for name in ["throughput", "latency", "loss", "back-to-back", "burst", "recovery", "reset", "trials"] {
        assert!(fs::metadata(csv.join(name).with_extension("csv")).unwrap().len() > 0, "{name}");
    }
    let path = json.to_str().unwrap();
    let diff = run(&["rfc2544", "diff", path, path, "--json"]).json();
    assert!(diff["changes"].as_array().unwrap().iter().all(|c| c["percent"].as_f64().unwrap_or(0.0) == 0.0));
    assert!(run(&["rfc2544", "diff", path, "/none"]).error(1).contains("/none: "));
}

#[test]
fn combinations_that_can_not_be_are_refused_before_anything_is_sent() {
    for (words, why) in [
        ("", "there are no ports"),
        ("--tx loop:", "--rx"),
        ("--tx loop: --rx loop:", "give one with --link"),
        ("--virtual-time --sizes 63", "size 63 is not between 64 and 9216"),
        ("--virtual-time --sizes none", "no size to measure"),
        (
            "--virtual-time --sizes 64 --vlan 5 --ipv6 --imix 1x64",
            "no room for a tag with IPv6 and 1 VLAN tags; use 82",
        ),
        ("--virtual-time --sizes 64 --vlan 5,6", "no room for a tag with IPv4 and 2 VLAN tags; use 66"),
        ("--virtual-time --vlan 1,2,3", "two tags at most"),
        ("--virtual-time --link 10", "below 1M"),
        ("--virtual-time --link 20000G", "above 10000G"),
        ("--virtual-time --pps 1000000000G --imix imix", "the most for these sizes"),
        ("--virtual-time --link 1G --pps 5", "cannot be used with"),
        ("--virtual-time --test speed", "'speed' is no test; accepted: throughput,"),
        ("--virtual-time --preset ndr,pdr", "need --search mlr"),
        ("--virtual-time --flows 17M", "accepted: 1 to 16M"),
        ("--dut linux-bridge --dut-filters 2 --modifier protocols", "of one protocol"),
        ("--virtual-time --device ringway-router --test all", "frames have no age"),
        ("--virtual-time --device ringway-router --vlan 5", "has no VLANs"),
        ("--virtual-time --device ringway-router:routes=9M", "are the most"),
        ("--device ringway-router", "give one with --link"),
        ("--device switch --link 1G", "--virtual-time"),
        ("--virtual-time --device hub", "'hub' is no device"),
        ("--virtual-time --src-mac 1:2", "MAC address '1:2'"),
        ("--virtual-time --slots 64", "--slots is for ports"),
        ("--virtual-time --cpus 1", "--cpus is for ports"),
        ("--virtual-time --reset-command true", "--reset-command needs real time"),
        ("--virtual-time --modifier broadcast", "a modelled device looks at no frame"),
        ("--virtual-time --flows 1,9", "a modelled device looks at no frame"),
        ("--tx a --rx b --link 1G --flows 9,9", "a number twice"),
        ("--tx a --rx b --link 1G --modifier management", "needs --management ADDRESS"),
        ("--tx a --rx b --link 1G --modifier routes", "needs --route-command"),
        ("--tx a --rx b --link 1G --modifier filters --filter-command true", "--filter-remove"),
        ("--tx a --rx b --link 1G --management 198.18.0.1", "is for --modifier management"),
        ("--tx a --rx b --link 1G --modifier protocols --ipv6", "leave --ipv6 out"),
        (
            "--tx a --rx b --link 1G --modifier management --management 198.18.0.1 --bidir",
            "leave --bidir out",
        ),
        ("--tx a --rx b --link 1G --virtual-time --modifier routes --route-command true", "needs real time"),
        (
            "--tx loop: --rx loop: --link 1G --sizes 9216 --slots 2 --imix 1x70000",
            "longer than the port sends",
        ),
    ] {
        let ended = rfc(words);
        assert!(ended.error(2).contains(why), "{words}: {ended:?}");
    }
}

#[test]
fn ports_that_can_not_be_used_are_refused() {
    assert!(rfc("--tx null: --rx null: --link 1G").error(2).contains("can't send to itself"));
    let (a, b) = pipe();
    let lost = rfc(&format!("--tx {a} --rx null: --link 1G --sizes 64"));
    assert!(lost.error(1).contains("none of 20 frames came back"), "{lost:?}");
    let out = rfc(&format!("--tx {b} --rx {b} --link 1G"));
    assert!(out.error(2).contains("can't send to itself"), "{out:?}");
}

#[test]
fn a_burst_over_a_pipe_in_lock_step_is_exact() {
    let (a, b) = pipe();
    let command = format!(
        "--tx {a} --rx {b} --virtual-time --link 1G --test burst --burst-seconds 0.02 --bidir --flows 1000 --order zipf --json"
    );
    let report = rfc(&command).json();
    let burst = &report["results"]["burst"][0];
    assert_eq!((&burst["tx"], &burst["rx"]), (&Value::from(2 * 29_762), &Value::from(2 * 29_762)), "{burst}");
    assert_eq!(report["time"], "lock-step");
}

#[test]
fn configuration_files_are_checked_whole_with_line_numbers() {
    let path = file("lab.conf");
    let config = |text: &str| {
        fs::write(&path, text).unwrap();
        run(&["rfc2544", "--config", path.to_str().unwrap(), "--test", "burst", "--json"])
    };
    let ended = config("virtual-time = true\nlink = fast\nsizes = 64\nsize = 12\n");
    let error = ended.error(2);
    assert!(error.contains("line 2: ") && error.contains("line 4: there is no option 'size'"), "{error}");
    let report = config("# a test\nvirtual-time = true\nlink = 1G\nsizes = 64\ntest = latency\n").json();
    assert_eq!(report["results"]["burst"][0]["tx"], 29_761_905);
    assert!(run(&["rfc2544", "--config", "/none"]).error(1).contains("/none"));
}

#[test]
fn a_plan_sends_nothing_and_tells_how_long() {
    let plan = rfc("--tx none:such --rx none:such2 --link 10G --test all --plan");
    assert!(plan.code == Some(0) && plan.stdout.contains("trials"), "{plan:?}");
}

#[test]
fn a_stopped_run_is_partial_and_goes_on_with_its_journal() {
    let path = file("trials");
    let command = format!(
        "--tx loop: --rx loop: --pps 20k --sizes 64,128 --test loss --loss-step 50 --seconds 0.5 --wait 0.05 --pause 0.1 --retries 20 \
         --journal {} --json",
        path.display()
    );
    let running = start(&args(&command));
    // The head and one trial.
    while fs::read_to_string(&path).is_ok_and(|text| text.lines().count() < 2) || !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    running.signal(libc::SIGINT);
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let partial: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(partial["interrupted"], true);
    assert!(ended.stderr.contains("interrupted: the results are partial"), "{ended:?}");
    let kept = fs::read_to_string(&path).unwrap().lines().count();
    let ended = rfc(&command);
    assert!(ended.stderr.contains("trials of an earlier run are taken over"), "{ended:?}");
    assert!(fs::read_to_string(&path).unwrap().lines().count() >= kept);
    let other = command.replace("--sizes 64,128", "--sizes 128");
    assert!(rfc(&other).error(1).contains("other settings"));
}

#[test]
fn a_full_disk_is_told_and_the_report_is_still_printed() {
    let ended = rfc("--virtual-time --link 1G --sizes 64 --test burst --json --save /dev/full");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("/dev/full: No space left on device"), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["results"]["burst"][0]["tx"], 29_761_905);
}

#[test]
fn production_interfaces_are_refused() {
    // Whatever interface has the default route of this machine, if any has.
    let routes = fs::read_to_string("/proc/net/route").unwrap();
    let default =
        routes.lines().filter_map(|l| Some((l.split_whitespace().next()?, l.split_whitespace().nth(1)?)));
    let Some((interface, _)) = default.into_iter().find(|(_, dst)| *dst == "00000000") else {
        eprintln!("SKIP: this machine has no default route that the guard could refuse");
        return;
    };
    let ended = rfc(&format!("--tx packet:{interface} --rx loop: --link 1G"));
    assert!(ended.error(1).contains("holds a default route"), "{ended:?}");
}

/// Over a veth pair: tests that need no speed, a link that goes down, addresses that are not for laboratories.
#[test]
fn over_a_link_in_real_time() {
    if !is_root() {
        eprintln!("SKIP: links need root (namespaces); run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("r0", "r1").unwrap();
    let within = |words: &str| lab.run(|| Ok::<_, AnyError>(rfc(words))).unwrap();
    let common =
        "--tx packet:r0 --rx packet:r1 --pps 2k --sizes 64,1514 --wait 0.1 --pause 0 --retries 50 --json";
    let report = within(&format!("{common} --test burst --burst-seconds 0.1")).json();
    for burst in report["results"]["burst"].as_array().unwrap() {
        assert_eq!((&burst["tx"], &burst["rx"]), (&Value::from(200), &Value::from(200)), "{burst}");
    }
    assert_eq!((&report["time"], &report["ports"][0][0]), (&Value::from("real"), &Value::from("packet:r0")));
    lab.ip("address add 10.9.8.7/24 dev r0").unwrap();
    assert!(within(&format!("{common} --test burst")).error(1).contains("r0 has the address 10.9.8.7"));
    lab.ip("address del 10.9.8.7/24 dev r0").unwrap();
    let words = "--tx packet:r0 --rx packet:r1 --pps 1k --sizes 64 --test loss --seconds 20 --json";
    let running = lab.run(|| Ok::<_, AnyError>(start(&args(words)))).unwrap();
    thread::sleep(Duration::from_millis(2500));
    lab.ip("link set r1 down").unwrap();
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("down"), "{}", ended.stderr);
}

/// Every modifier over a bridge of Linux, which floods broadcasts and answers queries.
#[test]
fn modifiers_have_results_of_their_own() {
    if !is_root() {
        eprintln!("SKIP: links need root (namespaces); run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    lab.veth("t0", "b0").unwrap();
    lab.veth("t1", "b1").unwrap();
    lab.ip("link add sw0 type bridge").unwrap();
    for words in ["b0 master sw0", "b1 master sw0", "sw0 up"] {
        lab.ip(&format!("link set {words}")).unwrap();
    }
    lab.ip("address add 198.18.0.1/16 dev sw0").unwrap();
    let (log, csv) = (file("commands"), file("modified.d"));
    let log = log.display();
    let (route, set) = (format!("echo route >> {log}; echo >> {log}"), format!("echo set >> {log}"));
    let remove = format!("echo removed >> {log}");
    let csv_dir = csv.display().to_string();
    let mut words = args(
        "--tx packet:t0 --rx packet:t1 --pps 1k --sizes 78 --wait 0.3 --pause 0 --retries 50 --test burst --burst-seconds 1.1 \
         --modifier protocols,filters,routes,management,broadcast --management 198.18.0.1 --json",
    );
    words.extend([
        "--route-command",
        &route,
        "--filter-command",
        &set,
        "--filter-remove",
        &remove,
        "--csv",
        &csv_dir,
    ]);
    let report = lab.run(|| Ok::<_, AnyError>(run(&words))).unwrap().json();
    assert_eq!(report["results"]["burst"][0]["tx"], 1100, "{}", report["results"]);
    let expected = [
        ("broadcast", 1089, 11),
        ("management", 1098, 2),
        ("routes", 1100, 0),
        ("filters", 1100, 0),
        ("protocols", 1100, 0),
    ];
    for (k, (name, frames, extra)) in expected.into_iter().enumerate() {
        let varied = &report["varied"][k];
        assert!(varied["variant"]["modifier"].to_string().contains(name), "{varied}");
        let burst = &varied["results"]["burst"][0];
        assert_eq!(
            (&burst["tx"], &burst["rx"]),
            (&Value::from(frames), &Value::from(frames)),
            "{name}: {burst}"
        );
        if extra > 0 {
            // Trials that were repeated are not in the sum.
            assert_eq!(varied["extra"], serde_json::json!({ "sent": extra, "received": extra }), "{name}");
        }
        assert!(csv.join(format!("burst-{name}.csv")).exists(), "{name}");
    }
    let log = fs::read_to_string(file("commands")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    // The probe runs no commands; a trial that was repeated has an update of its own.
    assert!(lines.starts_with(&["route", "1"]) && lines.ends_with(&["set", "removed"]), "{log}");
}

/// Ringway's own router in this process: exact in virtual time, with its own speed in real time.
#[test]
fn a_router_of_ringway_in_this_process() {
    let report = rfc("--virtual-time --device ringway-router:routes=1k --link 1G --sizes 64,1518 --test burst,throughput --seconds 0.02 \
                      --burst-seconds 0.02 --flows 1,4096 --modifier broadcast,protocols --json")
    .json();
    let frames = |results: &Value| -> Vec<u64> {
        results["burst"].as_array().unwrap().iter().map(|b| b["rx"].as_u64().unwrap()).collect()
    };
    assert_eq!(
        (report["time"].as_str(), frames(&report["results"])),
        (Some("lock-step"), vec![29_762, 1626])
    );
    // 1 % of the frames are broadcasts; IPv6 needs 78 bytes.
    for (k, expected) in [vec![29_762, 1626], vec![29_465, 1610], vec![25_511, 1626]].into_iter().enumerate()
    {
        let results = &report["varied"][k]["results"];
        assert_eq!(frames(results), expected, "{results}");
        assert!(
            results["throughput"].as_array().unwrap().iter().all(|t| t["load"] == 1_000_000),
            "{results}"
        );
    }
    let extra = &report["varied"][1]["extra"];
    assert!(extra["sent"].as_u64().unwrap() > 300 && extra["received"] == 0, "{extra}");
    let words = "--device ringway-router --pps 10k --sizes 64 --seconds 0.05 --wait 0.1 --pause 0 --retries 50 --resolution 50 --json";
    let report = rfc(words).json();
    assert_eq!(report["time"], "real");
    assert!(
        report["results"]["throughput"][0]["device_fps"].as_f64().unwrap() > 1000.0,
        "{}",
        report["results"]
    );
}

/// Ringway's own switch in lock step: exact on any machine.
#[test]
fn a_switch_of_ringway_in_virtual_time() {
    let Some(room) = support::room::Room::new() else { return };
    assert_eq!(room.run(&["switch", "add", "vale0"]).code, Some(0));
    let words = "--virtual-time --tx vale0:p1 --rx vale0:p2 --link 1G --sizes 64,1518 --test burst,throughput --seconds 0.02 \
                 --burst-seconds 0.02 --flows 100";
    let report = room.json(&args(words));
    for (k, frames) in [29_762, 1626].into_iter().enumerate() {
        let burst = &report["results"]["burst"][k];
        assert_eq!((&burst["tx"], &burst["rx"]), (&Value::from(frames), &Value::from(frames)), "{burst}");
        assert_eq!(report["results"]["throughput"][k]["load"], 1_000_000);
    }
}

/// No sender reaches a link of 1 Tbit/s: the result says that the tester was the limit.
#[test]
fn a_tester_at_its_limit_says_so() {
    let words = "--tx loop: --rx loop: --link 1000G --sizes 64 --seconds 0.05 --wait 0.2 --pause 0 --retries 5 --json";
    let report = rfc(words).json();
    let throughput = &report["results"]["throughput"][0];
    assert_eq!(throughput["limited"], true, "{throughput}");
    assert!(throughput["fps"].as_f64().unwrap() < throughput["line_fps"].as_f64().unwrap(), "{throughput}");
    assert!(
        report["notes"][0].as_str().unwrap().contains("the tester could not send more"),
        "{}",
        report["notes"]
    );
}
