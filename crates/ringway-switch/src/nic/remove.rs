//! Interfaces taken from a switch, in whatever state a killed process left them.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

use super::crossing::{self, crossing_stand};
use super::options::NicPath;
use super::shared::{self, Shared};
use crate::admin::port::SwitchPort;
use crate::admin::switch::Switch;
use crate::layout::port;
use crate::pins;
use ringway_nic::tc::Stand;
use ringway_sys::net::{self, Interface};
use ringway_sys::{bpf, bpffs, hold};

impl Switch {
    /// Takes everything off an interface that is a port; does nothing for other ports. What is gone already is no failure:
    /// the interface may be deleted, or another process may have been killed here before.
    pub(crate) fn detach_nic(&self, p: &SwitchPort) {
        let Some(index) = p.nic else { return };
        let dir = pins::port(&self.dir, &p.name);
        if self.is_promiscuous(p)
            && let Some(netns) = net::find_netns(self.nic_word(p.number, port::NETNS))
        {
            let _ = net::in_netns(&netns, || Interface::new(index)?.set_promiscuous(false));
        }
        if let Ok(link) = bpffs::get(&dir.join("xdp"), true) {
            let _ = bpf::detach(link.as_fd());
        }
        let netns = self.nic_word(p.number, port::NETNS);
        Stand::ingress(&dir).detach((netns, index)); // or egress, of a host's side
        crossing_stand(&dir).detach((netns, self.nic_word(p.number, port::CROSSING)));
        let device = self.device_of(p);
        if p.path == Some(NicPath::Tc)
            && let Ok(kept) = hold::held(&dir.join("keep"))
        {
            let _ = crossing::remove(p.number, &kept); // it goes with the namespace
        }
        let _ = hold::let_go(&dir.join("keep"));
        self.hide_out(&pins::out_name(p.number, p.host.then_some(index)));
        if p.host {
            return;
        }
        if let Ok(shared) = Shared::open(&self.dir, &self.name) {
            let place = self.nic_word(p.number, port::PLACE);
            if !shared.clear_interface(p.number, place, device) {
                self.end_counting(&shared);
            }
        }
    }

    /// Interfaces among the ports that would stay promiscuous when they are deleted now, since their network namespace can't be
    /// found. It is neither the present one, nor a process', nor mounted anywhere here.
    ///
    /// ```no_run
    /// let switch = ringway_switch::Switch::open("vale0")?;
    /// for nic in switch.nics_out_of_reach() {
    ///     eprintln!("{}: `ip link set IF promisc off` in its own namespace", nic.name);
    /// }
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    #[must_use]
    pub fn nics_out_of_reach(&self) -> Vec<SwitchPort> {
        let hidden = |p: &SwitchPort| net::find_netns(self.nic_word(p.number, port::NETNS)).is_none();
        self.ports().into_iter().filter(|p| self.is_promiscuous(p) && hidden(p)).collect()
    }

    /// Whether the switch made the interface promiscuous and it still exists: of one that was deleted another may have the index.
    fn is_promiscuous(&self, p: &SwitchPort) -> bool {
        p.nic.is_some() && !p.gone && self.nic_word(p.number, port::PROMISCUOUS) != 0
    }

    /// Whether the interface of a NIC was deleted, as far as the caller can find out.
    pub(crate) fn interface_is_gone(&self, nic: &str, number: u32, path: Option<NicPath>) -> bool {
        if path == Some(NicPath::Tc) {
            return shared::tc_is_gone(&self.dir, number).unwrap_or(false);
        }
        let link = bpffs::get(&pins::port(&self.dir, nic).join("xdp"), true);
        link.and_then(|link| bpf::xdp_lives(link.as_fd())).is_ok_and(|lives| !lives)
    }

    /// A word about a NIC.
    pub(crate) fn nic_word(&self, number: u32, word: usize) -> u32 {
        self.ports.u32(number as usize * port::SIZE + word).load(Relaxed)
    }
}
