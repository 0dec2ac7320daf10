//! `c > ...` and `c < ...`: one end sends, the other expects.

use super::compiler::{Compiler, Done};
use super::matching::Matching;
use super::scope::Binding;
use super::scope::State;
use crate::code::{End, Instr, Kind, MAX_PARTS, Op, Transport};
use crate::compile::part::{Form, Part};
use crate::lang::{Diagnostic, Expr, Ident, Setting, Span, Spanned, Stmt, StmtKind, What};

/// A message whose values are known, before its instructions are made.
struct Message {
    slot: u8,
    sender: End,
    parts: Vec<Part>,
    matching: Matching,
    count: Option<Ident>,
    span: Span,
}

impl Compiler<'_, '_> {
    /// One message, close or reset. Says how many statements behind it were taken too.
    pub(super) fn send(
        &mut self,
        span: Span,
        (connection, client): (&Ident, bool),
        what: &What,
        settings: &[Setting],
        next: Option<&Stmt>,
    ) -> Done<usize> {
        let slot = self.connection(connection)?;
        if self.only.is_some() {
            return Err(Diagnostic::new(span, "a message has two ends", "only one end runs this")
                .help("the condition of the `if` around it is known to one end only"));
        }
        self.used |= 1 << slot;
        let sender = if client { End::Client } else { End::Server };
        let What::Bytes(bytes) = what else {
            if let Some(setting) = settings.first() {
                let message = format!("`{}` belongs to a message", setting.name.node);
                return Err(Diagnostic::new(setting.name.span, message, "there are no bytes here"));
            }
            return self.end_of_connection(span, slot, sender, what).map(|()| 0);
        };
        let message = self.message(slot, sender, bytes, settings, span)?;
        let retry = self.slots[usize::from(slot)]
            .as_ref()
            .map_or(0, |info| if info.opener == sender { info.retry } else { 0 });
        let reply = match next.map(|stmt| (&stmt.node, stmt.span)) {
            Some((
                StmtKind::Send { connection: c, client: other, what: What::Bytes(bytes), settings },
                span,
            )) if retry > 0 && c.node == connection.node && *other != client => {
                Some(self.message(slot, sender.other(), bytes, settings, span)?)
            }
            _ => None,
        };
        self.begin_reply(&message)?;
        if reply.is_some() {
            self.retried = true;
            self.put(sender, Instr::new(Op::Retry, slot, retry, 0), span)?;
        }
        self.emit_message(&message)?;
        match reply {
            Some(reply) => {
                self.emit_message(&reply)?;
                Ok(1)
            }
            None => Ok(0),
        }
    }

    /// The slot of a connection.
    pub(super) fn connection(&self, name: &Ident) -> Done<u8> {
        match self.lookup(&name.node) {
            Some(Binding::Connection(slot)) => Ok(slot),
            Some(Binding::Wrong) => Err(Diagnostic::silent()),
            _ => {
                let names =
                    self.names.iter().filter(|(_, binding)| matches!(binding, Binding::Connection(_)));
                let near = crate::lang::nearest(&name.node, names.map(|(name, _)| name.as_str()));
                let diagnostic = Diagnostic::new(
                    name.span,
                    format!("`{}` is no connection", name.node),
                    "unknown connection",
                );
                Err(match near {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => {
                        diagnostic.help(format!("open it first: tcp {} = inside -> outside : 80", name.node))
                    }
                })
            }
        }
    }

    /// The values of a message.
    fn message(
        &mut self,
        slot: u8,
        sender: End,
        bytes: &Expr,
        settings: &[Setting],
        span: Span,
    ) -> Done<Message> {
        self.may_send(slot, sender, span)?;
        let parts = match self.dns(slot, bytes) {
            Some(parts) => parts?,
            None => self.parts(bytes)?,
        };
        let (mut matching, mut count) = (Matching::Exact, None);
        for setting in settings {
            match (setting.name.node.as_str(), &setting.value) {
                ("match", Some(value)) => matching = self.matching(slot, value)?,
                (word, Some(Expr { node: crate::lang::ExprKind::Name(name), span })) => {
                    let name = Spanned { node: name.clone(), span: *span };
                    if word == "count" {
                        count = Some(name);
                    } else {
                        let reply = address_in(&parts, slot, sender);
                        self.names.push((name.node, Binding::Reply(reply)));
                    }
                }
                (word, _) => {
                    return Err(Diagnostic::new(
                        setting.name.span,
                        format!("`{word}` needs a name"),
                        "no name behind it",
                    ));
                }
            }
        }
        Ok(Message { slot, sender, parts, matching, count, span })
    }

    /// Whether an end may send on a connection.
    fn may_send(&mut self, slot: u8, sender: End, span: Span) -> Done {
        let who = if sender == End::Client { "the client" } else { "the server" };
        let opener = self.slots[usize::from(slot)].as_ref().map(|slot| slot.opener);
        let may = match self.state(slot) {
            State::Open => true,
            State::Silent if opener == Some(sender) => {
                self.set_state(slot, State::Open);
                true
            }
            State::Silent => {
                let name = self.slot_name(slot);
                return Err(Diagnostic::new(
                    span,
                    format!("the end that opens `{name}` sends first"),
                    "over UDP the other end can't",
                )
                .help("it learns the other port from the first datagram"));
            }
            State::ClientDone(_) => sender == End::Server,
            State::ServerDone(_) => sender == End::Client,
            State::Never | State::Half | State::Closed(_) => false,
        };
        if may { Ok(()) } else { Err(self.wrong_state(slot, span, &format!("{who} can't send"))) }
    }

