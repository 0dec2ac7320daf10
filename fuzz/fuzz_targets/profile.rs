//! Files of profiles and of groups: what is read is bounded, printed, drawn, and read again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringway_fuzz::one_line;
use ringway_model::flame::{Merged, Selection, Title, flame_graph, folded};
use ringway_model::group::{Groups, shipped};
use ringway_model::profile::Profile;
use ringway_model::table::{Costs, text};

/// The checksum that ends a file, so that inputs get behind it.
fn closed(body: &[u8]) -> Vec<u8> {
    let sum = body
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    [body, format!("end {sum:016x}\n").as_bytes()].concat()
}

fn profile(bytes: &[u8]) {
    let profile = match Profile::read(bytes) {
        Ok(profile) => profile,
        Err(why) => return one_line(&why.to_string()),
    };
    // A line has at least 6 bytes, and gives a node or a frame.
    assert!(profile.tree.nodes().len() + profile.frames.len() <= bytes.len() / 5);
    let again = Profile::read(profile.to_text().as_bytes()).expect("what was written can be read");
    assert_eq!(again.tree, profile.tree);
    let groups = shipped("linux").expect("it ships").expect("it is right");
    let found = groups.attribute(&profile);
    assert_eq!(found.path + found.idle + found.foreign, profile.tree.samples());
    let costs = Costs::from_attribution(&profile.about, groups.name(), &found);
    let _ = text::report(&profile.about, &costs, &found);
    let mut merged = Merged::default();
    merged.add(&profile, &found, &Selection::default());
    let _ = (folded(&merged), flame_graph(&merged, &Title { title: String::new(), lines: Vec::new() }));
}

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((b'G', text)) => match Groups::parse(&String::from_utf8_lossy(text)) {
            Ok(groups) => assert_eq!(groups.columns().last(), Some("other")),
            Err(why) => one_line(&why.to_string()),
        },
        Some((b'C', body)) => profile(&closed(body)),
        Some((_, file)) => profile(file),
        None => {}
    }
});
