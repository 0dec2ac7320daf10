//! What came out against what went in, frame by frame.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

/// How a sequence of frames came through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Integrity {
    /// Frames that went in.
    pub sent: u64,
    /// Frames that came out with every byte as it was.
    pub intact: u64,
    /// Of those, frames that came after one that was sent later.
    pub reordered: u64,
    /// Frames that did not come out, or not as they were.
    pub missing: u64,
    /// Frames that came out and that nobody sent: damaged, or doubled.
    pub foreign: u64,
}

impl Integrity {
    /// Compares byte by byte. Only their order tells equal frames apart.
    pub fn of(sent: &[Vec<u8>], received: &[Vec<u8>]) -> Self {
        let mut places: HashMap<&[u8], VecDeque<usize>> = HashMap::new();
        for (place, frame) in sent.iter().enumerate() {
            places.entry(frame).or_default().push_back(place);
        }
        let mut result = Self { sent: sent.len() as u64, ..Self::default() };
        let mut latest = 0;
        for frame in received {
            match places.get_mut(frame.as_slice()).and_then(VecDeque::pop_front) {
                Some(place) => {
                    result.intact += 1;
                    result.reordered += u64::from(place < latest);
                    latest = latest.max(place);
                }
                None => result.foreign += 1,
            }
        }
        result.missing = result.sent - result.intact;
        result
    }

    /// Whether all came through as they were, in whatever order.
    pub fn is_intact(&self) -> bool {
        self.intact == self.sent && self.foreign == 0
    }

    /// Whether all came through, as they were and in order.
    pub fn is_perfect(&self) -> bool {
        self.is_intact() && self.reordered == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sent: &str, received: &str) -> (u64, u64, u64, u64) {
        let frames = |text: &str| text.bytes().map(|b| vec![b; 3]).collect::<Vec<_>>();
        let i = Integrity::of(&frames(sent), &frames(received));
        assert_eq!((i.sent, i.missing), (sent.len() as u64, i.sent - i.intact));
        assert_eq!(i.is_perfect(), sent == received);
        assert_eq!(i.is_intact(), i.missing + i.foreign == 0);
        (i.intact, i.reordered, i.missing, i.foreign)
    }

    #[test]
    fn each_fault_has_its_count() {
        assert_eq!(of("abcabc", "abcabc"), (6, 0, 0, 0));
        assert_eq!(of("abcd", "abd"), (3, 0, 1, 0));
        assert_eq!(of("abcd", "acbd"), (4, 1, 0, 0));
        assert_eq!(of("abcd", "abXd"), (3, 0, 1, 1));
        assert_eq!(of("abcd", "abccd"), (4, 0, 0, 1));
        assert_eq!(of("", ""), (0, 0, 0, 0));
    }
}