    /// The instructions of a message at both ends.
    fn emit_message(&mut self, message: &Message) -> Done {
        let Message { slot, sender, parts, matching, count, span } = message;
        let (slot, sender, span) = (*slot, *sender, *span);
        let receiver = sender.other();
        let udp = self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.transport == Transport::Udp);
        let before = self.emit[sender as usize].len();
        self.send_parts(sender, slot, parts, span)?;
        if udp {
            if self.emit[sender as usize].sends_since(before) > MAX_PARTS {
                return Err(Diagnostic::new(
                    span,
                    "a datagram has at most 7 parts that are kept apart",
                    "it has more",
                )
                .help("each random(...) and each text between two of them is one; join some, or use tcp"));
            }
            self.put(sender, Instr::new(Op::SendEnd, slot, 0, 0), span)?;
        }
        let mut counted = count.as_ref();
        match matching {
            Matching::Exact => self.expect_parts(receiver, slot, parts, span)?,
            Matching::Length => {
                let len = super::http::total(parts, span)?;
                let n = self.materialize(receiver, &len, span)?;
                self.put(receiver, Instr::new(Op::ExpectN, slot, u16::from(n), 0), span)?;
            }
            Matching::Parser(parser) => {
                self.expect_parser(receiver, slot, *parser, parts, counted.take(), span)?;
            }
        }
        if udp {
            self.put(receiver, Instr::new(Op::ExpectEnd, slot, 0, 0), span)?;
        }
        if let Some(name) = counted {
            let total = super::http::total(parts, span)?;
            self.names.push((name.node.clone(), Binding::Number(total)));
        }
        if receiver == End::Client {
            self.end_reply(span)?;
        }
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let len: f64 = parts.iter().map(Part::mean).sum();
        self.estimate.message(transport, slot, sender == End::Client, len);
        Ok(())
    }

    /// The latency of a reply begins with the first thing that the client sends.
    fn begin_reply(&mut self, message: &Message) -> Done {
        if message.sender == End::Server || self.asked || self.in_branch || self.measuring {
            return Ok(());
        }
        self.asked = true;
        self.put(End::Client, Instr::new(Op::Lat, 0, 0, 0), message.span)
    }

    /// It ends with the first message that the client has received whole.
    fn end_reply(&mut self, span: Span) -> Done {
        if !std::mem::take(&mut self.asked) {
            return Ok(());
        }
        let index = self.latency("reply");
        self.put(End::Client, Instr::new(Op::Lat, 1, 0, index), span)
    }

    /// The number of a latency of this flow.
    pub(super) fn latency(&mut self, name: &str) -> u32 {
        let name = self.global.tables.name(name);
        let found = self.latencies.iter().position(|known| *known == name);
        found.unwrap_or_else(|| {
            self.latencies.push(name);
            self.latencies.len() - 1
        }) as u32
    }

    /// A connection ends: with a close, half of one, a reset, or without a packet.
    fn end_of_connection(&mut self, span: Span, slot: u8, sender: End, what: &What) -> Done {
        let udp = self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.transport == Transport::Udp);
        if udp {
            return Err(Diagnostic::new(span, "a UDP connection has no close", "it ends with the flow"));
        }
        let (peer, client) = (sender.other(), sender == End::Client);
        let op = |op| Instr::new(op, slot, 0, 0);
        let state = self.state(slot);
        let first = matches!(state, State::Open);
        let second = matches!((state, client), (State::ServerDone(_), true) | (State::ClientDone(_), false));
        let half = matches!(state, State::Half) && client;
        match what {
            What::Close | What::HalfClose if second => {
                self.put(sender, op(Op::Close), span)?;
                self.put(peer, op(Op::ExpectFin), span)?;
                self.estimate.close(slot, client, 2.0);
            }
            What::Close if first => {
                self.put(sender, op(Op::Close), span)?;
                self.put(peer, op(Op::ExpectFin), span)?;
                self.put(peer, op(Op::Close), span)?;
                self.estimate.close(slot, client, 3.0);
            }
            What::HalfClose if first => {
                self.put(sender, op(Op::Half), span)?;
                self.put(peer, op(Op::ExpectFin), span)?;
                self.estimate.close(slot, client, 2.0);
                let done = if client { State::ClientDone(span) } else { State::ServerDone(span) };
                self.set_state(slot, done);
                return Ok(());
            }
            What::Reset if half => self.put(sender, op(Op::Reset), span)?,
            What::Reset if !matches!(state, State::Never | State::Closed(_) | State::Half) => {
                self.put(sender, op(Op::Reset), span)?;
                self.put(peer, op(Op::ExpectRst), span)?;
                self.estimate.close(slot, client, 1.0);
            }
            What::Abandon if self.kind == Kind::Story => {
                return Err(Diagnostic::new(
                    span,
                    "only an attack may leave a connection without a close",
                    "in a flow",
                )
                .help("use close or reset"));
            }
            What::Abandon if half => self.put(sender, op(Op::Abandon), span)?,
            What::Abandon if !matches!(state, State::Never | State::Closed(_) | State::Half) => {
                self.both(op(Op::Abandon), span)?;
            }
            _ => return Err(self.wrong_state(slot, span, "it can't be closed here")),
        }
        self.set_state(slot, State::Closed(span));
        Ok(())
    }
}

/// The address and port in a message.
fn address_in(parts: &[Part], slot: u8, sender: End) -> Option<(u8, End, crate::compile::num::Num)> {
    let pair = parts.iter().find_map(|part| match part {
        Part::HostPort { slot, end, port, .. } => Some((*slot, *end, port.clone())),
        _ => None,
    });
    pair.or_else(|| {
        parts.iter().find_map(|part| match part {
            Part::Number(num, Form::Decimal | Form::Bytes(_), _) if num.is_leaf() => {
                Some((slot, sender, num.clone()))
            }
            _ => None,
        })
    })
}
