//! Golden captures: a flow of each story and some packets of each attack, as they run in virtual time.
//!
//! The same seed gives the same bytes on any machine. An independent decoder finds no fault in the stories, and reads from each connection what the
//! story says. It sees that the packets of attacks are what they are made to be.
//!
//! `RINGWAY_GOLDEN=write` writes the captures again.

#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in test functions only, not in their helpers")]

mod attacks;
mod cases;
mod script;
mod tshark;

use std::path::PathBuf;

use cases::Case;

/// The file of a golden capture.
fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/captures")).join(format!("{name}.pcap"))
}

#[test]
fn each_capture_has_the_known_bytes() {
    let is_written = std::env::var("RINGWAY_GOLDEN").is_ok_and(|value| value == "write");
    let (mut names, mut total) = (Vec::new(), 0);
    for case in Case::all() {
        let (made, name) = (case.make(), &case.name);
        let flows = &made.report.total;
        assert_eq!((flows.complete, flows.failed), (flows.started, 0), "{name}: {:#?}", made.report.flows);
        assert!(case.is_attack || made.report.transport["retransmitted"] == 0, "{name}");
        if is_written {
            std::fs::write(path(name), &made.bytes).unwrap();
        }
        let known = std::fs::read(path(name)).unwrap_or_else(|e| panic!("{name}.pcap: {e}"));
        let differs = made.bytes.iter().zip(&known).position(|(new, old)| new != old);
        assert!(
            differs.is_none() && made.bytes.len() == known.len(),
            "{name}.pcap: {} bytes instead of {}, first other byte {differs:?}",
            made.bytes.len(),
            known.len()
        );
        total += known.len();
        names.push(format!("{name}.pcap"));
    }
    assert!(total < 400_000, "{total} bytes of captures are too many for a repository");
    let folder = path("").parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names, "a capture of no story");
}

#[test]
fn a_decoder_reads_from_each_story_what_its_script_says() {
    let scripts = script::all();
    let cases: Vec<_> = Case::all().into_iter().filter(|case| !case.is_attack).collect();
    let names: Vec<_> =
        cases.iter().map(|case| case.name.as_str()).filter(|name| *name != "example-office").collect();
    assert_eq!(names, scripts.iter().map(|script| script.name.as_str()).collect::<Vec<_>>());
    for case in &cases {
        let script = scripts.iter().find(|script| script.name == case.name);
        let streams = script.iter().flat_map(|script| &script.streams).map(|stream| stream.of.as_str());
        let Some(read) = tshark::read(&path(&case.name), &streams.collect::<Vec<_>>()) else { return };
        assert_eq!(read.faults, "", "{}", case.name);
        if let Some(script) = script {
            script.check(&read.streams).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        }
    }
}

#[test]
fn a_decoder_sees_what_attacks_are_made_to_be() {
    let cases: Vec<_> = Case::all().into_iter().filter(|case| case.is_attack).collect();
    let names = cases.iter().map(|case| case.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), attacks::ALL.map(|(attack, _)| format!("attack-{attack}")));
    for (case, (attack, filter)) in cases.iter().zip(attacks::ALL) {
        let started: u64 = case.make().report.flows.iter().map(|flow| flow.flows.started).sum();
        assert!(started > 0, "{attack}");
        let other = format!("eth.src == 02:00:00:00:00:01 && !arp && !({filter})");
        let Some(other) = tshark::run(&path(&case.name), &other, &[]) else { return };
        assert_eq!(other, "", "{attack}");
    }
}
