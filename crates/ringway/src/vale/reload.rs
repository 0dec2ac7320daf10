//! Programs of a running switch, replaced by new ones.
//!
//! A program of a generation that is past answers "stale"; the client then opens the pin anew and goes on where it was. So new
//! programs are loaded first, then take the names of the old ones, and only then does the generation move: whoever is
//! told that his program is stale finds the new one. A program that is ahead of the switch runs as well as the current
//! one, so clients that come in between, and a reload that is killed half-way, do no harm.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::layout::info;
use super::module::Code;
use super::{Switch, SwitchPort, objects, pins};
use crate::error::{Error, Result};
use crate::sys::bpffs;

/// A program that is to take the place of a pinned one.
struct Fresh {
    pin: PathBuf,
    program: OwnedFd,
}

impl Fresh {
    /// Where it is pinned until it takes its place.
    fn beside(&self) -> PathBuf {
        let name = self.pin.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        self.pin.with_file_name(format!("~{name}"))
    }
}

impl Switch {
    /// Replaces the programs of all ports by those of this version of Ringway, with the switch's own module, while frames move:
    /// none is lost, none overtakes another. Returns the generation of the new programs.
    ///
    /// Clients open their port's new program by its path when they next send: a process that gave up its right to do so gets
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) then.
    ///
    /// # Errors
    /// When a program can't be loaded or pinned; then all is as it was.
    ///
    /// ```no_run
    /// let switch = ringway::vale::Switch::open("vale0")?;
    /// println!("generation {}", switch.reload()?);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn reload(&self) -> Result<u32> {
        let _lock = self.lock()?;
        let code = self.code()?;
        let generation = self.new_generation();
        let mut fresh = Vec::new();
        for port in self.ports() {
            fresh.extend(self.programs(&port, &code, generation)?);
        }
        self.put_beside(&fresh)?;
        self.put_in_place(&fresh)?;
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

    /// New programs for a port, loaded.
    fn programs(&self, port: &SwitchPort, code: &Code, generation: u32) -> Result<Vec<Fresh>> {
        let on = format!("{}:{}", self.name, port.name);
        let program =
            objects::load(&self.maps, code, self.shape, self.identity(port.number, generation), &on)?;
        Ok(vec![Fresh { pin: pins::port(&self.dir, &port.name).join("send"), program }])
    }

    /// Pins all of them beside those in use, with the same owner and mode; none when one fails.
    fn put_beside(&self, fresh: &[Fresh]) -> Result<()> {
        for (done, f) in fresh.iter().enumerate() {
            if let Err(e) = pin_like(f.program.as_fd(), &f.pin, &f.beside()) {
                fresh[..=done].iter().for_each(|f| _ = fs::remove_file(f.beside()));
                return Err(self.unplaced(&f.pin, e));
            }
        }
        Ok(())
    }

    /// Has them take the names of those in use; the old ones get their names back when one fails.
    fn put_in_place(&self, fresh: &[Fresh]) -> Result<()> {
        let mut old = Vec::new();
        for f in fresh {
            let placed = bpffs::get(&f.pin, true).and_then(|was| {
                fs::rename(f.beside(), &f.pin)?;
                Ok(Fresh { pin: f.pin.clone(), program: was })
            });
            match placed {
                Ok(was) => old.push(was),
                Err(e) => {
                    fresh.iter().for_each(|f| _ = fs::remove_file(f.beside()));
                    for was in old {
                        // A new program that keeps its name for want of a better one serves the port as well.
                        let _ = pin_like(was.program.as_fd(), &was.pin, &was.beside())
                            .and_then(|()| fs::rename(was.beside(), &was.pin));
                    }
                    return Err(self.unplaced(&f.pin, e));
                }
            }
        }
        Ok(())
    }

    fn unplaced(&self, pin: &Path, e: std::io::Error) -> Error {
        Error::io(&self.name, format!("replacing {} failed", pin.display()), e)
            .cure("look at the files beside it; the switch goes on as it was")
    }
}

/// Pins a program at `path` with the owner and mode of the file `like`. What a killed reload left at `path` goes.
fn pin_like(program: std::os::fd::BorrowedFd<'_>, like: &Path, path: &Path) -> std::io::Result<()> {
    let access = fs::metadata(like)?;
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    bpffs::pin(program, path)?;
    chown(path, Some(access.uid()), Some(access.gid()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(access.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use crate::sys::is_root;
    use crate::vale::SwitchSpec;

    /// Sends a frame to all; `to` receives it.
    fn exchange(from: &mut Port, to: &mut Port, mark: u8) {
        let mut frame = [0xff; 60];
        frame[59] = mark;
        assert!(from.tx[0].push(&frame));
        from.tx[0].sync().unwrap();
        to.rx[0].sync().unwrap();
        assert_eq!(to.rx[0].burst(u32::MAX).filter(|f| f.bytes()[59] == mark).count(), 1);
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
        let name = switch.name().to_owned();
        let open = |p: &str| Port::open(&format!("{name}:{p}")).unwrap();
        {
            let (mut a, mut b) = (open("a"), open("b"));
            let killed = switch.new_generation();
            let fresh = switch.programs(&switch.ports()[0], &switch.code().unwrap(), killed).unwrap();
            switch.put_beside(&fresh).unwrap();
            switch.put_in_place(&fresh).unwrap();
            exchange(&mut a, &mut b, 1);
            switch.add_port("c", &crate::vale::PortAccess::default()).unwrap();
            let fresh = switch.programs(&switch.ports()[2], &switch.code().unwrap(), killed).unwrap();
            switch.put_beside(&fresh).unwrap();
            switch.put_in_place(&fresh).unwrap();
            let mut c = open("c");
            exchange(&mut c, &mut b, 2);
            assert!(switch.reload().unwrap() > killed, "a number was given twice");
            exchange(&mut c, &mut a, 3);
            exchange(&mut b, &mut a, 4);
        }
        switch.delete().unwrap();
    }
}
