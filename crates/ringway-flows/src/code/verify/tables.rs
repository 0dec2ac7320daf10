//! Checks of tables: each number lies in its range, each index in its table.

use super::Refusal;
use super::pools::MAX_EXPONENT;
use crate::code::{
    Bundle, Connection, Dist, End, Estimate, Fill, Flow, Format, Kind, MAX_CONNECTIONS, MAX_FORMAT,
    MAX_INSTRUCTIONS, MAX_RANKS, MAX_REGISTERS, Parser, Piece, Place, Raw, Shape, ToPort,
};

/// Most values of a distribution's parameters: more than any time or size, and sums of a few do not overflow.
const MAX_VALUE: u64 = 1 << 62;
/// Greatest number of an estimate: eight times as much fits into 64 bits.
const MAX_ESTIMATE: u64 = 1_000_000_000_000_000_000;
/// Most bytes of a raw packet.
const MAX_RAW: u32 = 9_000;

/// Looks at all tables but the pools and the plan.
pub(super) fn check(bundle: &Bundle) -> Result<(), Refusal> {
    all("template", &bundle.templates, |t| {
        let end = u64::from(t.offset) + u64::from(t.len);
        if end > bundle.data.len() as u64 { Err("it leaves the data") } else { Ok(()) }
    })?;
    all("format", &bundle.formats, |format| check_format(bundle, format))?;
    all("distribution", &bundle.dists, check_dist)?;
    all("parser", &bundle.parsers, |parser| check_parser(bundle, *parser))?;
    all("raw packet", &bundle.raws, |raw| check_raw(bundle, raw))?;
    all("flow", &bundle.flows, |flow| check_flow(bundle, flow))
}

/// Looks at each item of a table.
pub(super) fn all<T>(
    table: &'static str,
    items: &[T],
    look: impl Fn(&T) -> Result<(), &'static str>,
) -> Result<(), Refusal> {
    for (index, item) in items.iter().enumerate() {
        look(item).map_err(|what| Refusal::of_table(table, index, what))?;
    }
    Ok(())
}

/// Its pieces have sane widths, it is not too long, and it is clear where what it takes ends.
fn check_format(bundle: &Bundle, format: &Format) -> Result<(), &'static str> {
    let mut longest = 0u64;
    for (i, piece) in format.pieces.iter().enumerate() {
        let sane = match *piece {
            Piece::Text(index) => (index as usize) < bundle.templates.len(),
            Piece::Hex { digits: n, .. } | Piece::TakeHex { digits: n, .. } => (1..=16).contains(&n),
            Piece::Letters { count: n, .. } => (1..=12).contains(&n),
            Piece::Bytes { count: n, .. } | Piece::TakeBytes { count: n, .. } => (1..=8).contains(&n),
            _ => true,
        };
        if !sane {
            return Err("a piece has no such template, or no such width");
        }
        longest += u64::from(piece.longest(|index| bundle.template(index).len() as u32));
        if matches!(piece, Piece::TakeDecimal(_) | Piece::TakeHostPort { .. }) {
            let next = match format.pieces.get(i + 1) {
                Some(Piece::Text(index)) => bundle.template(*index).first(),
                _ => None,
            };
            if next.is_none_or(u8::is_ascii_digit) {
                return Err("a number that is taken needs a text behind it that begins with no digit");
            }
        }
    }
    if longest > u64::from(MAX_FORMAT) { Err("it may render to more than 8192 bytes") } else { Ok(()) }
}

/// Its numbers make sense.
pub(super) fn check_dist(dist: &Dist) -> Result<(), &'static str> {
    if dist.lo > dist.hi || dist.hi > MAX_VALUE {
        return Err("its bounds are not in order, or greater than 2^62");
    }
    let sane = match &dist.shape {
        Shape::Const => dist.lo == dist.hi,
        Shape::Uniform => true,
        Shape::Exp { mean } => *mean <= MAX_VALUE,
        Shape::Normal { mean, deviation } => *mean <= MAX_VALUE && *deviation <= MAX_VALUE,
        Shape::Lognormal { median, sigma } => (1..=MAX_VALUE).contains(median) && *sigma <= MAX_EXPONENT,
        Shape::Pareto { scale, shape } => {
            (1..=MAX_VALUE).contains(scale) && (10_000..=1_000_000_000).contains(shape)
        }
        Shape::Zipf { exponent } => *exponent <= MAX_EXPONENT && dist.hi - dist.lo < MAX_RANKS,
        Shape::Table(rows) => {
            rows.iter().all(|row| row.lo <= row.hi && row.hi <= MAX_VALUE)
                && rows.len() <= MAX_RANKS as usize
                && rows.iter().any(|row| row.weight > 0)
        }
    };
    if sane { Ok(()) } else { Err("a parameter of its shape is out of range") }
}

/// Its numbers exist in its protocol.
fn check_parser(bundle: &Bundle, parser: Parser) -> Result<(), &'static str> {
    let sane = match parser {
        Parser::Line { prefix: template } | Parser::SipRequest { method: template } => {
            (template as usize) < bundle.templates.len()
        }
        Parser::Reply { code } | Parser::FtpPassive { code } | Parser::FtpExtended { code } => {
            (100..600).contains(&code)
        }
        Parser::HttpResponse { status, .. } => (100..600).contains(&status),
        Parser::SipResponse { status } => (100..700).contains(&status),
        Parser::DnsReply { question, rcode, .. } => {
            rcode < 16
                && bundle
                    .formats
                    .get(question as usize)
                    .is_some_and(|f| f.pieces.iter().all(|p| p.takes().is_none()))
        }
        Parser::Tftp { opcode } => (1..=6).contains(&opcode),
        Parser::Ntp { mode } => mode < 8,
        _ => true,
    };
    if sane { Ok(()) } else { Err("it has no such template, format or number") }
}

