//! Ranges of IP addresses with ports and of MAC addresses, and the walk through them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// UDP port when a range names none, as in netmap's pkt-gen.
pub const DEFAULT_PORT: u16 = 1234;

const ENDPOINT_FORM: &str = "ADDRESS[:PORT][-[ADDRESS][:PORT]] such as 10.0.0.1:1000-10.0.0.255:1010, \
                             2001:db8::1 or [2001:db8::1]:1000-[2001:db8::ff]:1010";
const MAC_FORM: &str = "MAC[-MAC] such as 02:00:00:00:00:01-02:00:00:00:00:ff";

/// A range of IP addresses times a range of UDP ports, both ends included.
///
/// Written `first[:port][-last[:port]]`; IPv6 needs brackets when a port follows. Without ports the port is
/// [`DEFAULT_PORT`]; a last part without an address (`10.0.0.1:1-:9`) or port repeats the first one's.
///
/// ```
/// use ringway_traffic::range::EndpointRange;
///
/// let range: EndpointRange = "10.0.0.1:1000-10.0.0.255:1010".parse()?;
/// assert_eq!(range.count(), 255 * 11);
/// let range: EndpointRange = "[2001:db8::1]:53".parse()?;
/// assert_eq!(range.count(), 1);
/// # Ok::<(), ringway_traffic::range::RangeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointRange {
    first: IpAddr,
    last: IpAddr,
    first_port: u16,
    last_port: u16,
}

impl EndpointRange {
    /// Every IPv4 address with every port: what netmap's `-z` and `-Z` draw from.
    pub const ANY_V4: Self = Self {
        first: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        last: IpAddr::V4(Ipv4Addr::BROADCAST),
        first_port: 0,
        last_port: u16::MAX,
    };

    /// One address and one port.
    pub const fn single(address: IpAddr, port: u16) -> Self {
        Self { first: address, last: address, first_port: port, last_port: port }
    }

    /// The range between two endpoints, both included.
    ///
    /// # Errors
    /// When the families differ, or the last address or port lies below the first.
    pub fn new(first: (IpAddr, u16), last: (IpAddr, u16)) -> Result<Self, RangeError> {
        let ((first, first_port), (last, last_port)) = (first, last);
        let fail = |what, part: String| Err(RangeError { what, part, form: ENDPOINT_FORM });
        if first.is_ipv4() != last.is_ipv4() {
            return fail("IPv4 and IPv6 in one range", format!("{first}-{last}"));
        }
        if first > last {
            return fail("last address below the first", format!("{first}-{last}"));
        }
        if first_port > last_port {
            return fail("last port below the first", format!("{first_port}-{last_port}"));
        }
        Ok(Self { first, last, first_port, last_port })
    }

    /// First address and port: where the walk starts.
    pub fn first(&self) -> (IpAddr, u16) {
        (self.first, self.first_port)
    }

    /// Last address and port.
    pub fn last(&self) -> (IpAddr, u16) {
        (self.last, self.last_port)
    }

    /// Whether the addresses are IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.first.is_ipv6()
    }

    /// Number of different (address, port) pairs, at most `u128::MAX`.
    pub fn count(&self) -> u128 {
        let addresses = (ip_bits(self.last) - ip_bits(self.first)).saturating_add(1);
        addresses.saturating_mul(u128::from(self.last_port - self.first_port) + 1)
    }
}

impl FromStr for EndpointRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let fail = |what, part: &str| RangeError { what, part: part.to_owned(), form: ENDPOINT_FORM };
        let Some((low, high)) = text.split_once('-') else {
            let (address, port) = parse_endpoint(text)?;
            let address = address.ok_or_else(|| fail("missing address", text))?;
            return Ok(Self::single(address, port.unwrap_or(DEFAULT_PORT)));
        };
        let (first, first_port) = parse_endpoint(low)?;
        let (last, last_port) = parse_endpoint(high)?;
        let first = first.ok_or_else(|| fail("missing first address", text))?;
        if first_port.is_none() && last_port.is_some() {
            return Err(fail("last port without a first port", text));
        }
        let first_port = first_port.unwrap_or(DEFAULT_PORT);
        Self::new((first, first_port), (last.unwrap_or(first), last_port.unwrap_or(first_port)))
    }
}

