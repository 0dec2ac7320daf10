//! Reports and journals of benchmarks, which come from files: what is read is printed, compared and drawn.
#![no_main]

use std::fs::{self, OpenOptions};
use std::io::Write;

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::one_line;
use ringway_rfc::rfc2544::journal::Journal;
use ringway_rfc::rfc2544::report::{Report, csv, diff, page, text};
use ringway_rfc::rfc2544::settings::Settings;
use ringway_tester::trial::maximum::Maximum;

/// A journal: the file as it is, or trials behind a head that is right.
fn journal(bytes: &[u8], with_head: bool) {
    let path = std::env::temp_dir().join(format!("ringway-fuzz-journal-{}", std::process::id()));
    let open = || Journal::open(&path, "ports", &Settings::new(Maximum::Link(10_000_000_000)));
    if with_head {
        open().expect("a new one can be made");
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(bytes)).expect("room");
    } else {
        fs::write(&path, bytes).expect("room");
    }
    let before = fs::read(&path).expect("it is there");
    let (opened, after) = (open(), fs::read(&path).expect("it stays"));
    fs::remove_file(&path).expect("it was there");
    match opened {
        Ok(journal) => assert!(journal.left() <= before.split(|b| *b == b'\n').count()),
        Err(why) => {
            one_line(&why);
            assert_eq!(before, after, "what is no journal stays as it is");
        }
    }
}

fn report(json: &str) {
    let report = match Report::from_json(json) {
        Ok(report) => report,
        Err(why) => return one_line(&why),
    };
    let again = Report::from_json(&report.to_json()).expect("what was written can be read");
    assert_eq!(again.to_json(), report.to_json());
    let _ = (report.title(), report.labels(), text::text(&report), csv::files(&report), page::html(&report));
    let _ = diff::diff(&report, &again).text();
}

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((b'H', file)) => journal(file, false),
        Some((b'J', trials)) => journal(trials, true),
        Some((_, json)) => _ = std::str::from_utf8(json).map(report),
        None => {}
    }
});
