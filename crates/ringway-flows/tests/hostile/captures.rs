//! Changed captures through the import: refused, or a story that compiles, that the guards hold, and that runs.

use std::convert::Infallible;

use ringway_flows::compile::{Options as Compile, Source, compile};
use ringway_flows::content::random::SplitMix64;
use ringway_flows::import::{Options, import};
use ringway_flows::run::{stories, virtual_time};
use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};

use super::bed::runs;
use super::guards::guarded;
use super::{Wrong, campaign};

/// Captures of a normal run; `RINGWAY_FLOWS_CAPTURES=1000000` takes some minutes.
const CAPTURES: u64 = 1_000;

/// Frames with their times.
type Frames = Vec<(u64, Vec<u8>)>;

/// The first frames of each file that ships.
fn seeds() -> Vec<Frames> {
    let frames = |story: &stories::Shipped| {
        let source = Source { name: story.name, text: story.text, read: &stories::read };
        let mut bundle = compile(&source, &Compile::default()).unwrap();
        virtual_time::once(&mut bundle);
        let mut frames = Frames::new();
        let _ = virtual_time::run(bundle, &virtual_time::Options::default(), |time, _, frame| {
            frames.push((time, frame.to_vec()));
            if frames.len() < 300 { Ok(()) } else { Err("enough") }
        });
        frames
    };
    // A file of attacks alone has no story that starts once.
    stories::ALL.iter().map(frames).filter(|frames| !frames.is_empty()).collect()
}

#[test]
fn changed_captures_are_refused_or_become_stories_that_run() {
    let seeds = seeds();
    campaign("RINGWAY_FLOWS_CAPTURES", CAPTURES, |number| {
        let mut random = SplitMix64(number);
        let file = changed(&seeds, &mut random);
        let think = random.below(2) == 0;
        let options = Options { literal: [8, 300, 4096][random.below(3) as usize], think };
        let Ok(mut reader) = Reader::from_bytes(file) else { return Ok("no capture") };
        let Ok(imported) = import(&mut reader, &options) else { return Ok("refused") };
        let source = Source { name: "imported", text: &imported.story, read: &|_| Err("no file".to_owned()) };
        let wrong = |why: String| Wrong { why, case: imported.story.clone() };
        let bundle =
            compile(&source, &Compile::default()).map_err(|errors| wrong(errors.list[0].message.clone()))?;
        guarded(&bundle);
        // No address of the capture: pools begin where the import puts them.
        let begins = bundle.pools.iter().flat_map(|pool| &pool.ranges).map(|range| range.first.to_string());
        let own = ["198.18.0.0", "198.19.0.0", "2001:2:0:1::", "2001:2:0:2::"];
        assert!(
            begins.clone().all(|first| own.contains(&first.as_str())),
            "{:?}",
            begins.collect::<Vec<_>>()
        );
        let mut once = bundle.clone();
        virtual_time::once(&mut once);
        let all = virtual_time::Options { flows: 4, until_ns: 30_000_000_000, ..Default::default() };
        let report = virtual_time::run(once, &all, |_, _, _| Ok::<(), Infallible>(())).unwrap();
        if report.total.failed > 0 {
            return Err(wrong("a flow of it fails".to_owned()));
        }
        runs(bundle, &mut random)
    });
}

/// Frames of a seed, or of two, left out, doubled, moved, cut and changed in a byte; and changes of the file.
fn changed(seeds: &[Frames], random: &mut SplitMix64) -> Vec<u8> {
    let any = |random: &mut SplitMix64| seeds[random.below(seeds.len() as u64) as usize].clone();
    let mut frames = any(random);
    if random.below(4) == 0 {
        frames.extend(any(random));
    }
    for _ in 0..random.below(6) {
        let (at, to) =
            (random.below(frames.len() as u64) as usize, random.below(frames.len() as u64) as usize);
        match random.below(6) {
            0 if frames.len() > 1 => drop(frames.remove(at)),
            1 => frames.insert(to, frames[at].clone()),
            2 => frames.swap(at, to),
            3 => {
                let len = frames[at].1.len() as u64;
                frames[at].1.truncate(random.below(len + 1) as usize);
            }
            4 => frames[at].0 = random.draw() >> random.below(64),
            _ => {
                let len = frames[at].1.len() as u64;
                // Headers are more interesting.
                let most = if random.below(3) > 0 { len.min(60) } else { len };
                let place = random.below(most) as usize;
                if let Some(byte) = frames[at].1.get_mut(place) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    let mut file = Vec::new();
    let mut writer = Writer::new("changed", &mut file, MAX_RECORD).unwrap();
    for (time, frame) in &frames {
        // A time that the form can't say is left out.
        let _ = writer.write(*time, frame.len() as u32, frame);
    }
    writer.finish().unwrap();
    if random.below(8) == 0 {
        let at = random.below(file.len() as u64) as usize;
        file[at] ^= 1 << random.below(8);
    }
    file
}
