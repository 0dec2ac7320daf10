//! Both programs of each flow against each other, over a wire without loss: what one end sends, the other expects, to the last byte.
//!
//! The interpreter here is slow and obvious. It shares nothing with the machine.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

mod interpreter;
mod messages;
mod numbers;

use proptest::prelude::*;
use ringway_flows::code::{Kind, ToPort};
use ringway_flows::compile::{Options, Source, compile};

use interpreter::Pair;

/// The folder of the stories.
const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/");

/// Runs all stories of a text, and those attacks that are connections, some times.
fn agree(name: &str, text: &str, runs: u64) {
    let read = |path: &str| std::fs::read(format!("{STORIES}{path}")).map_err(|error| error.to_string());
    let bundle = compile(&Source { name, text, read: &read }, &Options::default());
    let bundle = bundle.unwrap_or_else(|errors| panic!("{errors}"));
    for flow in &bundle.flows {
        let alone = flow
            .connections
            .iter()
            .any(|c| c.half_open || c.port == ToPort::Register && flow.connections.len() == 1);
        if flow.connections.is_empty() || (flow.kind == Kind::Attack && alone) {
            continue;
        }
        for seed in 0..runs {
            Pair::new(&bundle, flow, seed).run();
        }
    }
}

#[test]
fn both_ends_of_each_story_agree() {
    for file in [
        "datagrams.flow",
        "dns.flow",
        "echo.flow",
        "example.flow",
        "ftp.flow",
        "http.flow",
        "mail.flow",
        "peers.flow",
        "tls.flow",
    ] {
        agree(file, &std::fs::read_to_string(format!("{STORIES}{file}")).unwrap(), 4);
    }
}

#[test]
fn both_ends_of_attacks_over_connections_agree() {
    let all = std::fs::read_to_string(format!("{STORIES}attacks.flow")).unwrap();
    let (attacks, _) = all.split_once("\nrun {").unwrap();
    let names = attacks.lines().filter_map(|line| line.strip_prefix("attack ")?.split('(').next());
    let loads: String =
        names.map(|name| format!("  {name} rate 10 flows/s for 1 s target outside\n")).collect();
    agree("attacks.flow", &format!("{attacks}\nrun {{\n{loads}}}\n"), 3);
}

#[test]
fn both_ends_of_every_statement_agree() {
    let text = r#"
pool a = 198.18.0.0/24
pool b = 198.19.0.0/24
define most = 5
flow all(n = table(1: 3, 2: 5..9), size = 0..20000, name = "x" ) {
  tcp c = a -> b : 7  timeout 5 s
  let t = now(server)
  c < "at " t ", again " t ", and " hex(t, 16) "\r\n"
  c > "seen " t "\r\n"
  let u = t + 1 ms
  c > "later " u "\r\n"
  let v = now(server)
  c < v " and later " v + 1 ms ", " v - 1 ns "\r\n"
  if t > 0 s { check t < 1 h } else { fail "no time" }
  let late = t mod 2000 ns
  if late == 0 s { c > "even\n" } else if n > 4 { c > "many\n" } else { c < "odd\n" }
  repeat min(n, most) as i {
    choose {
      1 { c > "turn " i " of " n " " name word(20) "\n" }
      2 { c < u8(i) u16(i * 3) u32(i + n) u64(size) pattern("xyz", size) counter(size / 2) }
      3 { c < random(size - 10000) count k  check k == max(size, 10000) - 10000 }
    }
    repeat i { c > "inner " i "\n" }
  }
  let p = ephemeral(server)
  let q = ephemeral(client)
  c < "port " p "\r\n"
  c > "port " q "\r\n"
  repeat 2 {
    let p = ephemeral(server)
    c < "another " p "\r\n" as r
    tcp f = c.client -> ftp_parse(r)
    f > random(100)
    f < close
  }
  tcp d = c.client -> c.server : p
  udp e = c.server -> c.client : q
  e < "first"
  e > "second" random(100)
  d > http.post(path = "/" hex(n), host = d.server, body = random(size))
  d < http.ok(body = random(size), chunked = 999)
  d < http.reply(status = 404)
  measure longer {
    parallel {
      { repeat 3 { d > random(size) } }
      { repeat n as j { c < "from " c.client.port " " j "\n" } }
      { e < "third" }
    }
  }
  d < half_close
  d > "rest"
  d > close
  count done n
  c > "not a number: 1..4" " and \0\xff\n"
  c < reset
}
"#;
    agree("all.flow", text, 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn both_ends_agree_when_lines_are_moved_left_out_and_doubled(
        file in 0usize..5,
        changes in prop::collection::vec((0u8..3, any::<u16>(), any::<u16>()), 1..4),
        seed: u64,
    ) {
        let file = ["datagrams.flow", "dns.flow", "echo.flow", "ftp.flow", "mail.flow"][file];
        let text = std::fs::read_to_string(format!("{STORIES}{file}")).unwrap();
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("check")).collect();
        for (what, from, to) in changes {
            let from = usize::from(from) % lines.len();
            let line = if what == 0 { lines[from] } else { lines.remove(from) };
            if what < 2 {
                lines.insert(usize::from(to) % (lines.len() + 1), line);
            }
        }
        let text = lines.join("\n");
        let source = Source { name: file, text: &text, read: &|_| Err("no file".to_owned()) };
        if let Ok(bundle) = compile(&source, &Options::default()) {
            for flow in bundle.flows.iter().filter(|flow| flow.connections.iter().all(|c| !c.half_open)) {
                Pair::new(&bundle, flow, seed).run();
            }
        }
    }
}
