//! Values of options of both benchmarks.

use clap::ValueEnum;
use ringway_tester::trial::search::{Preset, SearchKind};

/// Names of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchName {
    Binary,
    BinaryVerify,
    Mlr,
}

impl From<SearchName> for SearchKind {
    fn from(name: SearchName) -> Self {
        match name {
            SearchName::Binary => Self::Binary,
            SearchName::BinaryVerify => Self::BinaryVerify,
            SearchName::Mlr => Self::Mlr,
        }
    }
}

/// Names of goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    Rfc2544,
    Tst009,
    Ndr,
    Pdr,
}

impl PresetName {
    /// Whether the length of its trials is its own, as that of CSIT's presets.
    pub(crate) fn has_length(self) -> bool {
        matches!(self, Self::Ndr | Self::Pdr)
    }
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Rfc2544 => Self::Rfc2544,
            PresetName::Tst009 => Self::Tst009,
            PresetName::Ndr => Self::Ndr,
            PresetName::Pdr => Self::Pdr,
        }
    }
}

/// A list that clap takes for one value.
#[derive(Debug, Clone)]
pub(crate) struct Sizes(pub(crate) Vec<u32>);

pub(crate) fn sizes(text: &str) -> Result<Sizes, String> {
    let rfc = ringway_tester::trial::maximum::SIZES;
    let mut all = Vec::new();
    for word in text.split(',') {
        match word.trim() {
            "rfc" => all.extend(rfc),
            "jumbo" => all.extend(rfc.into_iter().chain([2048, 4096, 9000, 9216])),
            "none" => {}
            number => {
                let size: u32 = number
                    .parse()
                    .map_err(|_| format!("'{number}' is no size; accepted: 64,128,..., rfc, jumbo, none"))?;
                if !(64..=9216).contains(&size) {
                    return Err(format!("size {size} is not between 64 and 9216 bytes, FCS included"));
                }
                all.push(size);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(Sizes(all))
}

/// The items of a list that a text names, in their order.
pub(crate) fn named<T: Copy + Ord>(
    text: &str,
    all: &[T],
    name: fn(T) -> &'static str,
    what: &str,
) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for word in text.split(',').map(str::trim) {
        match all.iter().find(|t| name(**t) == word) {
            Some(t) => found.push(*t),
            None if word == "all" => found.extend(all),
            None => {
                let names = all.iter().map(|t| name(*t)).collect::<Vec<_>>().join(", ");
                return Err(format!("'{word}' is no {what}; accepted: {names}, all"));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if (0.0001..=100.0).contains(&p) => Ok(p),
        _ => Err("accepted: a percentage from 0.0001 to 100".into()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.001..=86_400.0).contains(&s) => Ok(s),
        _ => Err("accepted: seconds from 0.001 to 86400".into()),
    }
}

pub(crate) fn waiting(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=3600.0).contains(&s) => Ok(s),
        _ => Err("accepted: seconds from 0 to 3600".into()),
    }
}
