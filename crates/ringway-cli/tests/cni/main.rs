//! `ringway cni` as a container runtime calls it. Containers need root, which a line says.
#![allow(clippy::unwrap_used, reason = "tests")]

mod host;
mod host_local;
#[path = "../support/mod.rs"]
mod support;

use std::process::Command;

use host::{Host, PLUGINS, interfaces, plain, refusal, transfer, with, with_addresses, with_input};
use serde_json::json;
use support::{Ended, LIMIT};

#[test]
fn containers_reach_each_other() {
    let Some(host) = Host::new(2) else { return };
    let conf = with(with_addresses(), "mtu", json!(9000));
    let results = [1, 2].map(|n| host.add(n, &conf));
    let [first, _] = &results;
    assert_eq!(first["cniVersion"], "1.1.0");
    assert_eq!(first["ips"][0], json!({ "address": "10.0.0.1/24", "gateway": "10.0.0.254", "interface": 1 }));
    assert_eq!(first["routes"][0], json!({ "dst": "0.0.0.0/0" }));
    assert_eq!(first["dns"], json!({ "nameservers": ["10.0.0.254"] }));
    let [near, far] = [&first["interfaces"][0], &first["interfaces"][1]];
    assert_eq!(
        (&far["name"], &far["sandbox"], &far["mtu"]),
        (&json!("eth0"), &json!(host.netns(1)), &json!(9000))
    );
    assert_eq!((near["name"].as_str().unwrap().len(), near["sandbox"].is_null()), (15, true), "{near}");
    assert!(host.reaches(1, 2) && host.answers(1, 2, "[fd00::1]:0", LIMIT));
    transfer(&host.containers[0], &host.containers[1], "10.0.0.2:0");
    transfer(&host.containers[1], &host.containers[0], "[fd00::1]:0");
    for (n, result) in (1..).zip(&results) {
        host.quiet("CHECK", n, &with(conf.clone(), "prevResult", result.clone()));
        host.quiet("DEL", n, &conf);
        host.quiet("DEL", n, &conf);
    }
    host.assert_empty();
    let log = host.ipam_log();
    assert!(["ADD c1", "CHECK c1", "DEL c1"].iter().all(|line| log.contains(line)), "{log}");
}

#[test]
fn check_finds_what_somebody_changed() {
    let Some(host) = Host::new(1) else { return };
    let container = &host.containers[0];
    for (change, what) in [
        ("link del eth0", "the interface is missing"),
        ("address del 10.0.0.1/24 dev eth0", "10.0.0.1/24 is missing"),
        ("route del default", "the route to 0.0.0.0/0 is missing"),
        ("link set eth0 down", "the interface is down"),
        ("link set eth0 address 02:00:00:00:00:77", "the MAC address is"),
        ("link set eth0 mtu 1300", "the MTU is 1300"),
    ] {
        let result = host.add(1, &with_addresses());
        let conf = with(with_addresses(), "prevResult", result);
        host.quiet("CHECK", 1, &conf);
        container.ip(change).unwrap();
        let (code, words) = refusal(&host.call("CHECK", 1, &conf));
        assert!(code == 101 && words.contains(what), "{change}: {code} {words}");
        host.quiet("DEL", 1, &conf);
    }
    let result = host.add(1, &plain());
    let port = format!("vale0:{}", result["interfaces"][0]["name"].as_str().unwrap());
    let conf = with(plain(), "prevResult", result);
    assert_eq!(host.room.run(&["switch", "port", "set", &port, "--isolated", "true"]).code, Some(0));
    assert_eq!(refusal(&host.call("CHECK", 1, &conf)).0, 101);
    assert_eq!(host.room.run(&["switch", "port", "del", &port]).code, Some(0));
    assert_eq!(refusal(&host.call("CHECK", 1, &conf)).0, 101);
    host.quiet("DEL", 1, &conf);
    host.assert_empty();
}

