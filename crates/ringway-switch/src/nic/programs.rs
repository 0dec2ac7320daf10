//! The programs of a NIC: loaded, shown to senders, kept attached.

use std::fs::{self};
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{MapCore, MapHandle, OpenObject};
use ringway_bpf::Record;
use ringway_bpf::layout::nic::nic_config;

use super::crossing::crossing_stand;
use super::edge::Entries;
use super::shared::{COUNTING, Shared};
use crate::admin::attach_point::{AttachPoint, NewProgram};
use crate::admin::code::Code;
use crate::admin::load::{self, Identity};
use crate::admin::maps::Maps;
use crate::admin::port::SwitchPort;
use crate::admin::switch::Switch;
use crate::layout::port;
use crate::nic::NicPath;
use crate::pins;
use ringway_nic::pools::most_in_window;
use ringway_nic::tc::Stand;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::libbpf::refused;
use ringway_sys::{bpf, bpffs};

/// In the directory of the switch: the link of the program that has what drivers took counted.
const TAKEN: &str = "taken";

/// There too: the link of the program that sees pools of pages wait.
pub(super) const RELEASED: &str = "released";

/// The programs of a NIC.
pub(super) struct Programs {
    pub(super) wire: OwnedFd,
    pub(super) out: OwnedFd,
    pub(super) edge: OwnedFd,
    /// Between the interface and the stack.
    pub(super) between: OwnedFd,
    /// At the outer end of the crossing, of a member by tc.
    pub(super) cross: Option<OwnedFd>,
}

impl Switch {
    /// Loads the programs of the NIC that is port `number`, for a member by tc or by XDP.
    pub(super) fn load_nic(
        &self,
        shared: &Shared,
        (number, by_tc): (u32, bool),
        generation: u32,
        on: &str,
    ) -> Result<Programs> {
        if by_tc {
            let names = ["vale_wire", "vale_out", "vale_edge", "vale_skb", "vale_cross"];
            let [wire, out, edge, between, cross] = self.load_of(shared, number, generation, names, on)?;
            return Ok(Programs { wire, out, edge, between, cross: Some(cross) });
        }
        let names = ["vale_wire", "vale_out", "vale_edge", "vale_in"];
        let [wire, out, edge, between] = self.load_of(shared, number, generation, names, on)?;
        Ok(Programs { wire, out, edge, between, cross: None })
    }

    /// Loads programs of the port `number`, a NIC or the host's side of one.
    pub(super) fn load_of<const N: usize>(
        &self,
        shared: &Shared,
        number: u32,
        generation: u32,
        names: [&str; N],
        on: &str,
    ) -> Result<[OwnedFd; N]> {
        let config = load::config(&self.maps, self.shape, Identity { generation, ..self.identity(number) });
        let flags = self.nic_word(number, port::SOFTWARE);
        let own = Record::new(nic_config::SIZE)
            .with_u32(nic_config::IFINDEX, self.nic_word(number, port::IFINDEX))
            .with_u32(nic_config::NETNS, self.nic_word(number, port::NETNS))
            .with_u32(nic_config::SOFTWARE, flags & 1)
            .with_u32(nic_config::CUT, flags >> port::CUT_SHIFT)
            .with_u32(nic_config::MOST_POOLS, most_in_window())
            .into_bytes();
        self.load_some(shared, names, &config, &own, on)
    }

    /// Loads the program that counts for all NICs, and the one that is attached and calls it.
    fn load_counters(&self, shared: &Shared, generation: u32, on: &str) -> Result<[OwnedFd; 2]> {
        let config = load::config(&self.maps, self.shape, Identity { generation, ..Identity::default() });
        self.load_some(shared, ["vale_count", "vale_taken"], &config, &[0; nic_config::SIZE], on)
    }

