//! A capture becomes a file of stories.
//!
//! | step | where |
//! | --- | --- |
//! | a record becomes a segment, a datagram, or a reason why not | `frame` |
//! | segments of a direction become bytes in order | `stream` |
//! | packets of two hosts become a conversation | `tcp`, `udp`, `conversations` |
//! | what a conversation does, step by step | `talk` |
//! | conversations that look alike become one story | `class` |
//! | the text | `write` |
//!
//! Addresses of the capture come nowhere: pools of the story lie in the ranges for benchmarks. Payload is taken over as it is. A capture may
//! say anything: what is kept of it has bounds, and what is not taken over is [said](Left).

mod class;
mod conversations;
mod frame;
mod left;
mod options;
mod stream;
mod talk;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;
mod write;

use std::fmt;

use ringway_wire::pcapfile::{LINKTYPE_ETHERNET, PcapError, Reader};

use conversations::Conversations;
use frame::Frame;
use left::Notes;
pub use left::{Left, Place};
pub use options::Options;

/// What a capture has become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the stories, with pools, a mix and a run.
    pub story: String,
    /// Stories in it.
    pub stories: usize,
    /// Conversations that the stories stand for.
    pub conversations: u64,
    /// Records of the capture.
    pub packets: u64,
    /// What was not taken over, or otherwise than it was.
    pub left: Vec<Left>,
}

/// Why a capture becomes no story.
#[derive(Debug)]
pub enum Failed {
    /// The file is no capture, or is damaged.
    File(PcapError),
    /// It has no frames of Ethernet.
    Link(u32),
    /// It has no conversation that can be taken over. Says what was left out.
    Nothing(Vec<Left>),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => why.fmt(f),
            Self::Link(number) => {
                write!(f, "the capture has link type {number}, not Ethernet (1); record it on an Ethernet interface")
            }
            Self::Nothing(_) => f.write_str(
                "no conversation can be taken over; a TCP connection needs its SYN and SYN-ACK in the capture",
            ),
        }
    }
}

impl std::error::Error for Failed {}

/// Reads a capture and writes stories of it.
///
/// A damaged record ends the reading: what came before it is taken over, and the damage is said.
///
/// # Errors
/// When the file has no Ethernet frames, or no conversation that can be taken over.
///
/// ```
/// use ringway_flows::import::{Failed, Options, import};
/// use ringway_wire::pcapfile::{MAX_RECORD, Reader, Writer};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::new("example", &mut file, MAX_RECORD)?;
/// writer.write(0, 60, &[0; 60])?;
/// writer.finish()?;
/// let failed = import(&mut Reader::from_bytes(file)?, &Options::default()).unwrap_err();
/// let Failed::Nothing(left) = failed else { panic!("{failed}") };
/// assert_eq!(left[0].to_string(), "packet 1: it is no IP");
/// # Ok::<(), ringway_wire::pcapfile::PcapError>(())
/// ```
pub fn import(reader: &mut Reader, options: &Options) -> Result<Imported, Failed> {
    if reader.linktype() != LINKTYPE_ETHERNET {
        return Err(Failed::Link(reader.linktype()));
    }
    let (mut all, mut notes, mut packets) = (Conversations::default(), Notes::default(), 0);
    while let Some(record) = reader.next() {
        match record {
            Ok(record) => {
                packets += 1;
                match Frame::of(record.data) {
                    Ok(frame) => all.take(packets, record.ts_ns, &frame, &mut notes),
                    Err(why) => notes.packet(packets, why),
                }
            }
            Err(why) if packets == 0 => return Err(Failed::File(why)),
            Err(why) => notes.rest(packets, why.to_string()),
        }
    }
    let talks = all.finish(options, &mut notes);
    let (story, stories, conversations) = write::story(&talks, options, &mut notes);
    let left = notes.finish();
    if stories == 0 {
        return Err(Failed::Nothing(left));
    }
    Ok(Imported { story, stories, conversations, packets, left })
}
