//! A TCP connection of a capture.

use std::ops::Range;

use super::frame::Segment;
use super::left::Notes;
use super::options::Options;
use super::stream::Stream;
use super::talk::{MAX_STEPS, Step};
use crate::code::End;

/// Shorter pauses of an end are part of its work.
const LEAST_THINK: u64 = 1_000_000;

/// Something that came, and when.
#[derive(Debug)]
enum Event {
    Bytes(End, Range<u64>),
    Fin(End),
    Rst(End),
}

/// A connection so far. The end that sent its SYN is the client.
#[derive(Debug)]
pub(super) struct Tcp {
    client: Stream,
    /// Once its SYN came.
    server: Option<Stream>,
    events: Vec<(u64, Event)>,
    is_reset: bool,
    /// A server answered the SYN with a reset.
    refused: bool,
}

impl Tcp {
    /// A connection that a SYN begins.
    pub(super) fn new(syn: &Segment<'_>) -> Self {
        let client = Stream::new(syn.seq);
        Self { client, server: None, events: Vec::new(), is_reset: false, refused: false }
    }

    /// Whether a SYN of the client begins another connection.
    pub(super) fn is_other(&self, syn: &Segment<'_>) -> bool {
        syn.seq != self.client.initial()
    }

    /// Takes a segment of an end.
    pub(super) fn take(&mut self, end: End, segment: &Segment<'_>, now: u64) {
        if self.is_reset || self.refused {
            return;
        }
        if end == End::Server && self.server.is_none() {
            if segment.rst {
                self.refused = true;
            } else if segment.syn && segment.ack {
                self.server = Some(Stream::new(segment.seq));
            }
            return;
        }
        let stream = match (end, &mut self.server) {
            (End::Client, _) => &mut self.client,
            (End::Server, Some(stream)) => stream,
            (End::Server, None) => return,
        };
        let was_over = stream.is_over();
        // The SYN has a number, too.
        let seq = if segment.syn { segment.seq.wrapping_add(1) } else { segment.seq };
        let new = stream.take(seq, segment.data, segment.fin);
        let fin = !was_over && stream.is_over();
        self.note(end, new, now);
        if fin {
            self.events.push((now, Event::Fin(end)));
        }
        if segment.rst {
            self.is_reset = true;
            self.events.push((now, Event::Rst(end)));
        }
    }

    /// Notes bytes of an end. They belong to its last message if nothing came in between.
    fn note(&mut self, end: End, new: Range<u64>, now: u64) {
        if new.is_empty() {
            return;
        }
        match self.events.last_mut() {
            Some((at, Event::Bytes(last, places)))
                if *last == end && now.saturating_sub(*at) < LEAST_THINK =>
            {
                (places.end, *at) = (new.end, now);
            }
            _ => self.events.push((now, Event::Bytes(end, new))),
        }
    }

    /// The steps of the connection, with the times before them. `None`: it can't be taken over, as `notes` say.
    pub(super) fn finish(
        mut self,
        first: u64,
        begin: u64,
        options: &Options,
        notes: &mut Notes,
    ) -> Option<(Vec<Step>, Vec<u64>)> {
        let Some(mut server) = self.server.take() else {
            let why = if self.refused { "the server refused it" } else { "no SYN-ACK answers its SYN" };
            notes.conversation(first, why);
            return None;
        };
        let last = self.events.last().map_or(begin, |(at, _)| *at);
        for end in [End::Client, End::Server] {
            let stream = if end == End::Client { &mut self.client } else { &mut server };
            let new = stream.finish();
            if !new.is_empty() && !self.is_reset {
                self.events.push((last, Event::Bytes(end, new)));
                if stream.is_over() {
                    self.events.push((last, Event::Fin(end)));
                }
            }
        }
        self.say(&server, first, notes);
        Some(self.steps(&server, first, begin, options, notes))
    }

    /// Says what differs from the capture.
    fn say(&self, server: &Stream, first: u64, notes: &mut Notes) {
        for (who, stream) in [("client", &self.client), ("server", server)] {
            if stream.differs {
                notes.conversation(
                    first,
                    format!("the {who} sent some bytes again as other ones; the first ones count"),
                );
            }
            if stream.lacks {
                notes.conversation(
                    first,
                    format!("bytes of the {who} are missing; the messages with them become random bytes"),
                );
            }
            if stream.far > 0 {
                let far = stream.far;
                notes.conversation(
                    first,
                    format!("{far} segments of the {who} are far from its others; left out"),
                );
            }
        }
    }

