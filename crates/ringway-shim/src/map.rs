//! Ports instead of interfaces, for programs that know interfaces only.

use ringway::{PortName, environment};

/// Which port stands for which interface, as `ringway run --map` tells the libraries it puts under a program: in the variable
/// `RINGWAY_MAP`, as `eth0=vale0:p1,eth1=PORT`.
///
/// ```
/// let map = ringway_shim::PortMap::parse("eth0=vale0:p1,lan=null:");
/// assert_eq!(map.port("lan"), Some("null:"));
/// assert_eq!(map.port("eth7"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortMap(Vec<(String, String)>);

impl PortMap {
    /// Reads the text of the variable. Ports around ports have commas in their names: an entry goes on until its port is a whole
    /// name, and further as long as options of that port follow. What never becomes one is kept, so that opening it tells what is wrong; what has no `=` is passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut map: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            match map.last_mut() {
                Some((_, port)) if port.parse::<PortName>().is_err() || goes_on(port, part) => {
                    port.push(',');
                    port.push_str(part);
                }
                _ => map.extend(
                    part.split_once('=').map(|(name, port)| (name.trim().to_owned(), port.trim().to_owned())),
                ),
            }
        }
        Self(map)
    }

    /// What the variable `RINGWAY_MAP` says; empty when it is not set.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::parse(&environment("RINGWAY_MAP").unwrap_or_default().to_string_lossy())
    }

    /// The port that stands for an interface.
    #[must_use]
    pub fn port(&self, interface: &str) -> Option<&str> {
        self.entries().find(|(i, _)| *i == interface).map(|(_, port)| port)
    }

    /// Interfaces and their ports, in the order in which they were named.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(interface, port)| (interface.as_str(), port.as_str()))
    }
}

/// Whether `part` is an option of a port whose name can have more: not what stands for the next interface.
fn goes_on(port: &str, part: &str) -> bool {
    let takes_options = port.contains("memif:") || port.contains("dpdk:");
    let is_port = |value: &str| value.contains(':') && value.parse::<PortName>().is_ok();
    let next = part.split_once('=').is_some_and(|(_, value)| is_port(value));
    takes_options && !next && format!("{port},{part}").parse::<PortName>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_may_have_commas() {
        let map =
            PortMap::parse("eth0=vale0:p1, eth1=fault:drop=1%,seed=3,port=tap:file=a,port=loop:,lan=null:");
        let expected = [
            ("eth0", "vale0:p1"),
            ("eth1", "fault:drop=1%,seed=3,port=tap:file=a,port=loop:"),
            ("lan", "null:"),
        ];
        assert_eq!(map.entries().collect::<Vec<_>>(), expected);
        let map = PortMap::parse(
            "a=memif:@m,id=1,role=client,b=tap:file=f,port=memif:@n,id=2,c=dpdk:net_null0,size=60,d=null:",
        );
        let expected = [
            ("a", "memif:@m,id=1,role=client"),
            ("b", "tap:file=f,port=memif:@n,id=2"),
            ("c", "dpdk:net_null0,size=60"),
            ("d", "null:"),
        ];
        assert_eq!(map.entries().collect::<Vec<_>>(), expected);
        assert_eq!(PortMap::parse("").entries().count(), 0);
        assert_eq!(PortMap::parse("nonsense").entries().count(), 0);
        assert_eq!(PortMap::parse("eth0=nonsense:x,y").port("eth0"), Some("nonsense:x,y"));
    }
}
