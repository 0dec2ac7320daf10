//! Captures of the stories that ship, and of packets made by hand.

use std::convert::Infallible;

use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};

use super::*;
use crate::code::Bundle;
use crate::compile::{Options as Compile, Source, compile};
use crate::run::report::Report;
use crate::run::{stories, virtual_time};

/// A capture of a run in virtual time, and its report.
fn capture(mut bundle: Bundle, flows: u64) -> (Vec<u8>, Report) {
    if bundle.plan.loads.is_empty() {
        virtual_time::once(&mut bundle);
    }
    let mut file = Vec::new();
    let mut writer = Writer::new("test", &mut file, MAX_RECORD).unwrap();
    let options = virtual_time::Options { flows, ..Default::default() };
    let report = virtual_time::run(bundle, &options, |time, _, frame| {
        writer.write(time, frame.len() as u32, frame).unwrap();
        Ok::<(), Infallible>(())
    });
    writer.finish().unwrap();
    (file, report.unwrap())
}

fn compiled(text: &str) -> Bundle {
    let source = Source { name: "imported.flow", text, read: &stories::read };
    compile(&source, &Compile::default()).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn imported(file: &[u8], options: &Options) -> Imported {
    import(&mut Reader::from_bytes(file.to_vec()).unwrap(), options).unwrap()
}

/// Payload of both directions of each conversation, by protocol and port, sorted.
fn payloads(file: &[u8]) -> Vec<(bool, u16, Vec<u8>, Vec<u8>)> {
    let (mut all, mut notes) = (Conversations::default(), Notes::default());
    let mut reader = Reader::from_bytes(file.to_vec()).unwrap();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        if let Ok(frame) = Frame::of(record.data) {
            all.take(1, record.ts_ns, &frame, &mut notes);
        }
    }
    let of = |talk: &talk::Talk, end| {
        let bytes = talk.steps.iter().filter(|step| step.end() == end).filter_map(|step| match step {
            talk::Step::Bytes(_, bytes) => Some(bytes.clone()),
            talk::Step::Length(_, len) => panic!("{len} bytes are not known"),
            _ => None,
        });
        bytes.flatten().collect::<Vec<u8>>()
    };
    let mut list: Vec<_> = all
        .finish(&Options::default(), &mut notes)
        .iter()
        .map(|talk| {
            let udp = talk.transport == crate::code::Transport::Udp;
            (udp, talk.port, of(talk, crate::code::End::Client), of(talk, crate::code::End::Server))
        })
        .collect();
    list.sort();
    list
}

/// Imports the capture of a story, and runs what comes of it.
fn there_and_back(name: &str, text: &str) {
    let (file, _) = capture(compiled(text), u64::MAX);
    for think in [false, true] {
        let options = Options { literal: Options::MAX_LITERAL, think };
        let imported = imported(&file, &options);
        let mut bundle = compiled(&imported.story);
        assert!(bundle.pools.iter().flat_map(|pool| &pool.ranges).all(crate::code::is_laboratory));
        // Each story once: a variant of each.
        bundle.plan = crate::code::Plan::default();
        let (again, report) = capture(bundle, u64::MAX);
        assert_eq!(
            report.total.complete, report.total.started,
            "{name}: {:?}\n{}",
            report.total, imported.story
        );
        assert_eq!(report.total.started, imported.stories as u64, "{name}");
        let (before, after) = (payloads(&file), payloads(&again));
        for one in &after {
            assert!(before.contains(one), "{name}: port {} has other bytes than before", one.1);
        }
        // With one variant each, all of it is there.
        if !imported.story.contains("choose {") && imported.conversations == imported.stories as u64 {
            assert!(before == after, "{name}");
        }
        // The plan of the import itself, too.
        let (_, report) = capture(compiled(&imported.story), 300);
        assert!(report.total.complete > 0 && report.total.failed == 0, "{name}: {:?}", report.total);
    }
}

#[test]
fn each_story_that_ships_comes_back_from_its_capture() {
    for story in stories::ALL.into_iter().filter(|story| !["attacks", "example"].contains(&story.name)) {
        there_and_back(story.name, story.text);
    }
}

#[test]
fn all_ways_to_end_come_back() {
    let pools = "pool a = 198.18.0.0/28\npool b = 198.19.0.0/28\n";
    for ending in [
        "c > \"x\"\nc > close",
        "c > \"x\"\nc < close",
        "c > close",
        "c < close",
        "c < \"x\"\nc > half_close\nc < \"more\"\nc < random(3000)\nc < close",
        "c > \"x\"\nc < half_close\nc > \"more\"\nc > close",
        "c < \"x\"\nc > reset",
        "c > \"x\"\nc < reset",
        "c > half_close\nc < \"x\"\nc > reset",
        "c > half_close\nc < reset",
        "c < half_close\nc > \"y\"\nthink 20 ms\nc > reset",
    ] {
        let text = format!("{pools}flow f {{\n  tcp c = a -> b : 7\n  {ending}\n}}\n");
        there_and_back(ending, &text);
        let (file, _) = capture(compiled(&text), u64::MAX);
        let story = imported(&file, &Options::default()).story;
        let kind = |text: &str| {
            text.lines()
                .filter(|l| l.contains("close") || l.contains("reset"))
                .map(str::trim)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(kind(&story), kind(ending), "{story}");
    }
}

#[test]
fn conversations_that_look_alike_become_one_story() {
    let text = "pool a = 198.18.0.0/28\npool b = 198.19.0.0/28\nflow f {\n  udp c = a -> b : 7\n  choose { 3 { c > \"one\" } 1 { c > \"two\" } }\n  c < \"yes\"\n}\n\
                run { f rate 100 flows/s for 10 s }";
    let (file, _) = capture(compiled(text), u64::MAX);
    let story = imported(&file, &Options::default());
    assert_eq!((story.stories, story.conversations), (1, 1000));
    let weight = |word: &str| {
        let at = story.story.find(word).unwrap();
        let line = story.story[..at].lines().rev().find(|line| line.ends_with('{')).unwrap();
        line.trim().trim_end_matches(" {").parse::<u64>().unwrap()
    };
    let (one, two) = (weight("\"one\""), weight("\"two\""));
    assert!(one + two == 1000 && (700..800).contains(&one), "{one} {two}");
    assert!(story.story.contains("capture  rate 100.000 flows/s for 10 s"), "{}", story.story);
}

#[test]
fn long_messages_become_random_bytes() {
    let text = "pool a = 198.18.0.0/28\npool b = 198.19.0.0/28\nflow f {\n  tcp c = a -> b : 7\n  c > random(5000)\n  c < \"ok\"\n  c > close\n}\n";
    let (file, _) = capture(compiled(text), u64::MAX);
    let imported = imported(&file, &Options::default());
    assert!(imported.story.contains("c > random(5000)\n  c < \"ok\"\n  c > close"), "{}", imported.story);
    let said: Vec<String> = imported.left.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[1..],
        ["conversation of packet 3: 1 message becomes 5000 random bytes: longer than 4096"]
    );
}
