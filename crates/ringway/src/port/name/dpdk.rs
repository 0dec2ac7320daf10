//! Names of DPDK's devices: `dpdk:DEVARGS[@queues=N][@mtu=N]`. DPDK reads the devargs, so nothing in them is Ringway's but that an `@`
//! ends them.

use super::parse::{Text, bad};
use super::port_name::PortName;
use crate::error::Result;

/// Queues of each direction at most: rings of one direction.
const MOST_QUEUES: u32 = 64;

/// Bytes of a packet: the least that IPv4 asks for, and the most for which DPDK has a buffer.
const LEAST_MTU: u32 = 68;
const MOST_MTU: u32 = 65_380;

/// Reads `dpdk:DEVARGS`.
pub(crate) fn dpdk(text: &Text<'_>) -> Result<PortName> {
    let mut words = text.rest.split('@');
    let devargs = words.next().unwrap_or_default();
    let refused = |cure| Err(bad(text.whole, cure));
    if !devargs.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return refused("name DPDK's device, e.g. dpdk:net_null0 or dpdk:0000:03:00.0");
    }
    if devargs.contains(char::is_control) || devargs.contains(char::is_whitespace) {
        return refused("arguments of a device have no blanks");
    }
    let (mut queues, mut mtu) = (None, None);
    for word in words {
        let (value, range) = match word.split_once('=') {
            Some(("queues", n)) if queues.is_none() => (&mut queues, (n, 1, MOST_QUEUES)),
            Some(("mtu", n)) if mtu.is_none() => (&mut mtu, (n, LEAST_MTU, MOST_MTU)),
            _ => {
                return refused(
                    "options of a device are @queues=N and @mtu=N, each once; its arguments have no @",
                );
            }
        };
        let (n, least, most) = range;
        match n.parse() {
            Ok(n) if (least..=most).contains(&n) => *value = Some(n),
            _ => return refused("a device has 1 to 64 queues, and an MTU of 68 to 65380 bytes"),
        }
    }
    Ok(PortName::Dpdk { devargs: devargs.to_owned(), queues: queues.unwrap_or(1), mtu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use proptest::prelude::*;

    #[test]
    fn good_names_print_as_written() {
        for n in [
            "dpdk:net_null0",
            "dpdk:0000:03:00.0",
            "dpdk:net_pcap0,rx_pcap=/tmp/a.pcap,tx_pcap=/tmp/b.pcap",
            "dpdk:net_ring0@queues=4",
            "dpdk:bus=pci,addr=03:00.0/class=eth@mtu=9000",
            "dpdk:net_null0,size=64@queues=2@mtu=68",
            "trace:port=dpdk:net_null0,size=64@queues=2",
        ] {
            assert_eq!(n.parse::<PortName>().unwrap().to_string(), n);
        }
        let name = "dpdk:net_null0@mtu=1500@queues=1".parse::<PortName>().unwrap();
        assert_eq!(name.to_string(), "dpdk:net_null0@mtu=1500");
    }

    #[test]
    fn bad_names_say_what_is_expected() {
        for n in [
            "dpdk:",
            "dpdk:,size=64",
            "dpdk:--vdev=net_null0",
            "dpdk:net_null0 size=64",
            "dpdk:net_null0\n",
            "dpdk:net_null0@",
            "dpdk:net_null0@queue=2",
            "dpdk:net_null0@queues=0",
            "dpdk:net_null0@queues=65",
            "dpdk:net_null0@queues=2@queues=2",
            "dpdk:net_null0@mtu=67",
            "dpdk:net_null0@mtu=65381",
            "dpdk:net_null0@queues=2,size=64",
        ] {
            let e = n.parse::<PortName>().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::BadName, "{n}");
            assert!(e.to_string().contains(';'), "no cure: {e}");
        }
    }

    proptest! {
        #[test]
        fn texts_are_names_or_errors(s in "dpdk:[a-z0-9_,=:.@ ]{0,24}(@(queues|mtu)=[0-9]{0,5}){0,3}") {
            if let Ok(n) = s.parse::<PortName>() {
                prop_assert_eq!(n.to_string().parse::<PortName>().unwrap(), n);
            }
        }
    }
}
