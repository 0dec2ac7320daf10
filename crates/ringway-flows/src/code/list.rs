//! Listings: a bundle as text that is the same for the same bundle.

use std::fmt::Write as _;

use super::{Bundle, End, Flow, Instr, NONE, Op, Operand, Parser, Piece, Place, Program, Raw};

/// Most bytes of a template that a listing shows.
const SHOWN: usize = 60;

/// The programs of all flows, with jump labels and the texts that they send.
#[must_use]
pub fn list(bundle: &Bundle) -> String {
    let mut out = String::new();
    for flow in &bundle.flows {
        let _ = writeln!(out, "flow {}", bundle.name(flow.name));
        for (slot, connection) in flow.connections.iter().enumerate() {
            let name = bundle.name(connection.name);
            let _ = writeln!(
                out,
                "  connection {slot} {name}: {:?} {} -> {} port {:?}, opened by the {}",
                connection.transport,
                place(bundle, connection.client),
                place(bundle, connection.server),
                connection.port,
                word(connection.opener)
            );
        }
        for end in [End::Client, End::Server] {
            let _ = writeln!(out, "  {}", word(end));
            list_program(&mut out, bundle, flow, flow.program(end));
        }
    }
    out
}

/// The name of an end.
const fn word(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// A program, one instruction a line, with labels where jumps lead.
fn list_program(out: &mut String, bundle: &Bundle, flow: &Flow, program: &Program) {
    let mut targets = vec![false; program.code.len()];
    for instr in &program.code {
        if instr.op.operands()[2] == Operand::Target
            && let Some(target) = targets.get_mut(instr.c as usize)
        {
            *target = true;
        }
    }
    for (at, instr) in program.code.iter().enumerate() {
        let label = if targets[at] { format!("L{at}:") } else { String::new() };
        let _ = writeln!(out, "  {label:>8} {at:>4}  {}", instruction(bundle, flow, *instr));
    }
}

/// An instruction as text. It has a meaning for wrong instructions too.
#[must_use]
pub fn instruction(bundle: &Bundle, flow: &Flow, instr: Instr) -> String {
    let mut text = instr.op.name().to_owned();
    let fields = [u32::from(instr.a), u32::from(instr.b), instr.c];
    for (operand, value) in instr.op.operands().into_iter().zip(fields) {
        let shown = operand_text(bundle, flow, instr, operand, value);
        if !shown.is_empty() {
            let _ = write!(text, " {shown}");
        }
    }
    text
}

/// One operand as text.
fn operand_text(bundle: &Bundle, flow: &Flow, instr: Instr, operand: Operand, value: u32) -> String {
    let name = |table: &[u32]| match table.get(value as usize) {
        Some(index) => format!("`{}`", bundle.name(*index)),
        None => format!("#{value}"),
    };
    let slot = |value: u32| match flow.connections.get(value as usize) {
        Some(connection) => bundle.name(connection.name).to_owned(),
        None => format!("slot{value}"),
    };
    match operand {
        Operand::Unused => String::new(),
        Operand::Slot => slot(value),
        Operand::SlotEnd => {
            format!("{}.{}", slot(value & 0xff), if value >> 8 == 0 { "client" } else { "server" })
        }
        Operand::ReadOrNone if value == u32::from(NONE) => String::new(),
        Operand::Read | Operand::Write | Operand::ReadOrNone => format!("r{value}"),
        Operand::ReadTwo | Operand::ReadWrite => format!("r{} r{}", value & 0xff, value >> 8),
        Operand::Captures => match bundle.parsers.get(instr.c as usize).map_or(0, |p| p.captures()) {
            0 => String::new(),
            _ => format!("r{value}.."),
        },
        Operand::Immediate => value.to_string(),
        Operand::Target => format!("L{value}"),
        Operand::Branch => format!("branch {value}"),
        Operand::Edge => if value == 0 { "begin" } else { "end" }.to_owned(),
        Operand::Latency if instr.op == Op::Lat && instr.a == 0 => String::new(),
        Operand::Constant => bundle.constants.get(value as usize).map_or(format!("#{value}"), u64::to_string),
        Operand::Template => text(bundle, value),
        Operand::Format => pieces(bundle, flow, value),
        Operand::Parser => parser(bundle, flow, value),
        Operand::Dist => match bundle.dists.get(value as usize) {
            Some(dist) => format!("{:?} in {}..={}", dist.shape, dist.lo, dist.hi),
            None => format!("#{value}"),
        },
        Operand::Counter => name(&flow.counters),
        Operand::Latency => name(&flow.latencies),
        Operand::Name => format!("`{}`", bundle.name(value)),
        Operand::Raw => match bundle.raws.get(value as usize) {
            Some(packet) => raw(bundle, packet),
            None => format!("#{value}"),
        },
    }
}

/// Where an address comes from.
fn place(bundle: &Bundle, place: Place) -> String {
    match place {
        Place::Pool(index) => match bundle.pools.get(index as usize) {
            Some(pool) => bundle.name(pool.name).to_owned(),
            None => format!("#{index}"),
        },
        Place::Fixed(address) => address.to_string(),
        Place::Same { slot, end } => format!("slot{slot}.{}", word(end)),
    }
}

/// A raw packet: all of its bytes, and what changes in it.
fn raw(bundle: &Bundle, raw: &Raw) -> String {
    let any = if raw.any { "*" } else { "" };
    let mut text = format!("{}{any} -> {} ", place(bundle, raw.source), place(bundle, raw.target));
    for byte in bundle.template(raw.template) {
        let _ = write!(text, "{byte:02x}");
    }
    for field in &raw.fields {
        let _ = write!(text, " {}+{}={:?}", field.offset, field.width, field.fill);
    }
    let _ = write!(text, " ip_sum={:?} sum={:?}", raw.ip_sum, raw.sum);
    let flags = [(raw.land, " land"), (raw.no_reply, " no_reply")];
    text.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word));
    text
}

