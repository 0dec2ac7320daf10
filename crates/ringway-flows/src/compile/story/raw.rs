//! Raw packets of attacks: headers as the story wants them, right or wrong.

mod data;
mod packet;

use super::compiler::{Compiler, Done};
use crate::code::{End, Fill, Instr, Kind, Op, Place, Raw, Sum};
use crate::compile::constant::whole_of;
use crate::lang::{Diagnostic, Expr, ExprKind, Ident, Setting, Sides, Span, Unit};
use packet::{Layout, Packet, Protocol};

/// Greatest length of a raw packet: what a frame without jumbo size takes.
const MAX_PACKET: usize = 1_500;
/// Letters of TCP flags, and their bits.
const FLAGS: [(char, u8); 8] =
    [('F', 1), ('S', 2), ('R', 4), ('P', 8), ('A', 16), ('U', 32), ('E', 64), ('C', 128)];

impl Compiler<'_, '_> {
    /// `raw tcp inside* -> target : 80 flags S seq rand no_reply`
    pub(super) fn raw(&mut self, span: Span, protocol: &Ident, sides: &Sides, settings: &[Setting]) -> Done {
        if self.kind == Kind::Story {
            return Err(Diagnostic::new(span, "only an attack may send raw packets", "in a flow")
                .help("declare it with `attack` instead of `flow`"));
        }
        if self.only.is_some() || self.in_branch {
            return Err(Diagnostic::new(span, "a raw packet stands in no `if` and no branch", "not here"));
        }
        let ((source, v4, _), (target, other, _)) = (self.place(&sides.from)?, self.place(&sides.to)?);
        for (place, side) in [(source, &sides.from), (target, &sides.to)] {
            if matches!(place, Place::Same { .. }) {
                return Err(Diagnostic::new(
                    side.span,
                    "a raw packet goes from a pool to a pool",
                    "not a pool",
                ));
            }
        }
        if v4 != other {
            return Err(Diagnostic::new(
                sides.to.span,
                "a packet needs two addresses of one family",
                "of the other family",
            )
            .and(sides.from.span, if v4 { "this is IPv4" } else { "this is IPv6" }));
        }
        let protocol = Protocol::of(protocol, v4)?;
        let mut packet = self.packet(span, protocol, v4, sides, settings)?;
        self.source_port(&mut packet, source, settings)?;
        let raw = self.finish_raw(packet, (source, sides.from_any, target), settings, span)?;
        let bytes = self.global.tables.bundle.template(raw.template).len();
        let index = self.global.tables.raw(raw);
        self.put(End::Client, Instr::new(Op::RawPkt, 0, 0, index), span)?;
        self.estimate.packets(1.0, 0.0, bytes as f64 + 14.0);
        Ok(())
    }

    /// The headers and the data.
    fn packet(
        &mut self,
        span: Span,
        protocol: Protocol,
        v4: bool,
        sides: &Sides,
        settings: &[Setting],
    ) -> Done<Packet> {
        let options = match setting(settings, "options") {
            Some(expr) => self.raw_text(expr)?,
            None => Vec::new(),
        };
        if options.len() > 40 || (protocol != Protocol::Tcp && !options.is_empty()) {
            return Err(Diagnostic::new(
                span,
                "only TCP has options, of at most 40 B",
                "not so many, or not here",
            ));
        }
        let data = setting(settings, "data").map_or(Ok(Vec::new()), |expr| self.raw_data(expr))?;
        let mut packet = Packet::new(protocol, v4, options, data);
        if packet.bytes.len() > MAX_PACKET {
            return Err(Diagnostic::new(
                span,
                "a raw packet has at most 1500 B",
                format!("this one has {}", packet.bytes.len()),
            ));
        }
        let layout = packet.layout;
        if let Some(port) = &sides.port {
            let Some(offset) = layout.target_port else {
                return Err(Diagnostic::new(port.span, "only TCP and UDP have ports", "not here"));
            };
            let order = settings.iter().find(|s| matches!(s.name.node.as_str(), "sequential" | "shuffled"));
            let fill = self.fill(port, 2, order.map(|order| order.name.node.as_str()))?;
            packet.set(offset, 2, fill);
        } else if layout.target_port.is_some() {
            return Err(Diagnostic::new(span, "a packet of TCP or UDP needs a port", "no port here")
                .help("add one: ... : 80"));
        }
        for setting in settings {
            self.raw_setting(&mut packet, layout, setting)?;
        }
        Ok(packet)
    }

    /// One setting of a packet.
    fn raw_setting(&mut self, packet: &mut Packet, layout: Layout, setting: &Setting) -> Done {
        let word = setting.name.node.as_str();
        let not_here = || {
            Diagnostic::new(setting.name.span, format!("this packet has no `{word}`"), "not in this protocol")
        };
        if word == "more" {
            let place = layout.fragment.ok_or_else(not_here)?;
            packet.bytes[place] |= 0x20;
            return Ok(());
        }
        let Some(value) = &setting.value else { return Ok(()) };
        match word {
            "flags" => {
                let place = layout.flags.ok_or_else(not_here)?;
                packet.bytes[place] = flags(value)?;
            }
            "offset" => {
                let place = layout.fragment.ok_or_else(not_here)?;
                let offset = self.raw_number(value, 8_191)? as u16;
                let kept = packet.bytes[place] & 0x20;
                packet.bytes[place..place + 2].copy_from_slice(&offset.to_be_bytes());
                packet.bytes[place] |= kept;
                packet.fragment |= offset > 0;
            }
            "header_length" => {
                let place = layout.header_length.ok_or_else(not_here)?;
                let shift = if layout.flags.is_some() { 4 } else { 0 };
                let length = self.raw_number(value, 15)? as u8;
                packet.bytes[place] = packet.bytes[place] & !(15 << shift) | length << shift;
            }
            "reserved" => {
                let place = layout.header_length.filter(|_| layout.flags.is_some()).ok_or_else(not_here)?;
                packet.bytes[place] = packet.bytes[place] & 0xf0 | self.raw_number(value, 15)? as u8;
            }
            "truncate" => packet.keep = Some(self.raw_number(value, MAX_PACKET as u64)? as usize),
            _ => {
                let Some(place) = layout.field(word) else {
                    return if matches!(word, "options" | "data" | "sport") {
                        Ok(())
                    } else {
                        Err(not_here())
                    };
                };
                let (offset, width) = place;
                let fill = self.fill(value, width, None)?;
                packet.set(offset, width, fill);
            }
        }
        Ok(())
    }

