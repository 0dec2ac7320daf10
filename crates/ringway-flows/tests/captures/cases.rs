//! Which flows are captured, and with which parameters.

use std::convert::Infallible;

use ringway_flows::code::Bundle;
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::run::report::Report;
use ringway_flows::run::stories;
use ringway_flows::run::virtual_time;
use ringway_wire::pcapfile::{MAX_RECORD, Writer};

/// The seed of each capture.
pub(crate) const SEED: u64 = 24;

/// Flows whose captures would be long, or whose course depends on the seed, with parameters that keep them short.
const PARAMETERS: [(&str, &[&str]); 14] = [
    ("datagrams-tftp", &["blocks=2", "rest=100"]),
    ("datagrams-call", &["packets=3"]),
    ("datagrams-echo_udp", &["size=100", "turns=3"]),
    ("datagrams-stream", &["packets=5"]),
    ("echo-echo", &["size=3000", "turns=2"]),
    ("echo-both_ways", &["size=5000"]),
    ("example-web", &["reqs=2", "page=2000"]),
    ("ftp-ftp_put", &["size=5000"]),
    ("http-web", &["reqs=2", "page=3000"]),
    ("http-http_post", &["size=2000"]),
    ("http-http_chunked", &["page=9000"]),
    ("mail-smtp", &["lines=3"]),
    ("mail-pop3", &["messages=2"]),
    ("peers-real_ftp", &["size=5000"]),
];
/// Attacks over connections that would send for long end after this time, in ns of the run.
const UNTIL: [(&str, u64); 1] = [("slow_read", 300_000_000)];
/// Starts of an attack: five packets or turns, or one connection.
const STARTS: [u64; 2] = [5, 1];

/// A capture: what makes it.
pub(crate) struct Case {
    /// The name of its file, without `.pcap`.
    pub(crate) name: String,
    pub(crate) is_attack: bool,
    bundle: Bundle,
    options: virtual_time::Options,
}

/// A capture and the report of its run.
pub(crate) struct Capture {
    pub(crate) bytes: Vec<u8>,
    pub(crate) report: Report,
}

impl Case {
    /// Each story and each attack that ships, and a mix.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![mix()];
        for story in stories::ALL {
            let text = story.text.split("\nmix ").next().unwrap().split("\nrun {").next().unwrap();
            let is_attack = |flow: &&str| text.contains(&format!("attack {flow}("));
            let (attacks, stories): (Vec<_>, Vec<_>) = story.flows().partition(is_attack);
            all.extend(stories.into_iter().map(|flow| good(story.name, text, flow)));
            // That of the example is the same.
            let attacks = attacks.into_iter().filter(|_| story.name == "attacks");
            all.extend(attacks.map(|flow| attack(text, flow)));
        }
        all
    }

    /// Runs it in virtual time.
    pub(crate) fn make(&self) -> Capture {
        let mut bytes = Vec::new();
        let mut file = Writer::new(&self.name, &mut bytes, MAX_RECORD).unwrap();
        let report = virtual_time::run(self.bundle.clone(), &self.options, |ns, _, frame| {
            file.write(ns, 0, frame).unwrap();
            Ok::<(), Infallible>(())
        });
        file.finish().unwrap();
        Capture { bytes, report: report.unwrap() }
    }
}

fn compiled(name: &str, text: &str, defines: &[&str]) -> Bundle {
    let define = |word: &&str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options { defines: defines.iter().filter_map(define).collect(), lab: String::new() };
    let bundle = compile(&Source { name, text, read: &stories::read }, &options);
    let bundle = bundle.unwrap_or_else(|errors| panic!("{name}: {errors}"));
    Bundle { seed: SEED, ..bundle }
}

/// One flow of a story.
fn good(file: &str, text: &str, flow: &str) -> Case {
    let name = format!("{file}-{flow}");
    let defines = PARAMETERS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, defines)| defines);
    let mut bundle = compiled(file, text, defines);
    let at = (0..).zip(&bundle.flows).find(|(_, of)| bundle.name(of.name) == flow).unwrap().0;
    virtual_time::only(&mut bundle, at);
    Case { name, is_attack: false, bundle, options: virtual_time::Options::default() }
}

/// Some packets or a connection of an attack.
fn attack(text: &str, flow: &str) -> Case {
    let run = format!("{text}\nrun {{ {flow} rate 10 flows/s for 1 s target 198.19.0.1\n drain 200 s }}\n");
    let bundle = compiled(flow, &run, &[]);
    let until_ns = UNTIL.iter().find(|(of, _)| *of == flow).map_or(u64::MAX, |(_, ns)| *ns);
    let is_raw = bundle.flows.iter().all(|flow| flow.connections.is_empty());
    let flows = STARTS[usize::from(!is_raw)];
    let options = virtual_time::Options { until_ns, flows, ..virtual_time::Options::default() };
    Case { name: format!("attack-{flow}"), is_attack: true, bundle, options }
}

/// The first flows of the example, which run at the same time.
fn mix() -> Case {
    let text = stories::find("example").unwrap().text.replace("ftp_get(size = 64 KiB)", "ftp_get");
    let bundle = compiled("example", &text, &["web.page=1KiB"]);
    let options = virtual_time::Options { flows: 8, ..virtual_time::Options::default() };
    Case { name: "example-office".to_owned(), is_attack: false, bundle, options }
}