    /// The messages, with what ends the connection.
    fn steps(
        &self,
        server: &Stream,
        first: u64,
        begin: u64,
        options: &Options,
        notes: &mut Notes,
    ) -> (Vec<Step>, Vec<u64>) {
        let (half, last) = self.ending(first, notes);
        let (mut steps, mut thinks, mut before): (Vec<Step>, Vec<u64>, u64) = (Vec::new(), Vec::new(), begin);
        for (index, (at, event)) in self.events.iter().enumerate() {
            let think = at.saturating_sub(before);
            let think = if think < LEAST_THINK { 0 } else { think };
            match event {
                Event::Bytes(end, places) => {
                    before = *at;
                    let stream = if *end == End::Client { &self.client } else { server };
                    let step = message(*end, stream, places);
                    // Without times a message is what an end sends before the other one does.
                    let joins =
                        |last: &&mut Step| !options.think && last.end() == *end && last.len().is_some();
                    if let Some(last) = steps.last_mut().filter(joins) {
                        *last = joined(last, step);
                        continue;
                    }
                    steps.push(step);
                    thinks.push(think);
                }
                Event::Fin(end) if half == Some(index) => {
                    steps.push(Step::HalfClose(*end));
                    thinks.push(0);
                }
                _ => {}
            }
            if steps.len() > MAX_STEPS {
                notes.conversation(
                    first,
                    format!("it has more than {MAX_STEPS} messages; the rest is left out"),
                );
                steps.retain(|step| step.len().is_some());
                steps.push(Step::Close(End::Client));
                thinks.resize(steps.len(), 0);
                return (steps, thinks);
            }
        }
        steps.push(last);
        thinks.push(0);
        (steps, thinks)
    }

    /// How the connection ends: the FIN that is only half of it, and the last step.
    fn ending(&self, first: u64, notes: &mut Notes) -> (Option<usize>, Step) {
        let place = |wanted: fn(&Event) -> Option<End>| {
            self.events.iter().enumerate().find_map(|(at, (_, event))| Some((at, wanted(event)?)))
        };
        let fin = place(|event| if let Event::Fin(end) = event { Some(*end) } else { None });
        let rst = place(|event| if let Event::Rst(end) = event { Some(*end) } else { None });
        let Some((at, closer)) = fin else {
            return match rst {
                Some((_, end)) => (None, Step::Reset(end)),
                None => {
                    notes.conversation(first, "nobody closes it in the capture; the client does so");
                    (None, Step::Close(End::Client))
                }
            };
        };
        let other = closer.other();
        let behind = || self.events[at + 1..].iter().map(|(_, event)| event);
        let closes = behind().any(|event| matches!(event, Event::Fin(end) if *end == other));
        let more = behind().any(|event| matches!(event, Event::Bytes(end, _) if *end == other));
        match rst {
            // A reset instead of the second FIN.
            Some((_, end)) if !closes && end == closer && !more => (None, Step::Reset(end)),
            Some((_, end)) if !closes => (Some(at), Step::Reset(end)),
            _ if more => (Some(at), Step::Close(other)),
            _ => (None, Step::Close(closer)),
        }
    }
}

/// The message in some places of a stream.
fn message(end: End, stream: &Stream, places: &Range<u64>) -> Step {
    let len = places.end - places.start;
    let known = if len > Options::MAX_LITERAL { None } else { stream.bytes(places) };
    known.map_or(Step::Length(end, len), |bytes| Step::Bytes(end, bytes))
}

/// Two messages of one end as one.
fn joined(one: &Step, other: Step) -> Step {
    match (one, other) {
        (Step::Bytes(end, bytes), Step::Bytes(_, more))
            if (bytes.len() + more.len()) as u64 <= Options::MAX_LITERAL =>
        {
            Step::Bytes(*end, [bytes.as_slice(), &more].concat())
        }
        (one, other) => Step::Length(one.end(), one.len().unwrap_or(0) + other.len().unwrap_or(0)),
    }
}