/// Its template is a packet, its fields lie inside, its places are pools or addresses of pools.
fn check_raw(bundle: &Bundle, raw: &Raw) -> Result<(), &'static str> {
    let bytes = bundle.template(raw.template);
    if raw.template as usize >= bundle.templates.len() || bytes.len() as u32 > MAX_RAW {
        return Err("its template does not exist, or is longer than 9000 bytes");
    }
    let v4 = match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => true,
        Some(6) if bytes.len() >= 40 => false,
        _ => return Err("its template does not begin with an IP header"),
    };
    for place in [raw.source, raw.target] {
        check_place(bundle, place, v4)?;
    }
    for field in &raw.fields {
        let widest = if field.fill == Fill::Letters { 63 } else { 8 };
        if field.width == 0
            || field.width > widest
            || usize::from(field.offset) + usize::from(field.width) > bytes.len()
        {
            return Err("a field has no such width, or leaves the packet");
        }
        if let Fill::Count { lo, hi } | Fill::Shuffle { lo, hi } | Fill::Range { lo, hi } = field.fill
            && lo > hi
        {
            return Err("the bounds of a field are not in order");
        }
    }
    Ok(())
}

/// A place of the wanted family: a pool, or an address in a pool.
fn check_place(bundle: &Bundle, place: Place, v4: bool) -> Result<(), &'static str> {
    match place {
        Place::Pool(index) => match bundle.pools.get(index as usize) {
            Some(pool) if pool.is_ipv4() == v4 => Ok(()),
            _ => Err("a pool does not exist, or is of the other address family"),
        },
        Place::Fixed(address) if address.is_ipv4() != v4 => Err("an address is of the other family"),
        Place::Fixed(address) if bundle.pools.iter().any(|pool| pool.contains(address)) => Ok(()),
        Place::Fixed(_) => Err("an address lies in no pool"),
        Place::Same { .. } => Err("it has no connection whose address it could use"),
    }
}

/// Its names exist, its connections fit together, its programs have a sane size.
fn check_flow(bundle: &Bundle, flow: &Flow) -> Result<(), &'static str> {
    let names = [flow.name].into_iter().chain(flow.connections.iter().map(|c| c.name));
    let names = names.chain(flow.parameters.iter().map(|p| p.name));
    let mut names = names.chain(flow.counters.iter().copied()).chain(flow.latencies.iter().copied());
    if names.any(|name| name as usize >= bundle.names.len()) {
        return Err("a name does not exist");
    }
    if flow.parameters.iter().any(|p| p.dist as usize >= bundle.dists.len()) {
        return Err("the distribution of a parameter does not exist");
    }
    let Estimate { milli_packets, payload, bytes, milli_connections, think } = flow.estimate;
    if [milli_packets, payload, bytes, milli_connections, think].iter().any(|n| *n > MAX_ESTIMATE) {
        return Err("a number of its estimate is greater than 10^18");
    }
    if flow.connections.len() > MAX_CONNECTIONS {
        return Err("it has more than 8 connections");
    }
    for slot in 0..flow.connections.len() {
        check_connection(bundle, flow, slot)?;
    }
    for program in [&flow.client, &flow.server] {
        if program.code.is_empty() || program.code.len() > MAX_INSTRUCTIONS {
            return Err("a program has no instruction, or more than 65536");
        }
        if usize::from(program.registers) > MAX_REGISTERS {
            return Err("a program has more than 16 registers");
        }
    }
    Ok(())
}

/// A connection: the first one has pools, the others depend on earlier ones.
fn check_connection(bundle: &Bundle, flow: &Flow, slot: usize) -> Result<(), &'static str> {
    let connection = &flow.connections[slot];
    let attack = flow.kind == Kind::Attack;
    if connection.half_open && !attack {
        return Err("only an attack may leave a connection half open");
    }
    if connection.port == ToPort::Fixed(0) || connection.window == Some(0) {
        return Err("a connection goes to port 0, or has a window of 0 bytes");
    }
    if slot == 0 {
        if connection.opener != End::Client || (connection.port == ToPort::Register && !attack) {
            return Err("the client must open the first connection, to a port that is named");
        }
        let v4 = family(bundle, connection.client);
        check_place(bundle, connection.client, v4)?;
        return check_place(bundle, connection.server, v4);
    }
    let first = &flow.connections[0];
    let again = |earlier: &Connection| {
        earlier.transport == connection.transport
            && earlier.opener == connection.opener
            && earlier.port == connection.port
            && matches!(connection.port, ToPort::Fixed(_))
    };
    if flow.connections[..slot].iter().any(again) {
        return Err("two connections go to the same port");
    }
    for place in [connection.client, connection.server] {
        match place {
            Place::Same { slot: earlier, .. } if usize::from(earlier) < slot => {}
            Place::Fixed(_) => check_place(bundle, place, family(bundle, first.client))?,
            _ => return Err("a later connection needs the address of an earlier one"),
        }
    }
    Ok(())
}

/// Whether a place is of IPv4.
fn family(bundle: &Bundle, place: Place) -> bool {
    match place {
        Place::Pool(index) => bundle.pools.get(index as usize).is_some_and(crate::code::Pool::is_ipv4),
        Place::Fixed(address) => address.is_ipv4(),
        Place::Same { .. } => false,
    }
}
