//! A day in virtual time takes no more memory than its first hour.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::convert::Infallible;

use ringway_flows::compile::{Options as Compile, Source, compile};
use ringway_flows::run::virtual_time::{self, Options};
use ringway_lab::counting::{CountingAllocator, live_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A flow of one connection, one of two, and one of datagrams.
const STORIES: &str = r#"
pool inside  = 198.18.0.0/18  port 10000..60999
pool outside = 198.19.0.0/20

flow web(page = 1..6 kB) {
  tcp c = inside -> outside : 80  timeout 10 s
  c > http.get(path = "/p/" hex(rand32), host = c.server)
  c < http.ok(body = random(page))
  think exp(200 ms) max 5 s
  c > close
}
flow file {
  tcp c = inside -> outside : 21  timeout 10 s
  c > "file\r\n"
  let p = ephemeral(server)
  c < "227 passive (" ftp_hostport(c.server, p) ")\r\n"  as r
  tcp d = c.client -> ftp_parse(r)
  d < random(3 kB)
  d < close
  c > close
}
flow name {
  udp q = inside -> outside : 53  timeout 2 s retry 2
  q > "who " hex(rand32)
  q < "it is " hex(rand32)
}
mix all { web 40 %  file 30 %  name 30 % }
run { all rate 1 flows/s for 24 h  drain 60 s  seed 3 }
"#;

const HOUR_NS: u64 = 3_600_000_000_000;
const FLOWS: u64 = 24 * 3600;
/// What may come and go: less than two bytes for each flow of the day.
const SLACK: usize = 128 << 10;

#[test]
fn a_day_takes_no_more_memory_than_an_hour() {
    let source = Source { name: "soak.flow", text: STORIES, read: &|name| Err(name.to_owned()) };
    let bundle = compile(&source, &Compile::default()).unwrap();
    let mut most = [0; 25];
    let report = virtual_time::run(bundle, &Options::default(), |time, _, _| {
        let hour = &mut most[(time / HOUR_NS) as usize];
        *hour = live_bytes().max(*hour);
        Ok::<(), Infallible>(())
    });
    let total = report.unwrap().total;
    assert_eq!((total.started, total.complete, total.active), (FLOWS, FLOWS, 0));
    let first = most[0];
    assert!(first > 0 && most.iter().all(|bytes| *bytes < first + SLACK), "{most:?}");
}
