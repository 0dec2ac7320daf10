//! Addresses of the forwarding table, as people write them.

use std::fmt;
use std::str::FromStr;

use ringway_wire::MacAddr;

/// An address, and its VLAN; 0: in none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Station {
    pub(crate) mac: MacAddr,
    pub(crate) vlan: u16,
}

impl FromStr for Station {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (mac, vlan) = text.split_once('@').unwrap_or((text, "0"));
        let vlan = vlan.parse().ok().filter(|v| *v <= 4095 && !vlan.starts_with('+'));
        match (mac.parse(), vlan) {
            (Ok(mac), Some(vlan)) => Ok(Self { mac, vlan }),
            _ => Err("accepted: MAC[@VLAN] such as 02:00:00:00:00:01 or 02:00:00:00:00:01@20".into()),
        }
    }
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mac.fmt(f)?;
        if self.vlan == 0 { Ok(()) } else { write!(f, "@{}", self.vlan) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_read_as_they_are_written() {
        for text in ["02:00:00:00:00:01", "02:00:00:00:00:01@20", "ff:ff:ff:ff:ff:ff@4095"] {
            assert_eq!(text.parse::<Station>().map(|s| s.to_string()).as_deref(), Ok(text));
        }
        for bad in
            ["", "02:00:00:00:00:01@", "02:00:00:00:00:01@4096", "02:00:00:00:00:01@+1", "@1", "2", "a@b"]
        {
            assert!(bad.parse::<Station>().is_err(), "{bad}");
        }
    }
}
