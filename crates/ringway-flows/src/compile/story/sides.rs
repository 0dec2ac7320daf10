//! The sides of a connection: places, ports, and which end opens it.

use super::compiler::{Compiler, Done};
use super::scope::Binding;
use crate::code::{Connection, End, Kind, Place, ToPort, Transport};
use crate::compile::num::Num;
use crate::lang::{Diagnostic, Expr, ExprKind, Opening, Sides, Span, Unit};

impl Compiler<'_, '_> {
    /// Opener, places of client and server, family, and port.
    pub(super) fn sides(
        &mut self,
        slot: u8,
        span: Span,
        opening: Opening,
        sides: &Sides,
    ) -> Done<(End, Place, Place, bool, Num)> {
        if sides.from_any {
            return Err(Diagnostic::new(
                sides.from.span,
                "only `raw` takes any address with `*`",
                "a connection has one address",
            ));
        }
        let (from, v4, _) = self.place(&sides.from)?;
        let (to, to_v4, own_port) = self.place(&sides.to)?;
        if v4 != to_v4 {
            let family = |v4: bool| if v4 { "this is IPv4" } else { "this is IPv6" };
            return Err(Diagnostic::new(
                sides.to.span,
                "a connection needs two addresses of one family",
                family(to_v4),
            )
            .and(sides.from.span, family(v4)));
        }
        let opener = match (slot, from, to) {
            (0, Place::Pool(_) | Place::Fixed(_), Place::Pool(_) | Place::Fixed(_)) => End::Client,
            (0, ..) => {
                return Err(Diagnostic::new(
                    span,
                    "the first connection goes from a pool to a pool",
                    "not between pools",
                ));
            }
            (_, Place::Same { end, .. }, Place::Fixed(_)) => end,
            (_, Place::Same { end, .. }, Place::Same { end: other, .. }) if other != end => end,
            _ => {
                return Err(Diagnostic::new(
                    span,
                    "a later connection goes between the ends of an earlier one",
                    "not between them",
                )
                .help("for example: tcp data = ctl.client -> ctl.server : port"));
            }
        };
        let port = match (&sides.port, own_port) {
            (Some(expr), None) => self.port(expr)?,
            (None, Some(port)) => port,
            (Some(expr), Some(_)) => {
                return Err(Diagnostic::new(
                    expr.span,
                    "the port is given twice",
                    "the target has one already",
                ));
            }
            (None, None) => {
                return Err(Diagnostic::new(span, "a connection needs a port", "no port here")
                    .help("add one: ... : 80"));
            }
        };
        if self.declared.lent.contains(&slot) {
            self.port_is_lent(opening, to, sides, span)?;
        }
        let chosen = self.declared.held.contains(&slot)
            || self.declared.lent.contains(&slot)
            || (slot == 0 && self.kind == Kind::Attack);
        if port.value().is_none() && !chosen && opening != Opening::Probe {
            return Err(Diagnostic::new(
                span,
                "the port of a connection is always the same, or an end chooses it",
                "drawn from a distribution",
            )
            .help("for a port that the server chooses: let p = ephemeral(server)"));
        }
        self.port_is_free(slot, opening, opener, &port, span)?;
        let (client, server) = if opener == End::Client { (from, to) } else { (to, from) };
        Ok((opener, client, server, v4, port))
    }

    /// A connection may go to the port from which an earlier one came, over UDP, as the answers of TFTP do.
    fn port_is_lent(&self, opening: Opening, to: Place, sides: &Sides, span: Span) -> Done {
        let lender = sides.port.as_ref().and_then(|port| match &port.node {
            ExprKind::Name(name) => self.side(name.strip_suffix(".port")?),
            _ => None,
        });
        let fits = lender.is_some_and(|(slot, end)| {
            let earlier = self.slots[usize::from(slot)].as_ref();
            let is_own = earlier.is_some_and(|e| e.transport == Transport::Udp && e.opener == end);
            is_own && opening == Opening::Udp && to == Place::Same { slot, end }
        });
        if fits {
            return Ok(());
        }
        let message =
            "a connection goes to the port of an end only over UDP, to the end that opened an earlier one";
        Err(Diagnostic::new(span, message, "not such a port")
            .help("for example: udp d = t.server -> t.client : t.client.port"))
    }

