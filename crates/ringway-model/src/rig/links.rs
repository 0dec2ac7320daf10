//! Counts of interfaces.

use std::fs::File;
use std::io::{self, Read, Seek};

use ringway_lab::{Lab, LabError};
use ringway_tester::Fault;

/// The counts of the interfaces of a namespace, read again and again.
#[derive(Debug)]
pub struct Links {
    file: File,
    text: String,
}

/// What an interface has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped, received and sent.
    pub dropped: u64,
}

impl Links {
    /// The interfaces of a lab.
    ///
    /// # Errors
    /// When the kernel does not show them.
    pub fn of(lab: &Lab) -> Result<Self, Fault> {
        // The file belongs to the namespace in which it was opened.
        let open = || Ok::<_, LabError>(File::open("/proc/thread-self/net/dev"));
        let file = lab.run(open)?.map_err(|e| Fault::Failed(format!("/proc/thread-self/net/dev: {e}")))?;
        Ok(Self { file, text: String::new() })
    }

    /// The counts of an interface; `None` when there is no such interface.
    ///
    /// # Errors
    /// What the system said.
    pub fn counts(&mut self, interface: &str) -> io::Result<Option<Counts>> {
        self.text.clear();
        self.file.rewind()?;
        self.file.read_to_string(&mut self.text)?;
        Ok(self.text.lines().find_map(|line| parse(line, interface)))
    }
}

/// A line of `/proc/net/dev`: bytes, packets, errors and drops received in columns 1 to 4, the same sent from column 9 on.
fn parse(line: &str, interface: &str) -> Option<Counts> {
    let numbers = line.trim_start().strip_prefix(interface)?.strip_prefix(':')?;
    let mut numbers = numbers.split_ascii_whitespace().map(|n| n.parse().ok());
    let [received, sent] = [numbers.nth(1)??, numbers.nth(7)??];
    let mut columns = line.split_once(':')?.1.split_ascii_whitespace().map(|n| n.parse::<u64>().unwrap_or(0));
    let dropped = columns.nth(3)? + columns.nth(7)?;
    Some(Counts { received, sent, dropped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_the_whole_name() {
        let line = "    d1:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
        assert_eq!(parse(line, "d1"), Some(Counts { received: 2, sent: 10, dropped: 16 }));
        assert_eq!(parse(line, "d"), None);
        assert_eq!(parse("Inter-|   Receive", "Inter-|"), None);
    }

    #[test]
    fn a_lab_has_counts() {
        let Ok(lab) = Lab::new() else {
            return eprintln!("SKIP: labs need root (namespaces); run these tests with sudo");
        };
        lab.veth("a0", "a1").unwrap();
        let mut links = Links::of(&lab).unwrap();
        assert!(links.counts("a0").unwrap().is_some() && links.counts("eth0").unwrap().is_none());
    }
}
