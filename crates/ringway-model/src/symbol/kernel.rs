//! Names for addresses of the kernel and of eBPF programs.

use super::{Frame, Kind};
use crate::kallsyms::{Found, Kallsyms};
use crate::sample::Function;

/// Functions of the kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    all: Kallsyms,
    /// What came and went while it was sampled, in the order of addresses.
    functions: Vec<Function>,
}

impl Kernel {
    pub(super) fn new(functions: &[Function]) -> Self {
        let mut functions = functions.to_vec();
        functions.sort_by_key(|f| f.address);
        Self { all: Kallsyms::read(), functions }
    }

    /// Whether the kernel hides its addresses.
    pub(super) fn is_hidden(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn find(&self, address: u64) -> Option<Frame> {
        self.transient(address).or_else(|| self.all.find(address).map(frame))
    }

    fn transient(&self, address: u64) -> Option<Frame> {
        let next = self.functions.partition_point(|f| f.address <= address);
        let function = self.functions.get(next.checked_sub(1)?)?;
        let inside = address - function.address < function.len;
        inside.then(|| frame(Found { name: &function.name, module: "bpf", range: (0, 0) }))
    }
}

fn frame(found: Found<'_>) -> Frame {
    let Found { name, module, .. } = found;
    let program = (module == "bpf").then(|| name.strip_prefix("bpf_prog_")).flatten();
    match program {
        Some(rest) => {
            let name = rest.split_once('_').map_or(rest, |(_tag, name)| name);
            Frame { kind: Kind::Bpf, name: format!("bpf:{name}"), file: module.to_owned() }
        }
        None => Frame { kind: Kind::Kernel, name: name.to_owned(), file: module.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_lose_their_tag() {
        let name = |name, module| frame(Found { name, module, range: (0, 0) }).name;
        assert_eq!(name("bpf_prog_0123456789abcdef_vale_send", "bpf"), "bpf:vale_send");
        assert_eq!(name("bpf_prog_0123456789abcdef", "bpf"), "bpf:0123456789abcdef");
        assert_eq!(name("bpf_prog_run", ""), "bpf_prog_run");
        assert_eq!(name("bpf_trampoline_7", "bpf"), "bpf_trampoline_7");
    }

    #[test]
    fn programs_that_are_gone_keep_their_names() {
        let program = Function { address: 100, len: 10, name: "bpf_prog_0_gone".into() };
        let kernel = Kernel { all: Kallsyms::default(), functions: vec![program] };
        assert_eq!(kernel.find(109).unwrap().name, "bpf:gone");
        assert!(kernel.find(110).is_none() && kernel.find(99).is_none() && kernel.is_hidden());
    }
}
