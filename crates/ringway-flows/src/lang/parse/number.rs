//! Numbers and their units.

use super::{Parsed, Parser};
use crate::lang::token::{MICRO, Token};
use crate::lang::{Diagnostic, Number, Span, Unit};

/// Factors in front of a unit.
const FACTORS: [(&str, u128); 3] = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Units: name, base unit, factor.
const UNITS: [(&str, Unit, u128); 14] = [
    ("B", Unit::Bytes, 1),
    ("kB", Unit::Bytes, 1_000),
    ("MB", Unit::Bytes, 1_000_000),
    ("GB", Unit::Bytes, 1_000_000_000),
    ("KiB", Unit::Bytes, 1 << 10),
    ("MiB", Unit::Bytes, 1 << 20),
    ("GiB", Unit::Bytes, 1 << 30),
    ("ns", Unit::Time, 1),
    ("us", Unit::Time, 1_000),
    ("ms", Unit::Time, 1_000_000),
    ("s", Unit::Time, 1_000_000_000),
    ("min", Unit::Time, 60_000_000_000),
    ("h", Unit::Time, 3_600_000_000_000),
    ("flows", Unit::Flows, 1),
];

/// Rates, which `/s` follows.
const RATES: [(&str, Unit, u128); 7] = [
    ("flows", Unit::FlowRate, 1),
    ("packets", Unit::PacketRate, 1),
    ("pkt", Unit::PacketRate, 1),
    ("bit", Unit::BitRate, 1),
    ("kbit", Unit::BitRate, 1_000),
    ("Mbit", Unit::BitRate, 1_000_000),
    ("Gbit", Unit::BitRate, 1_000_000_000),
];

impl Parser<'_> {
    /// The unit behind a number.
    pub(super) fn number(&mut self, micro: u128) -> Parsed<Number> {
        let mut factor = 1;
        if let Some((_, by)) =
            self.unit_word().and_then(|word| FACTORS.iter().find(|(name, _)| *name == word))
        {
            factor = *by;
            self.at += 1;
        }
        let span = self.last_span();
        let mut unit = Unit::One;
        if self.same_line() == Some(&Token::Sign('%')) {
            self.at += 1;
            unit = Unit::Percent;
        } else if let Some((rate, by)) = self.rate() {
            self.at += 3;
            (unit, factor) = (rate, factor * by);
        } else if let Some((_, found, by)) =
            self.unit_word().and_then(|word| UNITS.iter().find(|u| u.0 == word))
        {
            self.at += 1;
            (unit, factor) = (*found, factor * by);
        } else if let Some(near) = self.unit_word().and_then(almost_unit) {
            let (word, span) = (self.unit_word().unwrap_or("").to_owned(), self.span());
            let diagnostic = Diagnostic::new(span, format!("there is no unit `{word}`"), "unknown unit");
            return self.fail(diagnostic.help(format!("did you mean `{near}`?")));
        }
        self.factor = (unit, factor);
        self.limit(micro * factor, unit, span)
    }

    /// The next word on the same line, if it is a name.
    fn unit_word(&self) -> Option<&str> {
        match self.same_line() {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// A rate: a word, and `/s` behind it.
    fn rate(&self) -> Option<(Unit, u128)> {
        let word = self.unit_word()?;
        let (_, unit, factor) = RATES.iter().find(|(name, ..)| *name == word)?;
        let behind = |n: usize| self.tokens.get(self.at + n).map(|placed| &placed.token);
        let second = matches!(behind(2), Some(Token::Name(name)) if name == "s");
        (behind(1) == Some(&Token::Sign('/')) && second).then_some((*unit, *factor))
    }

    /// The number, if it fits into 62 bits.
    pub(super) fn limit(&mut self, micro: u128, unit: Unit, span: Span) -> Parsed<Number> {
        // Hexadecimal numbers of 64 bits are patterns, and have no unit.
        let most = if unit == Unit::One { u128::from(u64::MAX) } else { 1 << 62 };
        if micro / MICRO > most {
            return self.fail(Diagnostic::new(span, "a number is too large", "it is greater than 2^62"));
        }
        Ok(Number { micro, unit })
    }
}

/// The unit that a word would be with other capital letters.
fn almost_unit(word: &str) -> Option<&'static str> {
    let units = UNITS.iter().map(|unit| unit.0).chain(RATES.iter().map(|rate| rate.0));
    let mut others = units.chain(FACTORS.iter().map(|factor| factor.0));
    others.find(|unit| unit.eq_ignore_ascii_case(word))
}