    /// The source port: as the story says, or any port of the pool.
    fn source_port(&mut self, packet: &mut Packet, source: Place, settings: &[Setting]) -> Done {
        let Some(offset) = packet.layout.source_port else {
            return match settings.iter().find(|setting| setting.name.node == "sport") {
                Some(setting) => Err(Diagnostic::new(
                    setting.name.span,
                    "this packet has no `sport`",
                    "not in this protocol",
                )),
                None => Ok(()),
            };
        };
        let fill = match (setting(settings, "sport"), source) {
            (Some(expr), _) => self.fill(expr, 2, None)?,
            (None, Place::Pool(index)) => {
                let pool = &self.global.tables.bundle.pools[index as usize];
                Err(Fill::Range { lo: u64::from(pool.first_port), hi: u64::from(pool.last_port) })
            }
            (None, _) => Err(Fill::Range { lo: 1_024, hi: 65_535 }),
        };
        packet.set(offset, 2, fill);
        Ok(())
    }

    /// What a field has: a number (`Ok`), or something that changes.
    fn fill(&mut self, expr: &Expr, width: u8, order: Option<&str>) -> Done<Result<u64, Fill>> {
        let most = u64::MAX >> (64 - 8 * u32::from(width));
        if matches!(&expr.node, ExprKind::Name(name) if name == "rand") {
            return Ok(Err(Fill::Random));
        }
        let given = crate::compile::constant::constant(expr, self)?;
        let (lo, hi) = match given {
            crate::compile::constant::Given::Dist(dist, Unit::One | Unit::Bytes) => (dist.lo, dist.hi),
            _ => {
                let value = self.raw_number(expr, most)?;
                return Ok(Ok(value));
            }
        };
        if hi > most {
            return Err(Diagnostic::new(
                expr.span,
                format!("this field is at most {most}"),
                "it may be greater",
            ));
        }
        Ok(Err(match order {
            Some("sequential") => Fill::Count { lo, hi },
            Some(_) => Fill::Shuffle { lo, hi },
            None => Fill::Range { lo, hi },
        }))
    }

    /// A number of a field.
    fn raw_number(&self, expr: &Expr, most: u64) -> Done<u64> {
        let value = whole_of(expr, Unit::Bytes, self)?;
        if value > most {
            return Err(Diagnostic::new(expr.span, format!("this field is at most {most}"), "it is greater"));
        }
        Ok(value)
    }

    /// The raw packet of a layout.
    fn finish_raw(
        &mut self,
        mut packet: Packet,
        (source, any, target): (Place, bool, Place),
        settings: &[Setting],
        span: Span,
    ) -> Done<Raw> {
        let has = |word: &str| settings.iter().any(|setting| setting.name.node == word);
        if let Some(keep) = packet.keep {
            let least = packet.layout.network;
            if keep < least {
                return Err(Diagnostic::new(
                    span,
                    format!("at least the IP header of {least} B must stay"),
                    "truncated too much",
                ));
            }
            packet.bytes.truncate(keep);
            packet.fields.retain(|field| usize::from(field.offset) + usize::from(field.width) <= keep);
        }
        let whole = !packet.fragment && packet.keep.is_none() && packet.layout.sum.is_some();
        let sum = match (has("bad_checksum"), whole) {
            (true, true) => Sum::Bad,
            (false, true) => Sum::Good,
            _ => Sum::Keep,
        };
        Ok(Raw {
            template: self.template(&packet.bytes, span)?,
            source,
            any,
            target,
            land: has("land"),
            fields: packet.fields,
            ip_sum: if has("bad_ip_checksum") { Sum::Bad } else { Sum::Good },
            sum,
            no_reply: has("no_reply"),
        })
    }
}

/// The value of a setting.
fn setting<'a>(settings: &'a [Setting], word: &str) -> Option<&'a Expr> {
    settings.iter().find(|setting| setting.name.node == word).and_then(|setting| setting.value.as_ref())
}

/// TCP flags by their letters.
fn flags(expr: &Expr) -> Done<u8> {
    let wrong = || {
        Diagnostic::new(expr.span, "flags are letters of TCP", "not such letters")
            .help("S SYN, A ACK, F FIN, R RST, P PSH, U URG, E ECE, C CWR; or none")
    };
    let ExprKind::Name(letters) = &expr.node else { return Err(wrong()) };
    if letters == "none" {
        return Ok(0);
    }
    letters.chars().try_fold(0, |bits, letter| {
        let found = FLAGS.iter().find(|(known, _)| *known == letter);
        found.map(|(_, bit)| bits | bit).ok_or_else(wrong)
    })
}