/// The start of a template, with escapes.
fn text(bundle: &Bundle, index: u32) -> String {
    let bytes = bundle.template(index);
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let rest = if bytes.len() > SHOWN { format!("... ({} bytes)", bytes.len()) } else { String::new() };
    format!("\"{}\"{rest}", shown.escape_ascii())
}

/// The pieces of a format.
fn pieces(bundle: &Bundle, flow: &Flow, index: u32) -> String {
    let side = |slot: u8, end: End| {
        let name = flow.connections.get(usize::from(slot)).map_or("?", |c| bundle.name(c.name));
        format!("{name}.{}", word(end))
    };
    let one = |piece: &Piece| match *piece {
        Piece::Text(index) => text(bundle, index),
        Piece::Decimal(reg) => format!("decimal(r{reg})"),
        Piece::Hex { reg, digits } => format!("hex(r{reg}, {digits})"),
        Piece::Letters { reg, count } => format!("letters(r{reg}, {count})"),
        Piece::Bytes { reg, count } => format!("bytes(r{reg}, {count})"),
        Piece::Address { slot, end } => format!("address({})", side(slot, end)),
        Piece::AddressBytes { slot, end } => format!("address_bytes({})", side(slot, end)),
        Piece::HostPort { slot, end, reg } => format!("host_port({}, r{reg})", side(slot, end)),
        Piece::TakeDecimal(reg) => format!("r{reg}=decimal"),
        Piece::TakeHex { reg, digits } => format!("r{reg}=hex({digits})"),
        Piece::TakeBytes { reg, count } => format!("r{reg}=bytes({count})"),
        Piece::TakeHostPort { slot, end, reg } => format!("r{reg}=host_port({})", side(slot, end)),
    };
    match bundle.formats.get(index as usize) {
        Some(format) => format.pieces.iter().map(one).collect::<Vec<_>>().join(" "),
        None => format!("#{index}"),
    }
}

/// A parser.
fn parser(bundle: &Bundle, flow: &Flow, index: u32) -> String {
    match bundle.parsers.get(index as usize) {
        Some(Parser::Line { prefix }) => format!("line {}", text(bundle, *prefix)),
        Some(Parser::SipRequest { method }) => format!("sip request {}", text(bundle, *method)),
        Some(Parser::DnsReply { id, question, rcode, truncated }) => {
            let asked = pieces(bundle, flow, *question);
            format!("dns reply id=r{id} rcode={rcode} truncated={truncated} question {asked}")
        }
        Some(other) => format!("{other:?}"),
        None => format!("#{index}"),
    }
}
