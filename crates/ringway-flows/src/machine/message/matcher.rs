//! Which expectation an instruction stands for.

use std::net::IpAddr;

use super::dns::{Dns, DnsRules};
use super::ftp::{Reply, ReplyRules, Seek};
use super::http::{Http, HttpRules};
use super::ntp::{Mode, Ntp};
use super::parse::Feed;
use super::port::{Eprt, Port, Sender};
use super::sip::Sip;
use super::start::First;
use super::text::{Dots, Line, NumberLine};
use super::tftp::{Opcode, Tftp};
use super::{Match, MatchState, RandomBytes, Scratch, Verdict, content, format};
use crate::code::{Bundle, End, Instr, MAX_REGISTERS, Op, Parser};

/// What messages of a flow are made of besides registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matcher<'a, R, A> {
    /// Templates, formats and parsers.
    pub(crate) bundle: &'a Bundle,
    /// The table of random bytes.
    pub(crate) random: &'a R,
    /// The end that renders and expects.
    pub(crate) end: End,
    /// The address of a connection's side.
    pub(crate) address: A,
}

impl<R: RandomBytes, A: Fn(u8, End) -> IpAddr> Matcher<'_, R, A> {
    /// Writes what `SendV` sends to `out`, and returns how many bytes there are.
    ///
    /// `None` if `out` is shorter. [`Piece::longest`](crate::code::Piece::longest) says how long it may have to be. Also `None` if FTP needs
    /// an IPv4 address and the connection has none.
    #[inline]
    pub(crate) fn render(&self, format: u32, registers: &[u64], out: &mut [u8]) -> Option<usize> {
        let format = self.bundle.formats.get(format as usize)?;
        format::render(self.bundle, format, registers, &self.address, out)
    }

    /// Takes bytes of the message that `instr` expects: an operation that [`takes`](Op::takes).
    ///
    /// At the beginning of the message, `state` and `scratch` have their defaults. After `More`, both must be the same in the next call;
    /// `scratch` need not be kept while it is all 0. `last` says that no byte can follow: the bytes end a datagram, or the peer has closed.
    /// So a message that is not complete is a mismatch.
    #[inline]
    pub(crate) fn expect(
        &self,
        instr: Instr,
        state: &mut MatchState,
        scratch: &mut Scratch,
        registers: &mut [u64],
        bytes: &[u8],
        last: bool,
    ) -> Match {
        let read = |register: u8| registers.get(usize::from(register)).copied();
        let step = match (instr.op, read(instr.low())) {
            (Op::ExpectT, _) => content::template(self.bundle.template(instr.c), state, bytes),
            (Op::ExpectR, Some(len)) => match read(instr.third()) {
                Some(start) => content::random(self.random, start, len, state, bytes),
                None => Match::mismatch(0),
            },
            (Op::ExpectW, Some(len)) => content::repeated(self.bundle.template(instr.c), len, state, bytes),
            (Op::ExpectN, Some(len)) => content::any(len, state, bytes),
            (Op::ExpectV, _) => match self.bundle.formats.get(instr.c as usize) {
                Some(format) => {
                    format::expect(self.bundle, format, registers, &self.address, state, scratch, bytes)
                }
                None => Match::mismatch(0),
            },
            (Op::ExpectP, _) => self.parse(instr, registers, Feed { state, scratch, bytes, last }),
            _ => Match::mismatch(0),
        };
        if last && step.verdict == Verdict::More { Match::mismatch(step.used) } else { step }
    }

    /// Takes bytes of a parser's message, and writes its captures when it is complete.
    #[inline(never)]
    fn parse(&self, instr: Instr, registers: &mut [u64], feed: Feed<'_>) -> Match {
        let Some(&parser) = self.bundle.parsers.get(instr.c as usize) else { return Match::mismatch(0) };
        let (step, captures) = self.run(parser, instr.a, registers, feed);
        let first = usize::from(instr.low());
        if step.verdict == Verdict::Done {
            let count = usize::from(parser.captures());
            let Some(to) = registers.get_mut(first..first + count) else { return Match::mismatch(0) };
            to.copy_from_slice(&captures[..count]);
        }
        step
    }

    fn run(&self, parser: Parser, slot: u8, registers: &[u64], feed: Feed<'_>) -> (Match, [u64; 2]) {
        let sender = || (self.address)(slot, self.end.other());
        let reply = |code, seek| ReplyRules { code, seek };
        match parser {
            Parser::Line { prefix } => feed.run::<Line, _>(&self.bundle.template(prefix)),
            Parser::Number => feed.run::<NumberLine, _>(&()),
            Parser::Dots => feed.run::<Dots, _>(&()),
            Parser::Reply { code } => feed.run::<Reply, _>(&reply(code, Seek::Nothing)),
            Parser::FtpPassive { code } => feed.run::<Reply, _>(&reply(code, Seek::HostPort(sender()))),
            Parser::FtpExtended { code } => feed.run::<Reply, _>(&reply(code, Seek::Extended)),
            Parser::FtpPort => feed.run::<Port, _>(&Sender(sender())),
            Parser::FtpEprt => feed.run::<Eprt, _>(&Sender(sender())),
            Parser::HttpRequest { method } => feed.run::<Http, _>(&HttpRules::request(method)),
            Parser::HttpResponse { status, head } => feed.run::<Http, _>(&HttpRules::response(status, head)),
            Parser::DnsQuery { kind } => feed.run::<Dns, _>(&DnsRules::Query(kind)),
            Parser::DnsReply { id, question, rcode, truncated } => {
                let id = registers.get(usize::from(id)).map_or(0, |&id| id as u16);
                let question: &dyn Fn(&mut _, &[u8]) -> _ =
                    &|state: &mut MatchState, bytes: &[u8]| self.question(question, registers, state, bytes);
                feed.run::<Dns, _>(&DnsRules::Reply { id, rcode, truncated, question })
            }
            Parser::SipRequest { method } => {
                feed.run::<Sip, _>(&First::Request(self.bundle.template(method)))
            }
            Parser::SipResponse { status } => feed.run::<Sip, _>(&First::Response(status)),
            Parser::Tftp { opcode } => feed.run::<Tftp, _>(&Opcode(opcode)),
            Parser::Ntp { mode } => feed.run::<Ntp, _>(&Mode(mode)),
        }
    }

    /// Compares bytes with a format that takes nothing, so that it needs no scratch and writes no register.
    fn question(&self, format: u32, registers: &[u64], state: &mut MatchState, bytes: &[u8]) -> Match {
        let mut copy = [0; MAX_REGISTERS];
        let count = registers.len().min(MAX_REGISTERS);
        copy[..count].copy_from_slice(&registers[..count]);
        let Some(format) = self.bundle.formats.get(format as usize) else { return Match::mismatch(0) };
        let scratch = &mut Scratch::default();
        format::expect(self.bundle, format, &mut copy[..count], &self.address, state, scratch, bytes)
    }
}
