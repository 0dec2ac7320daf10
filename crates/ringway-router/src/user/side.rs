//! Which interface is served by which ports.

use std::fmt;
use std::str::FromStr;

use ringway::{Error, ErrorKind, PortName};

/// An interface of the kernel, and the ports that stand for its two sides.
///
/// ```
/// use ringway_router::user::Side;
/// let plain: Side = "eth0".parse()?;
/// assert_eq!((plain.wire.as_str(), plain.host.as_str()), ("auto:eth0", "ebpf:eth0^"));
/// let lan: Side = "h0=vale0:lan".parse()?;
/// assert_eq!((lan.wire.as_str(), lan.host.as_str()), ("vale0:lan", "ebpf:h0^"));
/// assert_eq!("h0=vale0:lan,null:".parse::<Side>()?.host, "null:");
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Name of the interface, which has addresses and routes.
    pub interface: String,
    /// The port whose frames are routed.
    pub wire: String,
    /// The port behind which the kernel's stack is.
    pub host: String,
}

impl FromStr for Side {
    type Err = Error;

    /// `IF`, `IF=PORT` or `IF=PORT,HOSTPORT`. Without ports they are `auto:IF` and `ebpf:IF^`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |what: &str| {
            Error::new(ErrorKind::BadName, text, what)
                .cure("write IF, IF=PORT or IF=PORT,HOSTPORT: eth0, h0=vale0:lan")
        };
        let (interface, ports) =
            text.split_once('=').map_or((text, None), |(name, ports)| (name, Some(ports)));
        if interface.is_empty() || interface.contains([':', '/', ',']) {
            return Err(bad("no interface is named"));
        }
        // the options of ports like tap: have commas too, and name=value behind them
        let pair = ports.and_then(|p| p.rsplit_once(',')).filter(|(_, last)| !last.contains('='));
        let (wire, host) = pair.map_or((ports, None), |(wire, host)| (Some(wire), Some(host)));
        let wire = wire.map_or_else(|| format!("auto:{interface}"), str::to_owned);
        let host = host.map_or_else(|| format!("ebpf:{interface}^"), str::to_owned);
        for port in [&wire, &host] {
            port.parse::<PortName>()?;
        }
        Ok(Self { interface: interface.to_owned(), wire, host })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={},{}", self.interface, self.wire, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_of_ports_are_theirs() {
        let side: Side = "eth0=tap:file=/x,port=ebpf:eth0".parse().unwrap();
        assert_eq!((side.wire.as_str(), side.host.as_str()), ("tap:file=/x,port=ebpf:eth0", "ebpf:eth0^"));
        let both: Side = "eth0=tap:file=/x,port=ebpf:eth0,ebpf:eth0^".parse().unwrap();
        assert_eq!(both, side);
        assert_eq!(both.to_string().parse::<Side>().unwrap(), both);
    }

    #[test]
    fn what_is_no_side() {
        for text in ["", "=ebpf:eth0", "ebpf:eth0", "a,b", "eth0=", "eth0=pipe:x", "eth0=ebpf:eth0,"] {
            let e = text.parse::<Side>().unwrap_err();
            assert_eq!(e.kind(), ErrorKind::BadName, "{text}: {e}");
        }
    }
}
