//! How long eBPF programs run: the kernel counts while somebody asks it to.

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use libbpf_sys as bpf;

use super::errno::check;
use super::ids::{prog_info, program_by_id};

/// The kernel counts run times as long as this lives. Each run of each program costs two reads of the clock more.
#[derive(Debug)]
pub struct Counting(#[expect(dead_code, reason = "held, not read")] OwnedFd);

impl Counting {
    /// Has the kernel count. Linux 5.8 or later.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN.
    pub fn start() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { bpf::bpf_enable_stats(bpf::BPF_STATS_RUN_TIME) })?;
        // SAFETY: the call just made this descriptor.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

/// What a program has done so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTime {
    /// Its number in the kernel.
    pub id: u32,
    /// Its name, at most 15 characters.
    pub name: String,
    /// Nanoseconds, of the times at which the kernel counted.
    pub ns: u64,
    /// How often it ran in these times.
    pub runs: u64,
}

/// All programs of the machine. One that goes away meanwhile is left out.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN.
pub fn run_times() -> io::Result<Vec<RunTime>> {
    let (mut found, mut id) = (Vec::new(), 0);
    loop {
        let mut next = 0;
        // SAFETY: `next` lives across the call.
        match check(unsafe { bpf::bpf_prog_get_next_id(id, &mut next) }) {
            Ok(_) => id = next,
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(found),
            Err(e) => return Err(e),
        }
        let Ok(info) = program_by_id(id).and_then(|fd| prog_info(fd.as_fd())) else { continue };
        let name = info.name.iter().map(|&c| c as u8 as char).take_while(|&c| c != '\0').collect();
        found.push(RunTime { id, name, ns: info.run_time_ns, runs: info.run_cnt });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_listed_in_order() {
        if !crate::is_root() {
            return eprintln!("SKIP: only root may list eBPF programs; run these tests with sudo");
        }
        let _counting = Counting::start().unwrap();
        let programs = run_times().unwrap();
        assert!(programs.windows(2).all(|pair| pair[0].id < pair[1].id), "{programs:?}");
    }
}
