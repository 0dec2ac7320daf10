//! Changed texts through the compiler: refused with a place, or a bundle that the verifier accepts and the guards hold.

use ringway_flows::code::{decode, encode};
use ringway_flows::compile::{Options, Source, compile};
use ringway_flows::content::random::SplitMix64;
use ringway_flows::run::stories;

use super::guards::guarded;
use super::{Wrong, campaign, harm, seeds};

/// Texts of a normal run; `RINGWAY_FLOWS_TEXTS=10000000` takes an hour.
const TEXTS: u64 = 40_000;

#[test]
fn changed_texts_are_refused_or_guarded() {
    let mut seeds = seeds::stories();
    seeds.extend(seeds::wrong());
    campaign("RINGWAY_FLOWS_TEXTS", TEXTS, |number| {
        let text = harm::changed(&seeds, &mut SplitMix64(number));
        survives(&text)
    });
}

#[test]
fn any_characters_are_refused() {
    for seed in 0..2_000 {
        let mut random = SplitMix64(seed);
        let len = random.below(200);
        let text: String = (0..len).filter_map(|_| char::from_u32(random.below(0x500) as u32)).collect();
        assert!(survives(&text).is_ok(), "{text:?}");
    }
}

/// Compiles a changed text. Whatever it says, it ends, and what is accepted is guarded.
fn survives(text: &str) -> Result<&'static str, Wrong> {
    let wrong = |why: String| Wrong { why, case: text.to_owned() };
    match compile(&Source { name: "changed.flow", text, read: &stories::read }, &Options::default()) {
        Ok(bundle) => {
            guarded(&bundle);
            match decode(&encode(&bundle)) {
                Ok(again) if again == bundle => Ok("accepted"),
                Ok(_) => Err(wrong("it is read otherwise than it was written".to_owned())),
                Err(why) => Err(wrong(format!("it is not read again: {why}"))),
            }
        }
        Err(errors) => {
            let said = errors.list.iter().flat_map(|error| &error.labels).map(|(_, label)| label);
            match said.clone().find(|label| label.contains("the verifier refuses it")) {
                Some(label) => Err(wrong(reason(label))),
                None if errors.list.is_empty() || said.count() == 0 => {
                    Err(wrong("refused without an error".to_owned()))
                }
                None if errors.list[0].message.is_empty() => Err(wrong("an error without words".to_owned())),
                None => Ok("refused"),
            }
        }
    }
}

/// A refusal of the verifier without the place.
fn reason(label: &str) -> String {
    let behind = label.rsplit_once("): ").map_or(label, |(_, behind)| behind);
    let words: String = behind.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    format!("the verifier refuses it: {words}")
}
