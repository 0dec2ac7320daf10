//! Capabilities that packet I/O uses, and errors that name the missing ones.

use super::rights;
use crate::error::{Error, ErrorKind, Result};

/// Capabilities that packet I/O asks for, with their numbers (linux/capability.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cap {
    /// Gives files away.
    Chown = 0,
    /// Opens files of others, and changes their directories.
    DacOverride = 1,
    /// Changes interfaces, attaches programs to them.
    NetAdmin = 12,
    /// Packet sockets, promiscuous mode.
    NetRaw = 13,
    /// Memory beyond the limit.
    IpcLock = 14,
    /// Network namespaces and mounts, objects of the kernel by their numbers.
    SysAdmin = 21,
    /// Programs that calculate with pointers, or see what the kernel does.
    Perfmon = 38,
    /// Programs and maps.
    Bpf = 39,
}

impl Cap {
    /// As capabilities(7) has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chown => "CAP_CHOWN",
            Self::DacOverride => "CAP_DAC_OVERRIDE",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }

    /// Whether a set has it. `CAP_SYS_ADMIN` includes what was split off it in Linux 5.8.
    #[must_use]
    pub fn is_in(self, set: u64) -> bool {
        let bit = |cap: Self| set & (1 << cap as u8) != 0;
        bit(self) || (matches!(self, Self::Bpf | Self::Perfmon) && bit(Self::SysAdmin))
    }
}

/// Names with a word between them.
#[must_use]
pub fn names(caps: &[Cap], between: &str) -> String {
    caps.iter().map(|c| c.name()).collect::<Vec<_>>().join(between)
}

/// How root of a container or a service gets capabilities that were taken from it.
#[must_use]
pub fn grant_to_root(caps: &[Cap]) -> String {
    let short: Vec<&str> = caps.iter().map(|c| &c.name()["CAP_".len()..]).collect();
    format!(
        "give the container or service {}: docker run --cap-add={}, or systemd's CapabilityBoundingSet=",
        names(caps, ", "),
        short.join(" --cap-add=")
    )
}

/// Fails when the process lacks any of these, which `what` needs; the error names all that it lacks. Without a word of the kernel it
/// succeeds: the kernel checks again.
///
/// # Errors
/// [`ErrorKind::Denied`].
pub fn need(needed: &[Cap], what: &str, on: &str) -> Result<()> {
    let lacking = lacking(needed);
    if lacking.is_empty() {
        return Ok(());
    }
    let what = format!("{what} is not permitted without {}", names(&lacking, " and "));
    Err(Error::new(ErrorKind::Denied, on, what).cure(cure(&lacking)))
}

/// The cure where the kernel refused for want of rights: it names what the process lacks of `needed`.
#[must_use]
pub fn cure_of_denial(needed: &[Cap]) -> String {
    match lacking(needed) {
        none if none.is_empty() => {
            "run as root, outside user namespaces; `ringway doctor` shows whether a seccomp filter denies it"
                .into()
        }
        lacking => cure(&lacking),
    }
}

fn lacking(needed: &[Cap]) -> Vec<Cap> {
    let Ok(set) = rights::capabilities() else { return Vec::new() };
    needed.iter().copied().filter(|c| !c.is_in(set)).collect()
}

fn cure(lacking: &[Cap]) -> String {
    if super::is_root() {
        return grant_to_root(lacking);
    }
    format!("run as root, or with {}", names(lacking, " and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_capability_includes_those_split_off() {
        let admin = 1 << Cap::SysAdmin as u8;
        assert!(Cap::Bpf.is_in(admin) && Cap::Perfmon.is_in(admin) && Cap::SysAdmin.is_in(admin));
        assert!(!Cap::NetAdmin.is_in(admin) && !Cap::SysAdmin.is_in(1 << Cap::Bpf as u8));
    }

    #[test]
    fn root_of_a_container_gets_words_for_its_runtime() {
        let cure = grant_to_root(&[Cap::Bpf, Cap::NetAdmin]);
        assert!(cure.starts_with("give the container or service CAP_BPF, CAP_NET_ADMIN: "), "{cure}");
        assert!(cure.contains("docker run --cap-add=BPF --cap-add=NET_ADMIN, "), "{cure}");
    }

    #[test]
    fn a_thread_with_less_gets_all_names_at_once() {
        use std::os::unix::process::CommandExt;
        if std::env::var_os("RINGWAY_TEST_LESS").is_some() {
            let e = need(&[Cap::NetRaw, Cap::Bpf, Cap::NetAdmin], "it", "a0").expect_err("there is nothing");
            assert_eq!(e.kind(), ErrorKind::Denied);
            return println!("SAYS {e}");
        }
        let mut again = std::process::Command::new(std::env::current_exe().expect("there is a test program"));
        again
            .args(["a_thread_with_less_gets_all_names_at_once", "--nocapture"])
            .env("RINGWAY_TEST_LESS", "1");
        // SAFETY: between fork and exec the job makes system calls alone, which take numbers: nothing allocates or locks.
        unsafe {
            again.pre_exec(|| {
                for cap in [Cap::NetRaw, Cap::Bpf, Cap::SysAdmin] {
                    libc::prctl(libc::PR_CAPBSET_DROP, cap as libc::c_ulong, 0, 0, 0);
                }
                Ok(())
            });
        }
        if !crate::is_root() {
            return eprintln!("SKIP: root alone can take capabilities from a process");
        }
        let said = again.output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line =
            "SAYS a0: it is not permitted without CAP_NET_RAW and CAP_BPF; give the container or service";
        assert!(said.contains(line), "{said}");
    }
}
