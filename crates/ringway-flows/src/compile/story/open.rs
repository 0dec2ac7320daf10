//! Connections are opened.

use super::compiler::{Compiler, Done};
use super::scope::State;
use super::scope::{Binding, Slot};
use crate::code::{Answer, Connection, End, Instr, Kind, NONE, Op, ToPort, Transport};
use crate::compile::constant::whole_of;
use crate::compile::num::{Held, Num};
use crate::lang::{Diagnostic, Ident, Opening, Setting, Sides, Span, Unit};

/// How long a connection waits, unless it says otherwise.
const TIMEOUT: u64 = 10_000_000_000;
/// Longest time that a connection may wait, and longest `think`: an hour.
pub(super) const MAX_WAIT: u64 = 3_600_000_000_000;

/// Settings of a connection.
struct Settings {
    timeout: u64,
    retry: u16,
    window: Option<u32>,
    half_open: bool,
}

impl Compiler<'_, '_> {
    /// A declaration of a connection, which opens it.
    pub(super) fn open(
        &mut self,
        span: Span,
        opening: Opening,
        name: &Ident,
        sides: &Sides,
        settings: &[Setting],
    ) -> Done {
        let slot = self.declared.slots.iter().position(|declared| *declared == span).unwrap_or(0) as u8;
        if self.only.is_some() {
            return Err(Diagnostic::new(span, "a connection has two ends", "only one end runs this")
                .help("put it outside of this `if`"));
        }
        if opening == Opening::Probe && self.kind == Kind::Story {
            return Err(Diagnostic::new(span, "only an attack may probe ports", "in a flow")
                .help("open a connection with `tcp`"));
        }
        let fixed = slot == 0 || self.declared.fixed.iter().any(|(fixed, _)| *fixed == slot);
        if self.loops > 0 && fixed && opening != Opening::Probe {
            return Err(Diagnostic::new(
                span,
                "a connection to a port that is named is opened only once",
                "in a loop",
            )
            .help("open it in front of the loop, or let the other end choose its port with `ephemeral`"));
        }
        self.used |= 1 << slot;
        let transport = if opening == Opening::Udp { Transport::Udp } else { Transport::Tcp };
        let set = self.settings(opening, settings)?;
        let (opener, client, server, v4, port) = self.sides(slot, span, opening, sides)?;
        self.port_was_chosen(slot, opener, span)?;
        let register = port.value().is_none() || opening == Opening::Probe;
        let to = if register { ToPort::Register } else { ToPort::Fixed(port.value().unwrap_or(0) as u16) };
        let text = self.global.tables.name(&name.node);
        self.connections[usize::from(slot)] = Some(Connection {
            name: text,
            transport,
            opener,
            client,
            server,
            port: to,
            window: set.window,
            half_open: set.half_open,
        });
        self.slots[usize::from(slot)] = Some(Slot {
            name: name.node.clone(),
            transport,
            opener,
            v4,
            retry: set.retry,
            question: None,
            wrong_question: false,
        });
        self.names.push((name.node.clone(), Binding::Connection(slot)));
        self.estimate.open(transport);
        let timeout = self.global.tables.constant(set.timeout);
        if opening == Opening::Probe {
            self.put(End::Client, Instr::new(Op::Timeout, slot, 0, timeout), span)?;
            return self.probe(slot, span, &port, settings);
        }
        self.both(Instr::new(Op::Timeout, slot, 0, timeout), span)?;
        let port_span = sides.port.as_ref().map_or(sides.to.span, |port| port.span);
        if self.declared.lent.contains(&slot) {
            let own = self.materialize(opener.other(), &port, port_span)?;
            self.put(opener.other(), Instr::new(Op::Listen, slot, u16::from(own), 0), span)?;
        }
        self.connect(slot, (span, port_span), opener, register.then_some(&port), set.half_open)?;
        if slot == 0 {
            self.listen_fixed(span)?;
        }
        Ok(())
    }

    /// A port that an end chooses belongs to one connection, which the other end opens.
    fn port_was_chosen(&self, slot: u8, opener: End, span: Span) -> Done {
        if !self.declared.held.contains(&slot) {
            return Ok(());
        }
        match self.chosen.get(&slot) {
            Some((region, end)) if *region == self.region && *end != opener => Ok(()),
            Some((region, _)) if *region == self.region => Err(Diagnostic::new(
                span,
                "the end that opens a connection can't choose the port that it goes to",
                "the same end chose the port",
            )
            .help("let the other end choose it, or open the connection from there")),
            _ => Err(Diagnostic::new(
                span,
                "a port that an end chooses is for one connection",
                "the port was chosen elsewhere",
            )
            .help("put its `let` into the same loop or branch, with a name for each connection")),
        }
    }

