//! Bundles as bytes: a version, then all tables, each with its count in front.
//!
//! Whole numbers are little-endian. An enum is a byte that says which variant follows. Each item has at least one byte, so that no count
//! makes a reader take more memory than its input deserves.

use std::net::IpAddr;

use super::verify::{Refusal, verify};
use super::*;

/// What a bundle begins with. The last byte is the version of the form.
const MAGIC: &[u8; 8] = b"rwflows\x01";

/// The bytes of a bundle.
///
/// ```
/// use ringway_flows::code::{Bundle, decode, encode};
///
/// let bundle = Bundle { seed: 42, ..Bundle::default() };
/// assert_eq!(decode(&encode(&bundle)).unwrap(), bundle);
/// ```
#[must_use]
pub fn encode(bundle: &Bundle) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    bundle.put(&mut out);
    out
}

/// The bundle in some bytes, if they are one and the verifier accepts it.
///
/// # Errors
/// The bytes are no bundle of this version, are cut or too long, or the verifier refuses what they say.
pub fn decode(bytes: &[u8]) -> Result<Bundle, Refusal> {
    let form = |what| Refusal::of_table(what, 0, "the bytes are cut, or hold a value that does not exist");
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Refusal::of_table("header", 0, "these bytes are no bundle of version 1"));
    };
    let bundle = Bundle::take(&mut rest).ok_or_else(|| form("bundle"))?;
    if !rest.is_empty() {
        return Err(Refusal::of_table("bundle", 0, "bytes follow its end"));
    }
    verify(&bundle)?;
    Ok(bundle)
}

/// A value that has a form in bytes.
trait Wire: Sized {
    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes it from the front of the input, if it is there.
    fn take(input: &mut &[u8]) -> Option<Self>;
}

/// Numbers.
macro_rules! numbers {
    ($($type:ty),*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )* };
}

/// Structs: their fields in order.
macro_rules! structs {
    ($($type:ident { $($field:ident),* })*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Wire::take(input)?),* })
            }
        }
    )* };
}

/// Enums: the number of the variant, then its fields in order.
macro_rules! enums {
    ($($type:ident { $($tag:literal $variant:ident $(($($item:ident),*))? $({$($field:ident),*})?,)* })*) => { $(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($item),*))? $({$($field),*})? => {
                        out.push($tag);
                        $($($item.put(out);)*)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(match u8::take(input)? {
                    $($tag => {
                        $($(let $item = Wire::take(input)?;)*)?
                        $($(let $field = Wire::take(input)?;)*)?
                        Self::$variant $(($($item),*))? $({$($field),*})?
                    })*
                    _ => return None,
                })
            }
        }
    )* };
}

numbers!(u8, u16, u32, u64);

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        for item in self {
            item.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let count = u32::take(input)?;
        if count as usize > input.len() {
            return None;
        }
        (0..count).map(|_| T::take(input)).collect()
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        if bool::take(input)? { T::take(input).map(Some) } else { Some(None) }
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        out.extend(self.as_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::<u8>::take(input)?).ok()
    }
}

impl Wire for [u8; 6] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(*bytes)
    }
}

impl Wire for IpAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::V4(address) => {
                out.push(4);
                out.extend(address.octets());
            }
            Self::V6(address) => {
                out.push(6);
                out.extend(address.octets());
            }
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            4 => {
                let (bytes, rest) = input.split_first_chunk::<4>()?;
                *input = rest;
                Some(Self::from(*bytes))
            }
            6 => {
                let (bytes, rest) = input.split_first_chunk::<16>()?;
                *input = rest;
                Some(Self::from(*bytes))
            }
            _ => None,
        }
    }
}

impl Wire for Instr {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Self::from_bytes(*bytes)
    }
}

structs! {
    Bundle {
        seed, lab, names, pools, data, templates, formats, constants, dists, parsers, raws, flows, mixes, plan, expectations
    }
    Connection { name, transport, opener, client, server, port, window, half_open }
    Dist { shape, lo, hi }
    Estimate { milli_packets, payload, bytes, milli_connections, think }
    Expectation { measure, compare, value }
    Field { offset, width, fill }
    Flow { name, kind, connections, parameters, counters, latencies, client, server, estimate }
    Format { pieces }
    Load { what, unit, start, phases, spacing }
    Macs { first, count }
    Mix { name, shares }
    Parameter { name, dist }
    Phase { from, to, length, steady }
    Plan { loads, drain, max_active, stops }
    Pool { name, ranges, first_port, last_port, choice, port_choice, macs, vlans }
    Program { code, registers }
    Range { first, last }
    Raw { template, source, any, target, land, fields, ip_sum, sum, no_reply }
    Row { weight, lo, hi }
    Share { flow, weight }
    Template { offset, len }
    Vlans { first, last }
}

enums! {
    Choice { 0 Sequential, 1 Random, 2 Zipf { exponent }, }
    Compare { 0 Less, 1 AtMost, 2 More, 3 AtLeast, 4 Equal, }
    End { 0 Client, 1 Server, }
    Fill { 0 Random, 1 Count { lo, hi }, 2 Shuffle { lo, hi }, 3 Range { lo, hi }, 4 Letters, }
    Kind { 0 Story, 1 Attack, }
    Measure {
        0 Complete(flow), 1 Failed(flow), 2 Rate(flow), 3 Active, 4 Percentile { milli, flow, latency }, 5 Counter { flow, counter },
    }
    Method { 0 Get, 1 Head, 2 Post, 3 Put, }
    Parser {
        0 Line { prefix }, 1 Number, 2 Dots, 3 Reply { code }, 4 FtpPassive { code }, 5 FtpExtended { code }, 6 FtpPort, 7 FtpEprt,
        8 HttpRequest { method }, 9 HttpResponse { status, head }, 10 DnsQuery { kind },
        11 DnsReply { id, question, rcode, truncated }, 12 SipRequest { method }, 13 SipResponse { status }, 14 Tftp { opcode },
        15 Ntp { mode },
    }
    Piece {
        0 Text(template), 1 Decimal(reg), 2 Hex { reg, digits }, 3 Letters { reg, count }, 4 Bytes { reg, count },
        5 Address { slot, end }, 6 AddressBytes { slot, end }, 7 HostPort { slot, end, reg }, 8 TakeDecimal(reg),
        9 TakeHex { reg, digits }, 10 TakeBytes { reg, count }, 11 TakeHostPort { slot, end, reg },
    }
    Place { 0 Pool(index), 1 Fixed(address), 2 Same { slot, end }, }
    Shape {
        0 Const, 1 Uniform, 2 Exp { mean }, 3 Normal { mean, deviation }, 4 Lognormal { median, sigma }, 5 Pareto { scale, shape },
        6 Zipf { exponent }, 7 Table(rows),
    }
    Spacing { 0 Even, 1 Poisson, }
    Stop { 0 Failed(count), 1 Complete(count), 2 After(time), 3 FailedShare(share), }
    Sum { 0 Good, 1 Bad, 2 Keep, }
    ToPort { 0 Fixed(port), 1 Register, }
    Transport { 0 Tcp, 1 Udp, }
    Unit { 0 Flows, 1 Active, 2 Bits, 3 Packets, }
    What { 0 Flow(index), 1 Mix(index), }
}
