//! What the process may do, and why a system call was refused.

use std::fs;

use super::Check;
use ringway_sys::capability::{Cap, grant_to_root, names};
use ringway_sys::rights;

/// Effective capabilities of the calling thread, bit `n` for number `n`; none where the kernel can't say.
///
/// Source: capget(2).
#[must_use]
pub fn capabilities() -> u64 {
    rights::capabilities().unwrap_or(0)
}

/// The capabilities that ports use.
const USED: [Cap; 5] = [Cap::NetRaw, Cap::NetAdmin, Cap::Bpf, Cap::Perfmon, Cap::SysAdmin];

/// Privileges and limits of the process, and of the machine towards it.
///
/// Source: capabilities(7), getrlimit(2), seccomp(2), kernel_lockdown(7), user_namespaces(7),
/// Documentation/admin-guide/sysctl/{kernel,net}.rst.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rights {
    /// Effective user id.
    pub euid: u32,
    /// Effective capabilities, bit `n` for number `n`.
    pub capabilities: u64,
    /// Most bytes that may be locked in memory; `None` is no limit.
    pub locked_memory: Option<u64>,
    /// Most open descriptors; `None` is no limit.
    pub open_files: Option<u64>,
    /// Whether a seccomp filter is on.
    pub seccomp: bool,
    /// Whether the process lives in a user namespace, whose capabilities mean nothing to eBPF.
    pub user_namespace: bool,
    /// `kernel.unprivileged_bpf_disabled`.
    pub unprivileged_bpf_disabled: Option<u32>,
    /// `net.core.bpf_jit_enable`; only the first network namespace shows it.
    pub bpf_jit: Option<u32>,
    /// Lockdown mode in force: `none`, `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
}

/// Bytes that the memory of one `xdp:` port may need; with less to lock it might be refused.
const UMEM: u64 = 16 << 20;

/// Descriptors that a port with many queues may need.
const FILES: u64 = 256;

