//! Texts of users: ports, maps of ports, sides of a router, VLANs, modules, prefixes, next hops, MAC addresses. Each is refused in
//! one line, or means what it prints.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use ringway::switch::{Module, VlanSet};
use ringway::PortName;
use ringway_shim::PortMap;
use ringway_fib::{NextHop, Prefix4, Prefix6};
use ringway_fuzz::one_line;
use ringway_router::user::Side;
use ringway_traffic::number::{bits, count, frames};
use ringway_wire::MacAddr;

fn same<T>(text: &str)
where
    T: FromStr + Display + PartialEq + Debug,
    T::Err: Display,
{
    match text.parse::<T>() {
        Ok(value) => match value.to_string().parse::<T>() {
            Ok(again) => assert_eq!(again, value, "{value}"),
            Err(e) => panic!("{value:?} prints as {value}, which is refused: {e}"),
        },
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match kind % 9 {
        0 | 1 => {
            same::<PortName>(text);
            if let Err(e) = text.parse::<PortName>()
                && !text.contains('\n')
            {
                one_line(&e.to_string());
            }
        }
        2 => {
            let map = PortMap::parse(text);
            assert!(map.entries().count() <= text.split(',').count());
            for (interface, _) in map.entries() {
                assert!(map.port(interface).is_some());
            }
        }
        3 => same::<Side>(text),
        4 => match text.parse::<VlanSet>() {
            Ok(set) => {
                assert!(set.iter().all(|v| (1..=4094).contains(&v) && set.contains(v)));
                assert_eq!(set.to_string().parse::<VlanSet>().ok(), Some(set.clone()), "{set}");
            }
            Err(e) => assert!(!e.to_string().is_empty()),
        },
        5 => same::<Module>(text),
        6 => {
            same::<Prefix4>(text);
            same::<Prefix6>(text);
            same::<NextHop>(text);
        }
        7 => same::<MacAddr>(text),
        _ => {
            for read in [count, bits, frames] {
                match read(text) {
                    Ok(n) => assert_eq!(read(&n.to_string()), Ok(n)),
                    Err(why) => one_line(&why),
                }
            }
        }
    }
});