impl fmt::Display for EndpointRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first(), self.last());
        write!(f, "{}", std::net::SocketAddr::from(first))?;
        if first == last { Ok(()) } else { write!(f, "-{}", std::net::SocketAddr::from(last)) }
    }
}

/// Splits `address[:port]`; the address is `None` in `:port`.
fn parse_endpoint(part: &str) -> Result<(Option<IpAddr>, Option<u16>), RangeError> {
    let fail = |what, part: &str| RangeError { what, part: part.to_owned(), form: ENDPOINT_FORM };
    let port = |text: &str| text.parse::<u16>().map(Some).map_err(|_| fail("bad port", text));
    if let Ok(address) = part.parse() {
        return Ok((Some(address), None));
    }
    if let Some((inside, rest)) = part.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let address = inside.parse::<Ipv6Addr>().map_err(|_| fail("bad IPv6 address", inside))?;
        return match rest.strip_prefix(':') {
            Some(text) => Ok((Some(address.into()), port(text)?)),
            None if rest.is_empty() => Ok((Some(address.into()), None)),
            None => Err(fail("unexpected text after ']'", rest)),
        };
    }
    match part.rsplit_once(':') {
        Some(("", text)) => Ok((None, port(text)?)),
        Some((address, text)) => {
            let address = address.parse::<Ipv4Addr>().map_err(|_| fail("bad address", address))?;
            Ok((Some(address.into()), port(text)?))
        }
        None => Err(fail("bad address", part)),
    }
}

/// A range of MAC addresses, both ends included.
///
/// ```
/// use ringway_traffic::range::MacRange;
///
/// let range: MacRange = "02:00:00:00:00:01-02:00:00:00:00:ff".parse()?;
/// assert_eq!(range.count(), 255);
/// assert_eq!(range.first(), [2, 0, 0, 0, 0, 1]);
/// # Ok::<(), ringway_traffic::range::RangeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacRange {
    first: u64,
    last: u64,
}

impl MacRange {
    /// ff:ff:ff:ff:ff:ff, the destination when none is given.
    pub const BROADCAST: Self = Self { first: 0xffff_ffff_ffff, last: 0xffff_ffff_ffff };

    /// One address.
    pub fn single(mac: [u8; 6]) -> Self {
        let bits = mac.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Self { first: bits, last: bits }
    }

    /// First address, in wire order.
    pub fn first(&self) -> [u8; 6] {
        mac_bytes(self.first)
    }

    /// Last address, in wire order.
    pub fn last(&self) -> [u8; 6] {
        mac_bytes(self.last)
    }

    /// Number of addresses.
    pub fn count(&self) -> u64 {
        self.last - self.first + 1
    }
}

impl FromStr for MacRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (parse_mac(low)?, parse_mac(high)?);
        if first > last {
            let (what, part) = ("last MAC address below the first", text.to_owned());
            return Err(RangeError { what, part, form: MAC_FORM });
        }
        Ok(Self { first, last })
    }
}

impl fmt::Display for MacRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_mac(f, self.first())?;
        if self.first == self.last {
            return Ok(());
        }
        f.write_str("-")?;
        write_mac(f, self.last())
    }
}

fn write_mac(f: &mut fmt::Formatter<'_>, [a, b, c, d, e, g]: [u8; 6]) -> fmt::Result {
    write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
}

fn parse_mac(part: &str) -> Result<u64, RangeError> {
    let fail = || RangeError { what: "bad MAC address", part: part.to_owned(), form: MAC_FORM };
    let mut bytes = 0;
    let mut bits = 0;
    for byte in part.split(':') {
        if byte.is_empty() || byte.len() > 2 || !byte.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(fail());
        }
        bits = bits << 8 | u64::from_str_radix(byte, 16).map_err(|_| fail())?;
        bytes += 1;
        if bytes > 6 {
            return Err(fail());
        }
    }
    if bytes == 6 { Ok(bits) } else { Err(fail()) }
}

