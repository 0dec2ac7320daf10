//! Clients and servers on two networks, with a Linux router between them.

use ringway_lab::Lab;

use crate::bed::{all_complete, report};
use crate::support::{command, file, run, spawn};

/// The router's addresses, of IPv4 and IPv6, on the clients' side and on the servers' side.
const NEAR: [&str; 2] = ["198.18.0.254", "2001:2:0:1::fe"];
const FAR: [&str; 2] = ["198.19.0.254", "2001:2:0:2::fe"];

const STORY: &str = r#"
pool inside = 198.18.0.0/25  port 10000..20000
pool outside = 198.19.0.0/25
pool inside6 = 2001:2:0:1::10/124  port 10000..20000
pool outside6 = 2001:2:0:2::10/124

flow page(size = 1..20 KiB) {
  tcp c = inside -> outside : 80  timeout 20 s
  c > "get\r\n"
  c < random(size)
  c < close
}

flow question {
  udp q = inside6 -> outside6 : 53  timeout 10 s retry 3
  q > "who?"
  q < "nobody"
}

attack scan(target = outside) { raw tcp inside* -> target : 81  flags S  no_reply }

run {
  page rate 50 flows/s for 1 s
  question rate 20 flows/s for 1 s
  scan rate 20 pkt/s for 1 s
  drain 30 s
}
"#;

/// Namespaces of Ringway's ports `in0` and `out0`, and of the router between them.
fn routed() -> Option<(Lab, Lab)> {
    if !ringway_lab::is_root() {
        eprintln!("SKIP: namespaces need root; run these tests with sudo");
        return None;
    }
    let (ours, router) = (Lab::new().unwrap(), Lab::new().unwrap());
    for (own, other, [v4, v6]) in [("in0", "near0", NEAR), ("out0", "far0", FAR)] {
        ours.veth_to(own, &router, other).unwrap();
        router.run_napi(other).unwrap();
        router.exec("sysctl", &["-qw", &format!("net.ipv6.conf.{other}.disable_ipv6=0")]).unwrap();
        router.ip(&format!("addr add {v4}/24 dev {other}")).unwrap();
        router.ip(&format!("addr add {v6}/64 dev {other} nodad")).unwrap();
    }
    for switch in ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"] {
        router.exec("sysctl", &["-qw", switch]).unwrap();
    }
    Some((ours, router))
}

fn story(name: &str) -> String {
    let path = file(name);
    std::fs::write(&path, STORY).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn flows_go_through_a_router() {
    let Some((ours, _router)) = routed() else { return };
    let story = story("routed.flow");
    let mut words =
        vec!["--netns", ours.name(), "flows", "run", &story, "--both", "packet:in0", "packet:out0", "--json"];
    for (option, gateways) in [("--client-gateway", NEAR), ("--server-gateway", FAR)] {
        gateways.iter().for_each(|gateway| words.extend([option, gateway]));
    }
    let report = report(&spawn(&mut command(&words)).end());
    all_complete(&report, "client", "page", 50..=50);
    all_complete(&report, "client", "question", 20..=20);
    // The router passes packets of attacks on, too: nobody serves the port, so each is a stray at the servers.
    let answers = report["answers"]["reset"].as_u64();
    assert!(answers.is_some_and(|resets| resets > 0), "{report:#}");
}

#[test]
fn two_gateways_of_a_family_are_refused() {
    let story = story("gateways.flow");
    let options = ["--client-gateway", NEAR[0], "--client-gateway", FAR[0]];
    let ended = run(&[&["flows", "run", &story, "--client", "null:"][..], &options].concat());
    assert!(ended.error(2).contains("two gateways of one family"), "{ended:?}");
}