#[test]
fn a_container_that_is_gone_is_removed() {
    let Some(mut host) = Host::new(2) else { return };
    let conf = with_addresses();
    host.add(1, &conf);
    host.add(2, &conf);
    let netns = host.netns(2);
    drop(host.containers.pop());
    for path in [netns.as_str(), ""] {
        let gone = [("CNI_CONTAINERID", "c2"), ("CNI_NETNS", path)];
        let ended = host.start("DEL", 1, &conf, &gone).end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    }
    assert_eq!(host.room.switch("vale0")["ports"].as_array().unwrap().len(), 1);
    let (code, words) = refusal(&host.start("ADD", 1, &conf, &[("CNI_NETNS", &netns)]).end());
    assert!(code == 3 && words.contains(&netns), "{code} {words}");
    host.quiet("DEL", 1, &conf);
    host.assert_empty();
    assert_eq!(host.ipam_log().matches("DEL c2").count(), 2);
}

#[test]
fn what_fails_half_way_leaves_nothing() {
    let Some(host) = Host::new(1) else { return };
    let refuse =
        |what: &str| refusal(&host.start("ADD", 1, &with_addresses(), &[("FAKE_IPAM_REFUSES", what)]).end());
    assert_eq!(refuse("ADD"), (11, "ipam fake-ipam: ADD failed: no address is free".into()));
    host.assert_empty();
    // The plugin for addresses gives 10.0.0.x, which is none.
    let wrong = [("CNI_CONTAINERID", "cx")];
    let (code, words) = refusal(&host.start("ADD", 1, &with_addresses(), &wrong).end());
    assert!(code == 6 && words.contains("10.0.0.x"), "{code} {words}");
    host.assert_empty();
    assert!(host.ipam_log().ends_with("ADD cx\nDEL cx\n"), "{}", host.ipam_log());
    // Nobody can read which addresses it gave, and it takes them back all the same.
    for printed in ["", "10.0.0.1/24", "{\"ips\": [", "[]", "null"] {
        let mute = [("FAKE_IPAM_PRINTS", printed)];
        let (code, words) = refusal(&host.start("ADD", 1, &with_addresses(), &mute).end());
        assert!([6, 7].contains(&code) && !words.is_empty(), "{printed:?} {code} {words}");
        assert!(host.ipam_log().ends_with("ADD c1\nDEL c1\n"), "{printed:?} {}", host.ipam_log());
        host.assert_empty();
    }
    let both = [("FAKE_IPAM_PRINTS", "no JSON"), ("FAKE_IPAM_REFUSES", "DEL")];
    let ended = host.start("ADD", 1, &with_addresses(), &both).end();
    let (code, words) = refusal(&ended);
    assert!(code == 6 && words.contains("the result of ADD is not JSON"), "{code} {words}");
    assert!(ended.stdout.contains("then undoing failed: ipam fake-ipam: DEL failed"), "{ended:?}");
    host.assert_empty();
    // A second interface of that name is not made, and the first stays as it is.
    host.add(1, &plain());
    assert_eq!(refusal(&host.call("ADD", 1, &plain())).0, 100);
    assert_eq!(interfaces(&host.containers[0]), ["lo", "eth0"]);
    // Each part goes, also when addresses do not.
    let ended = host.start("DEL", 1, &with_addresses(), &[("FAKE_IPAM_REFUSES", "DEL")]).end();
    assert_eq!(refusal(&ended).0, 11);
    host.assert_empty();
}

#[test]
fn settings_of_ports_separate_containers() {
    let Some(host) = Host::new(4) else { return };
    let vlan = |n| with(with_addresses(), "vlan", json!(n));
    let isolated = with(with_addresses(), "isolated", json!(true));
    assert_eq!(host.room.run(&["switch", "add", "vale0"]).code, Some(0));
    host.add(1, &vlan(10));
    host.add(2, &vlan(10));
    host.add(3, &vlan(20));
    assert!(host.reaches(1, 2) && host.is_cut_off(1, 3));
    host.quiet("DEL", 3, &vlan(20));
    let result =
        host.start("ADD", 3, &isolated, &[("CNI_ARGS", "IgnoreUnknown=1;MAC=02:00:00:00:00:03")]).end();
    assert_eq!(result.json()["interfaces"][1]["mac"], "02:00:00:00:00:03");
    let mac = json!({ "mac": "02:00:00:00:00:04" });
    let result = host.add(4, &with(isolated.clone(), "runtimeConfig", mac));
    assert_eq!(result["interfaces"][1]["mac"], "02:00:00:00:00:04");
    assert!(host.is_cut_off(3, 4));
    (1..=4).for_each(|n| host.quiet("DEL", n, &with_addresses()));
    assert_eq!(host.room.switch("vale0")["ports"], json!([]), "a switch that was there stays");
}