/// A range that cannot be read: names the bad part and the accepted form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeError {
    what: &'static str,
    part: String,
    form: &'static str,
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'; accepted: {}", self.what, self.part, self.form)
    }
}

impl std::error::Error for RangeError {}

/// In which order a walk visits its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Port first, then address, then from the start again.
    #[default]
    Nested,
    /// A uniform draw of address and port per step; the same seed gives the same draws.
    Random {
        /// Start of the generator; give each thread its own.
        seed: u64,
    },
}

/// A walk through an [`EndpointRange`], endless.
///
/// ```
/// use ringway_traffic::range::{EndpointWalk, Order};
///
/// let mut walk = EndpointWalk::new(&"10.0.0.1:7-10.0.0.2:8".parse()?, Order::Nested);
/// let mut seen = vec![walk.current().1];
/// while !walk.advance() {
///     seen.push(walk.current().1);
/// }
/// assert_eq!(seen, [7, 8, 7, 8]);
/// # Ok::<(), ringway_traffic::range::RangeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EndpointWalk {
    ipv6: bool,
    address: Wheel,
    port: Wheel,
    random: Option<Random>,
}

impl EndpointWalk {
    /// Starts at the first endpoint, or at the first draw.
    pub fn new(range: &EndpointRange, order: Order) -> Self {
        let mut walk = Self {
            ipv6: range.is_ipv6(),
            address: Wheel::new(ip_bits(range.first), ip_bits(range.last)),
            port: Wheel::new(range.first_port.into(), range.last_port.into()),
            random: match order {
                Order::Nested => None,
                Order::Random { seed } => Some(Random::new(seed)),
            },
        };
        if walk.random.is_some() {
            walk.advance();
        }
        walk
    }

    /// The endpoint the walk stands at.
    pub fn current(&self) -> (IpAddr, u16) {
        let address = if self.ipv6 {
            Ipv6Addr::from_bits(self.address.now).into()
        } else {
            Ipv4Addr::from_bits(self.address.now as u32).into()
        };
        (address, self.port())
    }

    /// Steps on. True when the walk is at its start again, so that an outer walk steps too; a random walk has
    /// no place in the nesting and always says true.
    pub fn advance(&mut self) -> bool {
        match &mut self.random {
            None => self.port.advance() && self.address.advance(),
            Some(random) => {
                self.address.draw(random);
                self.port.draw(random);
                true
            }
        }
    }

    /// Whether steps change anything.
    pub fn varies(&self) -> bool {
        self.address.varies() || self.port.varies()
    }

    pub(super) fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    /// The address as an integer; IPv4 in the low 32 bits.
    pub(super) fn bits(&self) -> u128 {
        self.address.now
    }

    pub(super) fn port(&self) -> u16 {
        self.port.now as u16
    }
}

/// A walk through a [`MacRange`], endless and in order.
#[derive(Clone, Debug)]
pub struct MacWalk(Wheel);

impl MacWalk {
    /// Starts at the first address.
    pub fn new(range: &MacRange) -> Self {
        Self(Wheel::new(range.first.into(), range.last.into()))
    }

    /// The address the walk stands at, in wire order.
    pub fn current(&self) -> [u8; 6] {
        mac_bytes(self.0.now as u64)
    }

    /// Steps on. True when the walk is at its start again.
    pub fn advance(&mut self) -> bool {
        self.0.advance()
    }

    /// Whether steps change anything.
    pub fn varies(&self) -> bool {
        self.0.varies()
    }
}

/// One digit of the nesting: counts from `first` to `last` and starts again.
#[derive(Clone, Debug)]
struct Wheel {
    first: u128,
    last: u128,
    now: u128,
}

impl Wheel {
    fn new(first: u128, last: u128) -> Self {
        Self { first, last, now: first }
    }

    fn advance(&mut self) -> bool {
        let wrapped = self.now >= self.last;
        self.now = if wrapped { self.first } else { self.now + 1 };
        wrapped
    }

    fn draw(&mut self, random: &mut Random) {
        self.now = self.first + random.up_to(self.last - self.first);
    }

