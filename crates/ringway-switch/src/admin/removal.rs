//! Ports that go away. Wherever the process is killed that removes one, programs lose it and its counts are kept once.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread;

use libbpf_rs::{MapCore, MapHandle};

use super::switch::Switch;
use crate::layout::{PORTS_MAX, RINGS_MAX, info, port as at};
use crate::secrets::Ticket;
use ringway_sys::dir_lock::Locks;

impl Switch {
    /// Takes a port out of all that programs look at, and keeps what it counted. Should this process be killed on the way, the
    /// next one that changes the switch finishes what is left, and removes the files.
    pub(crate) fn forget_port(&self, number: u32) {
        self.finish_removals();
        if self.mark_removing(number) {
            self.finish_removal(number);
        } else {
            self.set_identity(number, self.identity(number).epoch, Ticket::default());
            self.hide_port(number);
            self.flush_port(number);
        }
    }

    /// Has a port go; false when there is none of that number.
    fn mark_removing(&self, number: u32) -> bool {
        let flags = self.flags(number).load(Relaxed);
        if flags & at::EXISTS == 0 {
            return false;
        }
        self.clear_last_retired();
        let was_nic = if flags & at::NIC != 0 { at::WAS_NIC } else { 0 };
        self.flags(number).store(at::REMOVING | was_nic, Release);
        true
    }

    pub(super) fn finish_removals(&self) {
        self.removing().for_each(|(number, _)| self.finish_removal(number));
    }

    /// What is to be done for a port that is going. Another process may have done any part of it; only adding the counts must
    /// not be done twice.
    fn finish_removal(&self, number: u32) {
        let was_nic = self.flags(number).load(Relaxed) & at::WAS_NIC != 0;
        // A user who kept its ticket or its program can do nothing with it, also when another port gets the number.
        self.set_identity(number, self.identity(number).epoch.wrapping_add(1), Ticket::default());
        if let Some(place) = self.port_list().iter().position(|&p| u32::from(p) == number) {
            self.info.write(info::PORTS + place, &[0]);
        }
        self.mark_gone(number);
        self.hide_rings(number);
        let flags = if was_nic { at::NIC } else { 0 };
        let port = self.describe(number, self.name_of(number), flags, &Locks::default());
        if let Some(stats) = self.stats_of(port).filter(|_| !self.is_last_retired(number)) {
            self.retire_counts(&stats);
        }
        if was_nic {
            self.clear_nic(number);
        }
        delete(&self.maps.states, number);
        self.reset_conf(number);
        self.flush_port(number);
        self.flags(number).store(0, Release);
    }

    /// Takes a port's maps away from programs.
    pub(super) fn hide_port(&self, number: u32) {
        self.hide_rings(number);
        delete(&self.maps.states, number);
    }

    /// The same without its state: programs that find no region count no more.
    fn hide_rings(&self, number: u32) {
        thread::scope(|s| {
            s.spawn(|| (0..self.shape.rings).for_each(|r| delete(&self.maps.bells, number * RINGS_MAX + r)));
            delete(&self.maps.regions, number);
        });
    }

    /// Ports of which a process was killed while it took them away, and their flags.
    pub(super) fn removing(&self) -> impl Iterator<Item = (u32, u32)> {
        let all = (1..=PORTS_MAX).map(|n| (n, self.flags(n).load(Relaxed)));
        all.filter(|(_, flags)| flags & at::REMOVING != 0)
    }
}

/// Takes a map out of a map of maps, if there is one.
fn delete(outer: &MapHandle, key: u32) {
    let _ = outer.delete(&key.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::test_client::Client;
    use crate::{PortAccess, SwitchSpec, SwitchTotals};

    /// Two ports exchange frames; then a process is killed when it has done `steps` of removing the first.
    fn killed_after(steps: u32, switch: &Switch, name: &str) {
        let number = switch.add_port(name, &PortAccess::default()).unwrap();
        for (from, frames) in [(name, 7), ("stays", 5)] {
            let mut client = Client::open(switch, from);
            (0..frames).for_each(|_| client.send(&[0xff; 60]));
        }
        // Any process that changes the switch finishes a removal without a lock.
        let _lock = switch.lock().unwrap();
        assert!(switch.mark_removing(number));
        if steps >= 1 {
            switch.hide_rings(number);
            // Half of the new sums.
            (0..3).for_each(|i| switch.ports.u64(other_sums(switch) + 8 * i).store(u64::MAX / 3, Relaxed));
        }
        if steps >= 2 {
            let gone = switch.describe(number, name.into(), 0, &Locks::default());
            switch.retire_counts(&switch.stats_of(gone).unwrap());
        }
        if steps >= 3 {
            switch.flags(number).store(0, Relaxed);
        }
    }

    /// Where the sums are that are not valid.
    fn other_sums(switch: &Switch) -> usize {
        use crate::layout::retired;
        retired::SUMS[(switch.ports.u64(retired::VALID).load(Relaxed) & 1 ^ 1) as usize]
    }

    #[test]
    fn counts_of_a_port_are_kept_once_wherever_its_remover_is_killed() {
        if !ringway_sys::is_root() {
            eprintln!("SKIPPED: switches need root");
            return;
        }
        let name = format!("valeg{}", std::process::id());
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        switch.add_port("stays", &PortAccess::default()).unwrap();
        let mut seen = Vec::new();
        for (done, steps) in (1..).zip([0, 1, 2, 3, 0, 2]) {
            killed_after(steps, &switch, &format!("p{steps}"));
            let next = Switch::open(&name).unwrap();
            let left = fs::read_dir(next.dir.join("port")).unwrap().count();
            seen.push((done, steps, next.totals(&next.stats()), next.ports().len(), left));
        }
        // A port that goes while another one is half gone.
        let (a, b) = ("both-a", "both-b");
        switch.add_port(b, &PortAccess::default()).unwrap();
        killed_after(2, &switch, a);
        let last = switch.del_port(b, false).map(|()| switch.totals(&switch.stats()));
        switch.delete().unwrap();
        for (done, steps, all, ports, left) in seen {
            assert_eq!((ports, left), (1, 1), "killed after {steps}");
            check(&all, 12 * done, &format!("killed after {steps}"));
        }
        check(&last.unwrap(), 12 * 7, "two at once");
    }

    fn check(all: &SwitchTotals, sent: u64, when: &str) {
        assert_eq!(all.tx.frames_in, sent, "{when}: {all:?}");
        assert_eq!(all.tx.frames_in, all.tx.frames_out + all.tx.dropped, "{when}: {all:?}");
        assert_eq!(all.copies, all.rx.frames_in, "{when}: {all:?}");
    }
}