impl Rights {
    /// Asks the kernel.
    #[must_use]
    pub fn of_process() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let number = |path: &str| read(path)?.trim().parse().ok();
        Self {
            euid: ringway_sys::effective_user(),
            capabilities: capabilities(),
            locked_memory: rights::locked_memory(),
            open_files: rights::open_files(),
            seccomp: read("/proc/thread-self/status").is_some_and(|s| seccomp(&s)),
            user_namespace: read("/proc/self/uid_map").is_some_and(|m| !whole_map(&m)),
            unprivileged_bpf_disabled: number("/proc/sys/kernel/unprivileged_bpf_disabled"),
            bpf_jit: number("/proc/sys/net/core/bpf_jit_enable"),
            lockdown: read("/sys/kernel/security/lockdown").and_then(|s| lockdown(&s)),
        }
    }

    /// Whether the process has the capability.
    pub(super) fn has(&self, cap: Cap) -> bool {
        cap.is_in(self.capabilities)
    }

    /// How the user gets these capabilities. setcap replaces what a file has, so there all that Ringway uses are
    /// named at once.
    fn grant(&self, caps: &[Cap]) -> String {
        if self.euid == 0 {
            return grant_to_root(caps);
        }
        let program = std::env::current_exe().map_or("PROGRAM".into(), |p| p.display().to_string());
        format!("run as root, or `sudo setcap {}+ep {program}`", names(&USED, ",").to_lowercase())
    }

    /// Why a call that needs `caps` failed with EPERM or EACCES, and the cure.
    pub(super) fn denied(&self, call: &str, caps: &[Cap]) -> (String, String) {
        let lacking: Vec<Cap> = caps.iter().copied().filter(|c| !self.has(*c)).collect();
        if !lacking.is_empty() {
            return (format!("not permitted without {}", names(&lacking, " and ")), self.grant(&lacking));
        }
        if self.seccomp {
            return filtered(call);
        }
        if self.user_namespace {
            let what = "not permitted: the process has its capabilities in a user namespace only";
            return (
                what.to_owned(),
                "run as root outside user namespaces, not in a rootless container".into(),
            );
        }
        if self.lockdown.as_deref().is_some_and(|l| l != "none") {
            let cure = "boot without `lockdown=` (or with secure boot off)";
            return ("not permitted: the kernel is locked down".into(), cure.into());
        }
        (
            "not permitted, with all capabilities in place: a security module denies it".into(),
            "see `dmesg | grep -i denied` and allow it in SELinux or AppArmor".into(),
        )
    }

    /// The findings on these.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let mut all = vec![self.user()];
        all.extend([
            self.capability(Cap::NetRaw, "cap-net-raw", "CAP_NET_RAW: AF_XDP and AF_PACKET sockets"),
            self.capability(Cap::NetAdmin, "cap-net-admin", "CAP_NET_ADMIN: attach to interfaces"),
            self.capability(Cap::Bpf, "cap-bpf", "CAP_BPF: load eBPF programs"),
            self.capability(Cap::Perfmon, "cap-perfmon", "CAP_PERFMON: count what interfaces refuse"),
            self.capability(Cap::SysAdmin, "cap-sys-admin", "CAP_SYS_ADMIN: private network namespaces"),
        ]);
        all.extend([self.memlock(), self.nofile(), self.unprivileged(), self.jit()]);
        all.extend([self.seccomp(), self.locked_down()]);
        all
    }

    fn user(&self) -> Check {
        let check = Check::new("user", "user");
        match (self.euid, self.user_namespace) {
            (0, false) => check.ok("root"),
            (id, false) => check.ok(format!("user id {id}: what follows depends on its capabilities")),
            (id, true) => check.warn(
                format!("user id {id} in a user namespace: its capabilities mean nothing to eBPF"),
                "run as root outside user namespaces, not in a rootless container",
            ),
        }
    }

    fn capability(&self, cap: Cap, id: &'static str, what: &'static str) -> Check {
        let check = Check::new(id, what);
        if self.has(cap) { check.ok("") } else { check.missing("the process lacks it", self.grant(&[cap])) }
    }

    fn memlock(&self) -> Check {
        let check = Check::new("memlock", "locked memory (AF_XDP buffers count)");
        match self.locked_memory {
            _ if self.has(Cap::IpcLock) => check.ok("no limit with CAP_IPC_LOCK"),
            None => check.ok("no limit"),
            Some(n) if n >= UMEM => check.ok(format!("up to {} MiB", n >> 20)),
            Some(n) => check.warn(format!("only {} KiB", n >> 10), RAISE_MEMLOCK),
        }
    }

    fn nofile(&self) -> Check {
        let check = Check::new("nofile", "open descriptors");
        match self.open_files {
            Some(n) if n < FILES => {
                check.warn(format!("only {n}"), "`ulimit -n 1024`, or LimitNOFILE=1024 in the systemd unit")
            }
            Some(n) => check.ok(format!("up to {n}")),
            None => check.ok("no limit"),
        }
    }

    fn unprivileged(&self) -> Check {
        let check = Check::new("unprivileged-bpf", "kernel.unprivileged_bpf_disabled");
        match self.unprivileged_bpf_disabled {
            Some(0) => check.warn(
                "0: any user may load some eBPF programs; Ringway has no use for that",
                "`sysctl -w kernel.unprivileged_bpf_disabled=2`",
            ),
            Some(n) => check.ok(format!("{n}: eBPF is for processes with CAP_BPF")),
            None => check.ok("not shown"),
        }
    }

    fn jit(&self) -> Check {
        let check = Check::new("bpf-jit", "net.core.bpf_jit_enable");
        match self.bpf_jit {
            Some(0) => check.warn(
                "0: the kernel interprets eBPF programs, and refuses the programs of ebpf: ports, switches and routers",
                "`sysctl -w net.core.bpf_jit_enable=1`",
            ),
            Some(n) => check.ok(n.to_string()),
            None => check.ok("not shown in this network namespace"),
        }
    }

    fn seccomp(&self) -> Check {
        let what =
            if self.seccomp { "a filter is on; `bpf-call` tells whether it denies bpf(2)" } else { "off" };
        Check::new("seccomp", "seccomp").ok(what)
    }

    fn locked_down(&self) -> Check {
        let check = Check::new("lockdown", "kernel lockdown");
        match self.lockdown.as_deref() {
            None => check.ok("not built in, or not shown"),
            Some("confidentiality") => check.warn(
                "confidentiality: programs that read kernel memory are denied, so frames that an interface refuses \
                 may go uncounted",
                "boot with `lockdown=integrity`",
            ),
            Some(mode) => check.ok(mode.to_owned()),
        }
    }
}

/// The cure for too little of it.
pub(super) const RAISE_MEMLOCK: &str = "`ulimit -l unlimited`, LimitMEMLOCK=infinity in the systemd unit, docker run \
                             --ulimit memlock=-1, or CAP_IPC_LOCK";

/// The refusal of a system call by a filter, and its cure.
pub(super) fn filtered(call: &str) -> (String, String) {
    (
        format!("a seccomp filter denies {call}"),
        format!(
            "allow {call} in the filter: docker run --security-opt seccomp=PROFILE, or systemd's SystemCallFilter= \
             and RestrictAddressFamilies="
        ),
    )
}

