//! Functions of the kernel by address, from /proc/kallsyms: its own, modules', and eBPF programs'.

use std::fs;

/// Functions in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct Kallsyms {
    symbols: Vec<Symbol>,
    /// All names, one behind the other.
    names: String,
}

#[derive(Debug, Clone, Copy)]
struct Symbol {
    address: u64,
    name: u32,
    len: u16,
    /// Length of the module's name, which follows the function's; 0 for the kernel itself.
    module: u16,
}

/// A function as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub(crate) name: &'a str,
    /// `bpf`, a module, or nothing.
    pub(crate) module: &'a str,
    /// Its first byte, and the first byte of the next function.
    pub(crate) range: (u64, u64),
}

impl Kallsyms {
    /// What the kernel shows this process. Empty when it hides addresses.
    pub(crate) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            all.add(line);
        }
        // Of several names of one address the one with the fewest underscores in front counts, then the first.
        let (names, symbols) = (&all.names, &mut all.symbols);
        let underscores =
            |s: &Symbol| names[s.name as usize..][..s.len.into()].bytes().take_while(|&b| b == b'_').count();
        symbols.sort_by_key(|s| (s.address, underscores(s)));
        symbols.dedup_by_key(|s| s.address);
        all
    }

    /// A line: address, type, name, and the module in brackets.
    fn add(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let module = words.next().map_or("", |m| m.trim_matches(['[', ']']));
        let address = u64::from_str_radix(address, 16).unwrap_or(0);
        let lens = (u16::try_from(name.len()), u16::try_from(module.len()));
        let (Ok(len), Ok(module_len), Ok(at)) = (lens.0, lens.1, u32::try_from(self.names.len())) else {
            return;
        };
        if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
            self.symbols.push(Symbol { address, name: at, len, module: module_len });
            self.names += name;
            self.names += module;
        }
    }

    /// Whether the kernel hides addresses, or has no such file.
    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The function with an address.
    pub(crate) fn find(&self, address: u64) -> Option<Found<'_>> {
        let next = self.symbols.partition_point(|s| s.address <= address);
        let end = self.symbols.get(next).map_or(u64::MAX, |s| s.address);
        self.found(self.symbols.get(next.checked_sub(1)?)?, end)
    }

    fn found(&self, s: &Symbol, end: u64) -> Option<Found<'_>> {
        let (name, module) = self.names.get(s.name as usize..)?.split_at_checked(s.len.into())?;
        Some(Found { name, module: module.get(..s.module.into())?, range: (s.address, end) })
    }

    /// The functions of eBPF programs, which may go away.
    pub(crate) fn programs(&self) -> impl Iterator<Item = Found<'_>> {
        let pairs = self.symbols.iter().enumerate();
        let end = |n: usize| self.symbols.get(n + 1).map_or(u64::MAX, |s| s.address);
        pairs.filter_map(move |(n, s)| self.found(s, end(n))).filter(|f| f.module == "bpf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\nffffffff81000000 T first\nffffffff81000100 t ip_rcv\nffffffff81000100 t __ip_rcv\n\
        ffffffff81000180 D data\nffffffffc0000000 t veth_xmit\t[veth]\nffffffffc0100000 t bpf_prog_0123456789abcdef_rx\t[bpf]\n";

    #[test]
    fn functions_are_found_by_address() {
        let all = Kallsyms::parse(TEXT);
        let name = |address| all.find(address).map(|f| (f.name, f.module));
        assert_eq!(name(0xffff_ffff_8100_0000), Some(("first", "")));
        assert_eq!(name(0xffff_ffff_8100_01ff), Some(("ip_rcv", "")), "data are no functions");
        assert_eq!(name(0xffff_ffff_c000_0004), Some(("veth_xmit", "veth")));
        assert_eq!(name(5), None);
        assert_eq!(all.programs().map(|f| f.name).collect::<Vec<_>>(), ["bpf_prog_0123456789abcdef_rx"]);
    }

    #[test]
    fn hidden_addresses_are_no_addresses() {
        assert!(Kallsyms::parse("0000000000000000 T _text\n0000000000000000 t ip_rcv\n\n x\n").is_empty());
    }
}