    /// The instructions that open a connection.
    fn connect(
        &mut self,
        slot: u8,
        (span, port_span): (Span, Span),
        opener: End,
        port: Option<&Num>,
        half: bool,
    ) -> Done {
        let register = match port {
            Some(port) => self.materialize(opener, port, port_span)?,
            None => NONE,
        };
        self.put(opener, Instr::new(Op::Open, slot, u16::from(register), 0), span)?;
        let udp = self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.transport == Transport::Udp);
        if half {
            self.set_state(slot, State::Half);
            return Ok(());
        }
        self.put(opener.other(), Instr::new(Op::Accept, slot, 0, 0), span)?;
        self.set_state(slot, if udp { State::Silent } else { State::Open });
        Ok(())
    }

    /// The end that does not open them listens for later connections to ports that the story names, from the start.
    fn listen_fixed(&mut self, span: Span) -> Done {
        for (slot, opener) in self.declared.fixed.clone() {
            self.put(opener.other(), Instr::new(Op::Listen, slot, u16::from(NONE), 0), span)?;
        }
        Ok(())
    }

    /// An attempt to open a connection to a port.
    fn probe(&mut self, slot: u8, span: Span, port: &Num, settings: &[Setting]) -> Done {
        let Some(name) = super::plan::name_of(settings, "as") else {
            return Err(Diagnostic::new(span, "a probe needs a name for its answer", "no `as` here")
                .help("for example: probe c = inside -> target : 80 as answer"));
        };
        let from = self.materialize(End::Client, port, span)?;
        let result = self.register(End::Client, span)?;
        self.put(End::Client, Instr::two(Op::Probe, slot, from, result), span)?;
        let held = [Held::Register(result), Held::Unknown];
        let bounds = (0, Answer::Unreachable as u64);
        let num = Num::leaf(held, span, "answered to the client", Unit::One, bounds);
        self.names.push((name.to_owned(), Binding::Number(num)));
        self.set_state(slot, State::Closed(span));
        Ok(())
    }

    /// The settings of a connection.
    fn settings(&self, opening: Opening, settings: &[Setting]) -> Done<Settings> {
        let mut set = Settings { timeout: TIMEOUT, retry: 0, window: None, half_open: false };
        for setting in settings {
            let span = setting.name.span;
            match (setting.name.node.as_str(), &setting.value) {
                ("timeout", Some(value)) => {
                    set.timeout = whole_of(value, Unit::Time, self)?;
                    if !(1..=MAX_WAIT).contains(&set.timeout) {
                        return Err(Diagnostic::new(
                            value.span,
                            "a timeout is above 0, and at most 1 h",
                            "not in this range",
                        ));
                    }
                }
                ("retry", Some(value)) if opening == Opening::Udp => {
                    let retry = whole_of(value, Unit::One, self)?;
                    if retry > 100 {
                        return Err(Diagnostic::new(
                            value.span,
                            "a request is sent again at most 100 times",
                            "more than 100",
                        ));
                    }
                    set.retry = retry as u16;
                }
                ("retry", _) => {
                    return Err(Diagnostic::new(span, "only `udp` has `retry`", "TCP sends again by itself"));
                }
                ("window", Some(value)) if opening == Opening::Tcp => {
                    let window = whole_of(value, Unit::Bytes, self)?;
                    if !(1..=1 << 30).contains(&window) {
                        return Err(Diagnostic::new(
                            value.span,
                            "a window has 1 B to 1 GiB",
                            "not in this range",
                        ));
                    }
                    set.window = Some(window as u32);
                }
                ("half_open", _) if opening == Opening::Tcp && self.kind == Kind::Attack => {
                    set.half_open = true
                }
                ("half_open", _) => {
                    return Err(Diagnostic::new(
                        span,
                        "only a TCP connection of an attack may stay half open",
                        "not here",
                    ));
                }
                ("as", _) if opening == Opening::Probe => {}
                (word, _) => {
                    return Err(Diagnostic::new(
                        span,
                        format!("this connection has no `{word}`"),
                        "not here",
                    ));
                }
            }
        }
        Ok(set)
    }
}