#[test]
fn many_come_and_go_at_the_same_time() {
    let Some(host) = Host::new(6) else { return };
    for command in ["ADD", "DEL"] {
        let started: Vec<_> = (1..=6).map(|n| host.start(command, n, &with_addresses(), &[])).collect();
        for one in started {
            let ended = one.end();
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
        if command == "ADD" {
            assert!((2..=6).all(|n| host.reaches(1, n)));
        }
    }
    host.assert_empty();
}

#[test]
fn stale_interfaces_of_a_network_are_collected() {
    let Some(host) = Host::new(3) else { return };
    let other = with(plain(), "name", json!("other"));
    host.add(1, &with_addresses());
    host.add(2, &with_addresses());
    host.add(3, &other);
    let in_use = json!([{ "containerID": "c1", "ifname": "eth0" }]);
    host.quiet("GC", 1, &with(with_addresses(), "cni.dev/valid-attachments", in_use));
    let has_eth0: Vec<bool> = host.containers.iter().map(|lab| interfaces(lab).len() == 2).collect();
    assert_eq!(has_eth0, [true, false, true]);
    assert!(host.ipam_log().contains("GC c"));
    host.quiet("STATUS", 1, &with_addresses());
    assert_eq!(
        refusal(&host.start("STATUS", 1, &with_addresses(), &[("FAKE_IPAM_REFUSES", "STATUS")]).end()).0,
        11
    );
    host.quiet("DEL", 1, &with_addresses());
    host.quiet("DEL", 3, &other);
    host.assert_empty();
}

/// The plugin without a container, as any user.
fn call(variables: &[(&str, &str)], input: &str) -> Ended {
    let mut command = support::command(&["cni"]);
    command.envs(variables.iter().copied());
    with_input(command, input).end()
}

#[test]
fn errors_have_the_codes_of_the_specification() {
    let all = [
        ("CNI_COMMAND", "ADD"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_NETNS", "/proc/self/ns/net"),
    ];
    let changed = |name, value| [&all[..], &[(name, value)]].concat();
    let conf = |key, value| with(plain(), key, value).to_string();
    for (variables, input, code, what) in [
        (all.to_vec(), conf("cniVersion", json!("0.3.1")), 1, "1.0.0 or 1.1.0"),
        (all.to_vec(), conf("ipMasq", json!(true)), 2, "ipMasq: true"),
        (Vec::new(), plain().to_string(), 4, "CNI_COMMAND"),
        (changed("CNI_COMMAND", "FETCH"), plain().to_string(), 4, "FETCH"),
        (all[..3].to_vec(), plain().to_string(), 4, "CNI_NETNS"),
        (changed("CNI_CONTAINERID", "../x"), plain().to_string(), 4, "CNI_CONTAINERID"),
        (changed("CNI_IFNAME", "a/b"), plain().to_string(), 4, "CNI_IFNAME"),
        (changed("CNI_ARGS", "MAC=7"), plain().to_string(), 4, "CNI_ARGS"),
        (all.to_vec(), "{".into(), 6, "standard input"),
        (all.to_vec(), conf("mtu", json!("big")), 7, "mtu"),
        (all.to_vec(), conf("vlan", json!(5000)), 7, "vlan"),
        (changed("CNI_PATH", PLUGINS), conf("ipam", json!({ "type": "absent" })), 7, "absent"),
        (changed("CNI_COMMAND", "CHECK"), plain().to_string(), 7, "prevResult"),
    ] {
        let (is, words) = refusal(&call(&variables, &input));
        assert!(is == code && words.contains(what), "{variables:?} {input}: {is} {words}");
    }
}

/// By the file that a runtime calls, which has no arguments.
#[test]
fn versions_are_listed() {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_ringway"));
    for (input, version) in [("", "1.1.0"), (r#"{"cniVersion":"0.4.0"}"#, "0.4.0")] {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cni/ringway"));
        let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("CNI_COMMAND", "VERSION");
        let versions = with_input(command, input).end().json();
        assert_eq!(versions, json!({ "cniVersion": version, "supportedVersions": ["1.0.0", "1.1.0"] }));
    }
}