    /// Loads programs of the object, with their constants and the maps of the switch.
    fn load_some<const N: usize>(
        &self,
        shared: &Shared,
        names: [&str; N],
        config: &[u8],
        own: &[u8],
        on: &str,
    ) -> Result<[OwnedFd; N]> {
        let code = self.code()?;
        let maps: Vec<_> = self.maps.named().into_iter().chain(shared.named()).collect();
        let mut open = prepared(&code, &maps, config, own, on)?;
        for mut p in open.progs_mut() {
            let wanted = names.iter().any(|n| p.name() == *n);
            p.set_autoload(wanted);
        }
        let loaded = load::load_code(open, &code, on)?;
        let program = |name: &str| {
            let missing = || {
                Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program")
                    .cure("rebuild Ringway")
            };
            let program = loaded.progs().find(|p| p.name() == name).ok_or_else(missing)?;
            program.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))
        };
        let all: Vec<OwnedFd> = names.iter().map(|n| program(n)).collect::<Result<_>>()?;
        Ok(all.try_into().expect("one for each name"))
    }

    /// Counts what drivers take from now on, if that is not done for another NIC already.
    pub(super) fn count_taken(&self, shared: &Shared, generation: u32, on: &str) -> Result<()> {
        let pin = self.dir.join(TAKEN);
        if pin.exists() {
            return Ok(());
        }
        let failed =
            |e| Error::io(on, "attaching the program that counts failed", e).cure_if_denied("run as root");
        let [count, taken] = self.load_counters(shared, generation, on)?;
        bpf::put_program(shared.counting.as_fd(), count.as_fd()).map_err(failed)?;
        let link = bpf::raw_tracepoint(taken.as_fd()).map_err(failed)?;
        bpffs::pin(link.as_fd(), &pin).map_err(failed)
    }

    /// Sees pools of pages wait from now on, by a program of this version. A change of programs misses a few looks of the kernel,
    /// which looks again a second later.
    pub(super) fn watch_pools(&self, shared: &Shared, generation: u32, on: &str) -> Result<()> {
        let failed = |e| {
            Error::io(on, "attaching the program that sees pools of pages wait failed", e)
                .cure_if_denied("run as root")
        };
        let config = load::config(&self.maps, self.shape, Identity { generation, ..Identity::default() });
        let [program] = self.load_some(shared, ["vale_released"], &config, &[0; nic_config::SIZE], on)?;
        let link = bpf::raw_tracepoint(program.as_fd()).map_err(failed)?;
        let pin = self.dir.join(RELEASED);
        let _ = fs::remove_file(&pin);
        bpffs::pin(link.as_fd(), &pin).map_err(failed)
    }

    /// Counts no more.
    pub(super) fn end_counting(&self, shared: &Shared) {
        let _ = fs::remove_file(self.dir.join(RELEASED));
        let _ = fs::remove_file(self.dir.join(TAKEN));
        let _ = shared.counting.delete(&0u32.to_ne_bytes());
    }

    /// A new program that counts for all NICs, and its place; none when the switch has no NIC. The one that sees pools wait is
    /// replaced at once.
    pub(crate) fn new_counter(&self, generation: u32) -> Result<Option<NewProgram>> {
        if !self.dir.join(TAKEN).exists() {
            return Ok(None);
        }
        let shared = Shared::open(&self.dir, &self.name)?;
        self.watch_pools(&shared, generation, &self.name)?;
        let [program, _] = self.load_counters(&shared, generation, &self.name)?;
        Ok(Some(NewProgram { point: AttachPoint::Entry(self.dir.join(COUNTING)), program }))
    }

    /// New programs for a NIC or the host's side of one, and their places. A program that the NIC lacks is left out: its maker was
    /// killed before.
    pub(crate) fn nic_programs(&self, of: &SwitchPort, generation: u32, on: &str) -> Result<Vec<NewProgram>> {
        let dir = pins::port(&self.dir, &of.name);
        let shared = Shared::open(&self.dir, on)?;
        let mut all = Vec::new();
        let out = match of.nic.filter(|_| of.host) {
            Some(index) => {
                let names = ["vale_host", "vale_inject"];
                let [host, inject] = self.load_of(&shared, of.number, generation, names, on)?;
                all.push(tc_program(Stand::egress(&dir), host));
                all.extend(self.new_outs(&pins::out_name(of.number, Some(index)), &inject, on)?);
                inject
            }
            None => {
                let which = (of.number, of.path == Some(NicPath::Tc));
                let Programs { wire, out, edge, between, cross } =
                    self.load_nic(&shared, which, generation, on)?;
                let entries = Entries {
                    switch: self.name.clone(),
                    dir: self.dir.clone(),
                    of: (of.number, self.nic_word(of.number, port::PLACE)),
                    netns: self.device_of(of).0,
                };
                if entries.are_in_reach() {
                    all.push(NewProgram {
                        point: AttachPoint::Entries(self.dir.clone(), entries),
                        program: edge,
                    });
                }
                all.push(NewProgram { point: AttachPoint::Link(dir.join("xdp")), program: wire });
                all.push(tc_program(Stand::ingress(&dir), between));
                all.extend(cross.map(|cross| tc_program(crossing_stand(&dir), cross)));
                all.extend(self.new_outs(&pins::out_name(of.number, None), &out, on)?);
                out
            }
        };
        all.insert(0, NewProgram { point: AttachPoint::Link(dir.join("out")), program: out });
        Ok(all.into_iter().filter(|f| f.point.path().exists()).collect())
    }
}

/// The object with its constants and its maps, as far as there are some.
fn prepared(
    code: &Code,
    maps: &[(&str, &MapHandle)],
    config: &[u8],
    own: &[u8],
    on: &str,
) -> Result<OpenObject> {
    let prepare = |e: libbpf_rs::Error| refused(on, "preparing the programs of a NIC", &e);
    let mut open = load::open_object(code, &ringway_bpf::NIC, on)?;
    for mut m in open.maps_mut() {
        let name = m.name().to_string_lossy().into_owned();
        if name == ".rodata.nic" {
            m.set_initial_value(own).map_err(prepare)?;
        } else if name.ends_with(".rodata") {
            load::put_config(&mut m, config);
        } else if let Some((_, map)) = maps.iter().find(|(n, _)| *n == name) {
            m.reuse_fd(map.as_fd()).map_err(prepare)?;
        }
    }
    if let Code::Custom(c) = code {
        c.share_maps(&mut open, &load::OWN).map_err(prepare)?;
    }
    Ok(open)
}

/// Loads all programs of the object, for no interface: whether the kernel takes them.
pub(crate) fn try_load(maps: &Maps, code: &Code, config: &[u8], on: &str) -> Result<()> {
    let open = prepared(code, &maps.named(), config, &[0; nic_config::SIZE], on)?;
    load::load_code(open, code, on).map(drop)
}

/// A program of tc, for the place where its link lies, or the array that a filter jumps to.
fn tc_program(at: Stand<'_>, program: OwnedFd) -> NewProgram {
    NewProgram { point: at.array().map_or_else(|| AttachPoint::Link(at.link()), AttachPoint::Entry), program }
}