    /// No earlier connection goes the same way to the same port: nothing would set their packets apart.
    pub(super) fn port_is_free(
        &self,
        slot: u8,
        opening: Opening,
        opener: End,
        port: &Num,
        span: Span,
    ) -> Done {
        let Some(port) = port.value() else { return Ok(()) };
        let transport = if opening == Opening::Udp { Transport::Udp } else { Transport::Tcp };
        let same = |earlier: &Connection| {
            earlier.transport == transport
                && earlier.opener == opener
                && earlier.port == ToPort::Fixed(port as u16)
        };
        match self.connections[..usize::from(slot)].iter().position(|c| c.as_ref().is_some_and(same)) {
            Some(other) => {
                Err(Diagnostic::new(span, "two connections of a flow go to the same port", "the second one")
                    .and(self.declared.slots[other], "the first one")
                    .help("use another port, or let the other end choose one with `ephemeral`"))
            }
            None => Ok(()),
        }
    }

    /// A port: 1 to 65535.
    pub(super) fn port(&mut self, expr: &Expr) -> Done<Num> {
        let num = self.number(expr)?;
        if num.unit != Unit::One || num.lo == 0 || num.hi > 65_535 {
            return Err(Diagnostic::new(expr.span, "a port is 1 to 65535", "not in this range"));
        }
        Ok(num)
    }

    /// A side of a connection: a place, whether it is IPv4, and the port if the value has one.
    pub(super) fn place(&mut self, expr: &Expr) -> Done<(Place, bool, Option<Num>)> {
        let wrong = || {
            Diagnostic::new(expr.span, "this is no side of a connection", "not a pool and not an end")
                .help("write a pool, an address of a pool, or an end of an earlier connection: ctl.client")
        };
        match &expr.node {
            ExprKind::Name(name) => {
                if let Some((slot, end)) = self.side(name) {
                    let v4 = self.slots[usize::from(slot)].as_ref().is_none_or(|slot| slot.v4);
                    return Ok((Place::Same { slot, end }, v4, None));
                }
                match self.lookup(name) {
                    Some(Binding::Place(place, v4)) => Ok((place, v4, None)),
                    Some(Binding::Wrong) => Err(Diagnostic::silent()),
                    Some(_) => Err(wrong()),
                    None => Err(self.unknown(name, expr.span)),
                }
            }
            ExprKind::Address(_) => match crate::compile::constant::constant(expr, &*self.global)? {
                crate::compile::constant::Given::Place(place, v4) => Ok((place, v4, None)),
                _ => Err(wrong()),
            },
            ExprKind::Call(call) if call.name.node == "ftp_parse" => {
                let args = crate::compile::arguments::arguments(call, &["reply"])?;
                let ExprKind::Name(name) = &args[0].node else { return Err(wrong()) };
                match self.lookup(name) {
                    Some(Binding::Reply(Some((slot, end, port)))) => {
                        let v4 = self.slots[usize::from(slot)].as_ref().is_none_or(|slot| slot.v4);
                        Ok((Place::Same { slot, end }, v4, Some(port)))
                    }
                    Some(Binding::Reply(None)) => Err(Diagnostic::new(
                        args[0].span,
                        "this message has no address and port",
                        "nothing to parse",
                    )
                    .help("a message with ftp_hostport(...), ftp_extended(...) or ftp_eprt(...) has them")),
                    Some(Binding::Wrong) => Err(Diagnostic::silent()),
                    Some(_) => {
                        Err(Diagnostic::new(args[0].span, format!("`{name}` is no message"), "not a message"))
                    }
                    None => Err(self.unknown(name, args[0].span)),
                }
            }
            _ => Err(wrong()),
        }
    }
}