/// Whether /proc/PID/status tells of a seccomp filter (proc_pid_status(5)).
fn seccomp(status: &str) -> bool {
    status.lines().find_map(|l| l.strip_prefix("Seccomp:")).is_some_and(|mode| mode.trim() == "2")
}

/// Whether /proc/PID/uid_map maps all ids to themselves, as outside user namespaces.
fn whole_map(map: &str) -> bool {
    let words: Vec<&str> = map.split_whitespace().collect();
    words == ["0", "0", "4294967295"]
}

/// The mode in brackets: `none [integrity] confidentiality`.
fn lockdown(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::Status;
    use crate::feature::Feature;

    fn root() -> Rights {
        Rights { capabilities: u64::MAX, ..Rights::default() }
    }

    const FEATURE: Feature = Feature {
        id: "x",
        what: "x",
        call: "bpf(2)",
        caps: &[Cap::Bpf, Cap::NetAdmin],
        kernel: "newer kernel",
    };

    fn judged(rights: &Rights, code: i32) -> (String, String) {
        let c = FEATURE.judge(rights, Err(io::Error::from_raw_os_error(code)));
        assert_eq!(c.status, Status::Missing);
        (c.detail.into_owned(), c.cure.unwrap().into_owned())
    }

    #[test]
    fn status_and_maps_are_read() {
        assert!(seccomp("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!seccomp("Name:\tSeccomp:\nSeccomp:\t0\n"));
        assert!(!seccomp(""));
        assert!(whole_map("         0          0 4294967295\n"));
        assert!(!whole_map("         0       1000          1\n"));
        assert_eq!(lockdown("none [integrity] confidentiality\n").as_deref(), Some("integrity"));
        assert_eq!(lockdown("none"), None);
    }

    #[test]
    fn a_refusal_is_told_by_its_cause() {
        let user = Rights { euid: 1000, ..Rights::default() };
        let (why, cure) = judged(&user, libc::EPERM);
        assert_eq!(why, "not permitted without CAP_BPF and CAP_NET_ADMIN");
        assert!(cure.starts_with("run as root, or `sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_sys_admin+ep /"), "{cure}");
        let container = Rights { capabilities: 1 << Cap::NetAdmin as u8, ..Rights::default() };
        assert!(
            judged(&container, libc::EPERM).1.contains("--cap-add=BPF,"),
            "{:?}",
            judged(&container, libc::EPERM)
        );
        let filter = Rights { seccomp: true, ..root() };
        assert_eq!(judged(&filter, libc::EPERM).0, "a seccomp filter denies bpf(2)");
        assert_eq!(judged(&filter, libc::ENOSYS).0, "a seccomp filter denies bpf(2)");
        let rootless = Rights { user_namespace: true, ..root() };
        assert!(judged(&rootless, libc::EPERM).1.contains("rootless container"));
        let locked = Rights { lockdown: Some("integrity".into()), ..root() };
        assert!(judged(&locked, libc::EPERM).0.contains("locked down"));
        assert!(judged(&root(), libc::EPERM).0.contains("security module"));
        assert!(judged(&root(), libc::ENOBUFS).1.contains("ulimit -l"));
        assert_eq!(judged(&root(), libc::EINVAL).1, "newer kernel");
    }

    #[test]
    fn capabilities_that_include_others() {
        let admin = Rights { capabilities: 1 << Cap::SysAdmin as u8, ..Rights::default() };
        assert!(admin.has(Cap::Bpf) && admin.has(Cap::Perfmon) && !admin.has(Cap::NetAdmin));
    }

    #[test]
    fn all_that_is_not_well_has_a_cure() {
        let poor = Rights {
            euid: 1000,
            locked_memory: Some(65536),
            open_files: Some(64),
            unprivileged_bpf_disabled: Some(0),
            bpf_jit: Some(0),
            lockdown: Some("confidentiality".into()),
            user_namespace: true,
            ..Rights::default()
        };
        let checks = poor.checks();
        for c in &checks {
            assert_eq!(c.status == Status::Ok, c.cure.is_none(), "{c:?}");
        }
        assert_eq!(checks.iter().filter(|c| c.status != Status::Ok).count(), 11);
        assert!(root().checks().iter().all(|c| c.status == Status::Ok));
    }

    #[test]
    fn the_process_has_rights() {
        let r = Rights::of_process();
        assert_eq!(r.euid == 0, ringway_sys::is_root());
        assert!(r.open_files.is_none_or(|n| n > 0));
    }
}
