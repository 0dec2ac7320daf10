//! Changed byte codes through the loader and its verifier. What is accepted runs: no crash, no wait without end, each end accounted for.

use std::ops::Range;

use ringway_flows::code::{Bundle, Instr, Op, decode, encode};
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::content::random::SplitMix64;
use ringway_flows::run::plan::Plan;
use ringway_flows::run::stories;
use ringway_flows::schedule::starts::Share;

use super::bed::runs;
use super::guards::guarded;
use super::{Wrong, campaign, seeds};

/// Codes of a normal run; `RINGWAY_FLOWS_CODES=100000000` takes some hours.
const CODES: u64 = 100_000;

/// A bundle as bytes, and where its programs are.
struct Seed {
    bytes: Vec<u8>,
    programs: Vec<Range<usize>>,
}

impl Seed {
    fn new(bundle: &Bundle) -> Self {
        let bytes = encode(bundle);
        let (mut programs, mut from) = (Vec::new(), 0);
        for program in bundle.flows.iter().flat_map(|flow| [&flow.client, &flow.server]) {
            let code: Vec<u8> = program.code.iter().flat_map(|instr| instr.to_bytes()).collect();
            let at = from + bytes[from..].windows(code.len()).position(|window| window == code).unwrap();
            from = at + code.len();
            programs.push(at..from);
        }
        Self { bytes, programs }
    }
}

#[test]
fn changed_codes_are_refused_or_run() {
    let seeds: Vec<Seed> = seeds::stories()
        .iter()
        .map(|text| {
            let source = Source { name: "seed.flow", text, read: &stories::read };
            let mut bundle =
                compile(&source, &Options::default()).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
            bundle.expectations.clear();
            Seed::new(&bundle)
        })
        .collect();
    campaign("RINGWAY_FLOWS_CODES", CODES, |number| {
        let mut random = SplitMix64(number);
        let seed = &seeds[random.below(seeds.len() as u64) as usize];
        let bytes = changed(seed, &seeds, &mut random);
        let Ok(bundle) = decode(&bytes) else { return Ok("refused") };
        if bundle.lab.is_empty() {
            guarded(&bundle);
        }
        if encode(&bundle) != bytes {
            return Err(Wrong {
                why: "it is written otherwise than it was read".to_owned(),
                case: String::new(),
            });
        }
        // A plan that can't be followed is refused, too.
        let planned = Plan::new(&bundle, Share::ALL).is_ok();
        runs(bundle, &mut random).map(|end| if planned { end } else { "ran, but for its plan" })
    });
}

/// The bytes of a seed with one to three changes, of which most are of instructions.
fn changed(seed: &Seed, seeds: &[Seed], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = seed.bytes.clone();
    for _ in 0..=random.below(3) {
        if random.below(4) > 0 {
            change_instruction(&mut bytes, seed, seeds, random);
        } else {
            change_byte(&mut bytes, random);
        }
    }
    bytes
}

/// Another operation, another operand, or an instruction from elsewhere.
fn change_instruction(bytes: &mut [u8], seed: &Seed, seeds: &[Seed], random: &mut SplitMix64) {
    let place = |seed: &Seed, random: &mut SplitMix64| {
        let program = &seed.programs[random.below(seed.programs.len() as u64) as usize];
        program.start + 8 * random.below((program.len() / 8) as u64) as usize
    };
    let at = place(seed, random);
    if at + 8 > bytes.len() {
        return;
    }
    let old: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
    let mut new = old;
    let small = |random: &mut SplitMix64| match random.below(4) {
        0 => random.draw() as u8,
        1 => [0, 1, 7, 8, 15, 16, 255][random.below(7) as usize],
        _ => random.below(6) as u8,
    };
    match random.below(10) {
        0..2 => new[0] = (0..).find_map(|_| Op::from_number(random.draw() as u8)).unwrap() as u8,
        2 => new[1] = small(random),
        3 => new[2] = small(random),
        4 => new[3] = small(random),
        5..7 => new[4] = small(random),
        7 => new[5 + random.below(3) as usize] = small(random),
        8 => {
            // Two change places.
            let other = place(seed, random);
            if other + 8 <= bytes.len() {
                new = bytes[other..other + 8].try_into().unwrap();
                bytes[other..other + 8].copy_from_slice(&old);
            }
        }
        _ => {
            let from = &seeds[random.below(seeds.len() as u64) as usize];
            let other = place(from, random);
            new = from.bytes[other..other + 8].try_into().unwrap();
        }
    }
    if Instr::from_bytes(new).is_some() || random.below(16) == 0 {
        bytes[at..at + 8].copy_from_slice(&new);
    }
}

/// A byte anywhere: another one, a bit, one more, one less, or the end.
fn change_byte(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(16) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, random.draw() as u8),
        2 => drop(bytes.remove(at)),
        3..8 => bytes[at] ^= 1 << random.below(8),
        8..12 => bytes[at] = [0, 1, 2, 127, 128, 254, 255][random.below(7) as usize],
        _ => bytes[at] = random.draw() as u8,
    }
}
