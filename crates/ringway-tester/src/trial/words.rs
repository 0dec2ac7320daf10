//! Modelled devices in words: a name, and options with numbers and times.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::rate::{MICROSECOND, MILLISECOND, SECOND};

/// What is described as `NAME[:OPTION[=VALUE],...]`.
pub trait Described: Default {
    /// The words for the default.
    const DEFAULT: &'static str;

    /// What has this name, with no option.
    fn named(name: &str) -> Result<Self, String>;

    /// Sets an option; one without a value has an empty one.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String>;
}

/// A device with the words that describe it: it is printed and kept as these words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String", bound = "T: Clone + Described")]
pub struct InWords<T> {
    text: String,
    device: T,
}

impl<T> Deref for InWords<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.device
    }
}

impl<T: Described> Default for InWords<T> {
    fn default() -> Self {
        Self { text: T::DEFAULT.into(), device: T::default() }
    }
}

impl<T> fmt::Display for InWords<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T> From<InWords<T>> for String {
    fn from(words: InWords<T>) -> Self {
        words.text
    }
}

impl<T: Described> TryFrom<String> for InWords<T> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl<T: Described> FromStr for InWords<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let read = || {
            let mut device = T::named(name)?;
            for option in options.split(',').filter(|o| !o.is_empty()) {
                let (key, value) = option.split_once('=').unwrap_or((option, ""));
                device.set(key, value)?;
            }
            Ok(device)
        };
        let device = read().map_err(|why: String| format!("device '{text}': {why}"))?;
        Ok(Self { text: text.into(), device })
    }
}

/// A number above 0 that a model can work with, read by `read`.
pub fn positive(text: &str, read: impl Fn(&str) -> Result<u64, String>) -> Result<u64, String> {
    let n = read(text).map_err(|accepted| format!("'{text}' is no number; {accepted}"))?;
    if (1..=MOST).contains(&n) { Ok(n) } else { Err(format!("'{text}' is not between 1 and 1000G")) }
}

/// Largest number in the description of a model.
const MOST: u64 = 1_000_000_000_000;

/// A time with its unit, in picoseconds: `5us`, `1.5ms`, `20s`.
///
/// # Errors
/// When it is no number with a unit, or longer than a day.
pub fn time(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let unit = match &text[at..] {
        "ns" => 1000,
        "us" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        _ => 0,
    };
    match text[..at].parse::<f64>() {
        Ok(n) if unit > 0 && (0.0..=86_400.0 * SECOND as f64).contains(&(n * unit as f64)) => {
            Ok((n * unit as f64).round() as u64)
        }
        _ => Err(format!("'{text}' is no time; accepted: NUMBER and ns, us, ms or s")),
    }
}
