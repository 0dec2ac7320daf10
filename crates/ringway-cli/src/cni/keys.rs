//! Values of an object by key and kind.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::error::{Code, Error, Result};

/// An object of JSON, or none, which has no keys.
pub(super) struct Keys<'a>(&'a Value);

impl<'a> Keys<'a> {
    pub(super) fn of(object: &'a Value) -> Self {
        Self(object)
    }

    pub(super) fn is_there(&self) -> bool {
        !self.0.is_null()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_object().is_none_or(serde_json::Map::is_empty)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key, "a text", Value::as_str)
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.get(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<u32>> {
        let kind = format!("a number of {} to {}", range.start(), range.end());
        let within =
            |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| range.contains(n));
        self.get(key, &kind, within)
    }

    /// An object in this one.
    pub(super) fn inner(&self, key: &str) -> Result<Self> {
        self.get(key, "an object", |_| self.0[key].is_object().then_some(()))?;
        Ok(Self(&self.0[key]))
    }

    /// A text that has to be there.
    pub(super) fn needed(&self, key: &str) -> Result<&'a str> {
        self.text(key)?.ok_or_else(|| wrong(key, "it has to be there"))
    }

    fn get<T>(&self, key: &str, kind: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        match &self.0[key] {
            Value::Null => Ok(None),
            value => read(value).map(Some).ok_or_else(|| wrong(key, &format!("{value} is not {kind}"))),
        }
    }
}

/// The configuration has a wrong value.
pub(super) fn wrong(key: &str, why: &str) -> Error {
    Error::new(Code::Config, format!("{key}: {why}"))
}

/// Six pairs of hexadecimal digits, of one station.
pub(super) fn is_mac(text: &str) -> bool {
    let bytes: Vec<u8> = text
        .split(':')
        .filter(|part| part.len() == 2)
        .filter_map(|part| u8::from_str_radix(part, 16).ok())
        .collect();
    text.len() == 17 && bytes.len() == 6 && bytes[0] & 1 == 0 && bytes.iter().any(|&byte| byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_stations_are_known() {
        assert!(is_mac("02:00:00:00:00:0a"));
        let wrong = [
            "",
            "01:00:00:00:00:00",
            "00:00:00:00:00:00",
            "02:00:00:00:00",
            "02:00:00:00:00:+1a",
            "2:0:0:0:0:1",
        ];
        assert!(wrong.iter().all(|text| !is_mac(text)));
    }
}