    fn varies(&self) -> bool {
        self.first != self.last
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): any seed will do, zero included.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `max`, both included; the bias is below one in 2^31 for the sizes of IPv4 and ports.
    fn up_to(&mut self, max: u128) -> u128 {
        if let Some(count) = u64::try_from(max).ok().and_then(|max| max.checked_add(1)) {
            return (u128::from(self.next()) * u128::from(count)) >> 64;
        }
        let wide = u128::from(self.next()) << 64 | u128::from(self.next());
        if max == u128::MAX { wide } else { wide % (max + 1) }
    }
}

fn ip_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mac_bytes(bits: u64) -> [u8; 6] {
    let [_, _, mac @ ..] = bits.to_be_bytes();
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn endpoints(text: &str) -> EndpointRange {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<EndpointRange>().unwrap_err().to_string()
    }

    #[test]
    fn accepted_forms() {
        let v4 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(endpoints("10.0.0.1"), EndpointRange::single(v4("10.0.0.1"), DEFAULT_PORT));
        assert_eq!(endpoints("10.0.0.1:80").first(), (v4("10.0.0.1"), 80));
        assert_eq!(endpoints("10.0.0.1-10.0.0.9").last(), (v4("10.0.0.9"), DEFAULT_PORT));
        assert_eq!(endpoints("10.0.0.1:1-10.0.0.9").last(), (v4("10.0.0.9"), 1));
        assert_eq!(endpoints("10.0.0.1:1-:9").last(), (v4("10.0.0.1"), 9));
        assert_eq!(endpoints("2001:db8::1-2001:db8::ff").last(), (v4("2001:db8::ff"), DEFAULT_PORT));
        assert_eq!(endpoints("[2001:db8::1]-[2001:db8::ff]").count(), 255);
        assert_eq!(endpoints("[2001:db8::1]:1000-[2001:db8::ff]:1010").count(), 255 * 11);
        assert_eq!(endpoints("[::1]:5-:6").count(), 2);
        assert_eq!(endpoints("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").count(), u128::MAX);
    }

    #[test]
    fn errors_name_the_part_and_the_form() {
        assert!(error("10.0.0.1:70000").starts_with("bad port '70000'; accepted: ADDRESS[:PORT]"));
        assert!(error("10.0.0.300").starts_with("bad address '10.0.0.300'"));
        assert!(error("10.0.0.1-10.0.0.x:1").starts_with("bad address '10.0.0.x'"));
        assert!(error("10.0.0.9-10.0.0.1").starts_with("last address below the first '10.0.0.9-10.0.0.1'"));
        assert!(error("10.0.0.1:9-10.0.0.1:1").starts_with("last port below the first '9-1'"));
        assert!(error("10.0.0.1-::1").starts_with("IPv4 and IPv6 in one range"));
        assert!(error("10.0.0.1-10.0.0.2:5").starts_with("last port without a first port"));
        assert!(error("[::g]:1").starts_with("bad IPv6 address '::g'"));
        assert!(error("[::1]x").starts_with("unexpected text after ']' 'x'"));
        assert!(error(":80").starts_with("missing address ':80'"));
        assert!(error("").starts_with("bad address ''"));
        assert!(error("10.0.0.1-").starts_with("bad address ''"));
    }

    #[test]
    fn mac_forms_and_errors() {
        let single: MacRange = "2:0:0:0:0:a".parse().unwrap();
        assert_eq!(single, MacRange::single([2, 0, 0, 0, 0, 10]));
        for bad in ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "02:00:00:00:00:100", "02:00:00:00:00:+1"] {
            let text = bad.parse::<MacRange>().unwrap_err().to_string();
            assert_eq!(text, format!("bad MAC address '{bad}'; accepted: {MAC_FORM}"));
        }
        assert!("02:00:00:00:00:02-02:00:00:00:00:01".parse::<MacRange>().is_err());
    }

    #[test]
    fn random_walk_stays_inside_repeats_by_seed_and_spreads() {
        let range = endpoints("10.0.0.8:100-10.0.0.15:103");
        let draw = |seed| {
            let mut walk = EndpointWalk::new(&range, Order::Random { seed });
            (0..3200)
                .map(|_| {
                    let now = walk.current();
                    assert!(walk.advance());
                    now
                })
                .collect::<Vec<_>>()
        };
        let (one, two) = (draw(1), draw(2));
        assert_eq!(one, draw(1));
        assert_ne!(one, two);
        let mut counts = std::collections::HashMap::new();
        for (address, port) in one {
            assert!(address >= range.first().0 && address <= range.last().0 && (100..=103).contains(&port));
            *counts.entry((address, port)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 32);
        assert!(counts.values().all(|&n| (50..200).contains(&n)), "{counts:?}");
    }

    #[test]
    fn random_reaches_both_ends_of_wide_ranges() {
        let mut random = Random::new(7);
        for max in [0, 1, u128::from(u64::MAX), u128::MAX - 1, u128::MAX] {
            assert!((0..100).all(|_| random.up_to(max) <= max));
        }
        assert!((0..100).any(|_| random.up_to(u128::MAX) > u128::MAX / 2));
        let mut walk = EndpointWalk::new(&EndpointRange::ANY_V4, Order::Random { seed: 0 });
        assert!((0..50).any(|_| {
            walk.advance();
            walk.bits() > 0x8000_0000
        }));
    }

    fn ip_pair(ipv6: bool, base: u64, more: u16) -> (IpAddr, IpAddr) {
        if ipv6 {
            let first = 0x2001_0db8 << 96 | u128::from(base);
            return (Ipv6Addr::from_bits(first).into(), Ipv6Addr::from_bits(first + u128::from(more)).into());
        }
        let first = (base as u32).min(u32::MAX - u32::from(more));
        (Ipv4Addr::from_bits(first).into(), Ipv4Addr::from_bits(first + u32::from(more)).into())
    }

    proptest! {
        #[test]
        fn walk_is_two_nested_loops(ipv6: bool, base: u64, more in 0u16..40, port in 0u16..=65535, ports in 0u16..9) {
            let last_port = port.saturating_add(ports);
            let (first, last) = ip_pair(ipv6, base, more);
            let range = EndpointRange::new((first, port), (last, last_port)).unwrap();
            let mut expected = Vec::new();
            for address in ip_bits(first)..=ip_bits(last) {
                for port in port..=last_port {
                    expected.push((address, port));
                }
            }
            prop_assert_eq!(range.count(), expected.len() as u128);
            let mut walk = EndpointWalk::new(&range, Order::Nested);
            for round in 0..2 {
                for (index, &(address, port)) in expected.iter().enumerate() {
                    let (now, now_port) = walk.current();
                    prop_assert_eq!((ip_bits(now), now.is_ipv6(), now_port), (address, ipv6, port));
                    prop_assert_eq!(walk.advance(), index + 1 == expected.len(), "round {}", round);
                }
            }
        }

        #[test]
        fn text_round_trip(ipv6: bool, base: u64, more: u16, port: u16, last_port: u16, macs: (u32, u16)) {
            let (first, last) = ip_pair(ipv6, base, more);
            let range = EndpointRange::new((first, port.min(last_port)), (last, port.max(last_port))).unwrap();
            prop_assert_eq!(range.to_string().parse::<EndpointRange>(), Ok(range));
            let first = u64::from(macs.0) << 8;
            let range = MacRange { first, last: first + u64::from(macs.1) };
            prop_assert_eq!(range.to_string().parse::<MacRange>(), Ok(range));
        }

        #[test]
        fn mac_walk_is_a_loop(base: u32, more in 0u64..50) {
            let range = MacRange { first: base.into(), last: u64::from(base) + more };
            let mut walk = MacWalk::new(&range);
            for _ in 0..2 {
                for bits in range.first..=range.last {
                    prop_assert_eq!(walk.current(), mac_bytes(bits));
                    prop_assert_eq!(walk.advance(), bits == range.last);
                }
            }
        }

        #[test]
        fn parsers_never_panic(text in "[0-9a-f:.\\[\\]-]{0,40}") {
            let _ = text.parse::<EndpointRange>();
            let _ = text.parse::<MacRange>();
        }
    }
}
