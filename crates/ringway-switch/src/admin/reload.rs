//! Programs of a running switch, replaced by new ones.
//!
//! A program of a past generation answers "stale". The client then opens the pin again and goes on where it was. So a reload first
//! loads new programs, then puts them where the old ones were, and only then moves the generation. So a client whose program is
//! stale finds the new one. A program that is ahead of the switch runs as well as the current one. So clients that come in
//! between do no harm, nor does a reload that is killed half-way.
//!
//! Programs of NICs know no generation. Old and new ones may run at once: all that they remember is in maps.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::access::PortAccess;
use super::attach_point::{AttachPoint, NewProgram};
use super::code::Code;
use super::load::{self, Identity};
use super::port::SwitchPort;
use super::switch::Switch;
use crate::layout::info;
use crate::nic::RetiredLink;
use crate::pins;
use ringway_sys::bpffs;
use ringway_sys::capability::Cap;
use ringway_sys::error::{Error, Result};

impl Switch {
    /// Replaces the programs of all ports by programs of this version of Ringway, with the switch's own module, while frames
    /// move: none is lost, none overtakes another. Returns the generation of the new programs.
    ///
    /// Clients open their port's new program by its path when they next send: a process that gave up its right to do so gets
    /// [`ErrorKind::Denied`](ringway_sys::ErrorKind::Denied) then. NICs may be of any network namespace; one whose interface was
    /// deleted stays as it is. The program that puts tags on frames that leave by a NIC stays where the NIC's namespace can't be
    /// found. Such a namespace is neither the present one, nor a process', nor mounted.
    ///
    /// # Errors
    /// When a program can't be loaded, pinned or attached; then all is as it was.
    ///
    /// ```no_run
    /// let switch = ringway_switch::Switch::open("vale0")?;
    /// println!("generation {}", switch.reload()?);
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    pub fn reload(&self) -> Result<u32> {
        let _lock = self.lock()?;
        let code = self.code()?;
        let generation = self.new_generation();
        let ports = self.ports();
        self.need_to_change(&ports, &[Cap::Bpf, Cap::Perfmon], "reloading the programs")?;
        let mut fresh = self.new_senders(&ports, &code, generation)?;
        for port in &ports {
            fresh.extend(self.new_programs_of(port, generation)?);
        }
        fresh.extend(self.new_counter(generation)?);
        let _old = self.keep_outs_attached(&ports)?;
        self.prepare_all(&fresh)?;
        self.install_all(&fresh)?;
        self.info.u32(info::GENERATION).store(generation, Release);
        Ok(generation)
    }

    /// A number that no program of the switch has, nor one of a reload that was killed.
    pub(super) fn new_generation(&self) -> u32 {
        let (now, prepared) = (self.info.u32(info::GENERATION), self.info.u32(info::PREPARED));
        let ahead = prepared.load(Relaxed).wrapping_sub(now.load(Relaxed)) as i32;
        let new = now.load(Relaxed).wrapping_add(ahead.max(0) as u32 + 1);
        prepared.store(new, Relaxed);
        new
    }

    /// The new program that takes what users of ports send, loaded, for the pins of the switch and of each port. With a user's
    /// module each port gets one of its own.
    fn new_senders(&self, ports: &[SwitchPort], code: &Code, generation: u32) -> Result<Vec<NewProgram>> {
        let load = |of, on: &str| load::load_send(&self.maps, code, self.shape, of, on);
        let of_port =
            |port: &SwitchPort| AttachPoint::Pin(pins::send(&pins::port(&self.dir, &port.name)), port.access);
        if code.is_of_user() {
            let own = |port: &SwitchPort| {
                let of = Identity { generation, ..self.identity(port.number) };
                Ok(NewProgram { point: of_port(port), program: load(of, &self.full_name(port))? })
            };
            return ports.iter().map(own).collect();
        }
        let send = load(Identity::of_all(generation), &self.name)?;
        let of_switch = AttachPoint::Pin(pins::send(&self.dir), PortAccess::of_root());
        let same = |point| {
            let program = send.try_clone().map_err(|e| Error::io(&self.name, "dup failed", e))?;
            Ok(NewProgram { point, program })
        };
        [of_switch].into_iter().chain(ports.iter().map(of_port)).map(same).collect()
    }

    fn full_name(&self, port: &SwitchPort) -> String {
        format!("{}:{}", self.name, port.name)
    }

