//! The values of a capture that its toolbar changes, and what it may change them to.

use std::fmt;

use ringway::Filter;
use ringway_traffic::units::many;
use ringway_wire::pcapfile::MAX_RECORD;

use super::message::{MAX_PAYLOAD, Message, Payload, SET};
use super::offer::control;
use crate::failure::Failure;

/// What is captured, as its user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values {
    /// Holds always.
    pub(super) capture_filter: String,
    pub(super) filter: String,
    /// 0 for whole frames.
    pub(super) snaplen: u32,
}

/// A value that the toolbar sent, and that makes sense.
pub(super) enum Wish {
    Filter(String, Option<Filter>),
    Snaplen(u32),
}

impl Values {
    /// The filter, of both expressions, as far as there are some.
    pub(super) fn compiled(&self) -> Result<Option<Filter>, Failure> {
        compiled(&self.capture_filter, &self.filter)
    }

    /// Bytes of each frame.
    pub(super) fn most(&self) -> u32 {
        if self.snaplen == 0 { MAX_RECORD } else { self.snaplen }
    }

    /// What a message asks for, if it is for the capture and no value that holds already; or what is wrong with it.
    pub(super) fn wish(&self, message: &Message) -> Result<Option<Wish>, String> {
        let name = match (message.control, message.command) {
            (control::FILTER, SET) => "filter",
            (control::SNAPLEN, SET) => "number of bytes",
            _ => return Ok(None),
        };
        let text = match &message.payload {
            Payload::TooLong(len) => {
                return Err(format!("the {name} has {len} bytes; at most {MAX_PAYLOAD} are taken"));
            }
            Payload::Bytes(bytes) => {
                str::from_utf8(bytes).map_err(|_| format!("the {name} is no text in UTF-8"))?.trim()
            }
        };
        if message.control == control::FILTER {
            let filter = compiled(&self.capture_filter, text).map_err(|e| e.to_string())?;
            return Ok((text != self.filter).then(|| Wish::Filter(text.to_owned(), filter)));
        }
        let bytes = text.parse().ok().filter(|bytes| *bytes <= MAX_RECORD);
        let bytes = bytes.ok_or_else(|| {
            format!("{text:?}: bytes of each frame are a number up to {MAX_RECORD}; 0 is for all")
        })?;
        Ok((bytes != self.snaplen).then_some(Wish::Snaplen(bytes)))
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<&str> =
            [&*self.capture_filter, &*self.filter].into_iter().filter(|e| !e.trim().is_empty()).collect();
        match self.snaplen {
            0 => write!(f, "whole frames")?,
            bytes => write!(f, "{} of each frame", many(bytes.into(), "byte"))?,
        }
        if !given.is_empty() {
            write!(f, ", filter `{}`", given.join("` and `"))?;
        }
        Ok(())
    }
}

/// Each expression by itself, so that an error shows what was typed, then both.
fn compiled(first: &str, second: &str) -> Result<Option<Filter>, Failure> {
    let given: Vec<&str> = [first, second].into_iter().filter(|e| !e.trim().is_empty()).collect();
    for one in &given {
        Filter::compile(one)?;
    }
    let all: Vec<String> = given.iter().map(|e| format!("({e})")).collect();
    Ok((!all.is_empty()).then(|| Filter::compile(&all.join(" and "))).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::super::message::ADD;
    use super::*;

    fn values(capture_filter: &str, filter: &str, snaplen: u32) -> Values {
        Values { capture_filter: capture_filter.into(), filter: filter.into(), snaplen }
    }

    fn set(control: u8, text: &[u8]) -> Message {
        Message { control, command: SET, payload: Payload::Bytes(text.to_vec()) }
    }

    fn refused(message: &Message) -> String {
        values("", "", 0).wish(message).err().unwrap()
    }

    #[test]
    fn values_say_what_is_captured() {
        assert_eq!(values("", " ", 0).to_string(), "whole frames");
        assert_eq!(values("", "udp", 1).to_string(), "1 byte of each frame, filter `udp`");
        assert_eq!(values("ip", "udp", 64).to_string(), "64 bytes of each frame, filter `ip` and `udp`");
    }

    #[test]
    fn the_capture_filter_holds_beside_that_of_the_toolbar() {
        let both = values("udp or tcp", "tcp or icmp", 0).compiled().unwrap().unwrap();
        assert_eq!(both.to_string(), "(udp or tcp) and (tcp or icmp)");
        assert!(values(" ", "", 0).compiled().unwrap().is_none());
        let wished = values("udp", "port 7", 0).wish(&set(control::FILTER, b"")).unwrap();
        assert!(
            matches!(wished, Some(Wish::Filter(text, Some(f))) if text.is_empty() && f.to_string() == "(udp)")
        );
    }

    #[test]
    fn only_other_values_are_wishes() {
        let now = values("", "udp", 64);
        for same in [set(control::FILTER, b" udp "), set(control::SNAPLEN, b"64"), set(control::LOG, b"x")] {
            assert!(now.wish(&same).unwrap().is_none(), "{same:?}");
        }
        let all = now.wish(&set(control::SNAPLEN, b"0")).unwrap();
        assert!(matches!(all, Some(Wish::Snaplen(0))));
        let other = Message { command: ADD, ..set(control::FILTER, b"udp foo") };
        assert!(now.wish(&other).unwrap().is_none());
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        assert!(refused(&set(control::FILTER, b"udp foo")).starts_with("filter `udp foo`: "));
        assert_eq!(refused(&set(control::FILTER, b"\xff")), "the filter is no text in UTF-8");
        for wrong in ["", "-1", "262145", "99999999999", "64k"] {
            assert!(refused(&set(control::SNAPLEN, wrong.as_bytes())).starts_with(&format!("{wrong:?}: ")));
        }
        let long = Message { payload: Payload::TooLong(70_000), ..set(control::FILTER, b"") };
        assert_eq!(refused(&long), "the filter has 70000 bytes; at most 65535 are taken");
    }
}