    /// New programs of a port alone, loaded.
    fn new_programs_of(&self, port: &SwitchPort, generation: u32) -> Result<Vec<NewProgram>> {
        let on = self.full_name(port);
        let identity = Identity { generation, ..self.identity(port.number) };
        let look = load::load_look(&self.maps, self.shape, identity, &on)?;
        let point = AttachPoint::Pin(pins::port(&self.dir, &port.name).join("look"), port.access);
        let mut all = vec![NewProgram { point, program: look }];
        if port.nic.is_some() {
            all.extend(self.nic_programs(port, generation, &on)?);
        }
        Ok(all)
    }

    /// Keeps the `out` programs in use attached after they are replaced. Each run of one that is attached nowhere takes 20 ms, and
    /// clients run them until their port's program answers "stale".
    fn keep_outs_attached(&self, ports: &[SwitchPort]) -> Result<Vec<RetiredLink>> {
        let of = |p: &SwitchPort| p.nic.map(|index| self.out_file(p.number, p.host.then_some(index)));
        let outs = ports.iter().filter_map(of);
        let hold = |pin: &PathBuf| RetiredLink::attach(bpffs::get(pin, true)?.as_fd());
        outs.filter(|pin| pin.exists())
            .map(|pin| hold(&pin).map_err(|e| self.install_failed(&pin, e)))
            .collect()
    }

    /// Pins all of them beside those in use; none when one fails.
    fn prepare_all(&self, fresh: &[NewProgram]) -> Result<()> {
        for (done, f) in fresh.iter().enumerate() {
            if let Err(e) = f.point.prepare(f.program.as_fd()) {
                fresh[..=done].iter().for_each(|f| f.point.drop_prepared());
                return Err(self.install_failed(f.point.path(), e));
            }
        }
        Ok(())
    }

    /// Has them take the places of those in use; the old ones get their places back when one fails.
    fn install_all(&self, fresh: &[NewProgram]) -> Result<()> {
        let mut old = Vec::new();
        for f in fresh {
            let placed = f.point.program().and_then(|was| {
                f.point.install(f.program.as_fd(), was.as_fd())?;
                Ok((f, was))
            });
            match placed {
                Ok(was) => old.push(was),
                Err(e) => {
                    fresh.iter().for_each(|f| f.point.drop_prepared());
                    for (f, was) in old {
                        // A new program that keeps its place for want of a better one serves the port as well.
                        let _ = f
                            .point
                            .prepare(was.as_fd())
                            .and_then(|()| f.point.install(was.as_fd(), f.program.as_fd()));
                    }
                    return Err(self.install_failed(f.point.path(), e));
                }
            }
        }
        Ok(())
    }

    fn install_failed(&self, pin: &Path, e: io::Error) -> Error {
        Error::io(&self.name, format!("replacing {} failed", pin.display()), e)
            .cure("look at the files beside it; the switch goes on as it was")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_client::Client;
    use crate::{PortAccess, SwitchSpec};
    use ringway_sys::is_root;

    /// Sends a frame to all; `to` receives it.
    fn exchange(from: &mut Client, to: &mut Client, mark: u8) {
        let mut frame = [0xff; 60];
        frame[59] = mark;
        from.send(&frame);
        assert_eq!(to.receive().iter().filter(|f| f[59] == mark).count(), 1);
    }

    /// A reload that was killed before it moved the generation, then one that runs to its end.
    #[test]
    fn programs_ahead_of_the_switch_run() {
        if !is_root() {
            eprintln!("SKIPPED: switches need root");
            return;
        }
        let switch =
            Switch::create(&format!("vale-k{}", std::process::id() % 1_000_000), &SwitchSpec::default())
                .unwrap();
        {
            let open = |port: &str| {
                switch.add_port(port, &PortAccess::default()).unwrap();
                Client::open(&switch, port)
            };
            let (mut a, mut b) = (open("a"), open("b"));
            let killed = switch.new_generation();
            let place = |port: usize| {
                let port = &switch.ports()[port..=port];
                let mut fresh = switch.new_senders(port, &switch.code().unwrap(), killed).unwrap();
                fresh.extend(switch.new_programs_of(&port[0], killed).unwrap());
                switch.prepare_all(&fresh).unwrap();
                switch.install_all(&fresh).unwrap();
            };
            place(0);
            exchange(&mut a, &mut b, 1);
            let mut c = open("c");
            place(2);
            exchange(&mut c, &mut b, 2);
            assert!(switch.reload().unwrap() > killed, "a number was given twice");
            exchange(&mut c, &mut a, 3);
            exchange(&mut b, &mut a, 4);
        }
        switch.delete().unwrap();
    }
}
