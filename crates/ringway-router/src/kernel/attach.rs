//! How the programs of members come to their interfaces.

use std::os::fd::AsFd;

use libbpf_rs::{MapCore, MapFlags};
use ringway::probe::Hook;
use ringway::tc::{Stand, Way};
use ringway::{Error, ErrorKind, Result, probe};

use super::member::Member;
use super::path::Path;
use super::program::Identity;
use super::router::{Router, routers};
use super::stages::Stages;
use crate::sys;

impl Router {
    /// Attaches the program of a member, which is entered already, and has all programs know the interface.
    pub(super) fn attach(
        &self,
        of: Identity,
        found: &probe::Interface,
        (path, way): (Path, Way),
        on: &str,
    ) -> Result<()> {
        let tables = self.tables().map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::new(ErrorKind::Unfit, on, "the router has no tables yet")
                .cure("publish some first, or start its control process"),
            _ => e,
        })?;
        check_free(found, path, self.name(), on)?;
        let stages = Stages::find(self.folder.path(), self.cpus, self.name())?;
        let code = self.code(Some(&tables)).timed_by(stages.as_ref());
        let program = code.member(path, of)?;
        let dir = self.place(&found.name);
        ringway::dirs::make_closed_dir(&dir)?;
        // Those by XDP leave packets to the program behind them as soon as they know a member by tc.
        let leaves = |m: &Member| m.path == Path::Xdp && !m.gone && m.number != of.number;
        let members = self.members();
        let behind: Vec<Identity> = match path {
            Path::Tc => members.iter().filter(|m| leaves(m)).map(|m| self.identity(m)).collect(),
            Path::Xdp if members.iter().any(|m| m.path == Path::Tc && !m.gone) => vec![of],
            Path::Xdp => Vec::new(),
        };
        for of in behind {
            let name = members.iter().find(|m| m.number == of.number).map_or(&found.name, |m| &m.name);
            let dir = self.place(name);
            let stand = Stand::ingress(&dir);
            if !stand.is_attached() {
                let program = code.member(Path::Tc, Identity { behind: true, ..of })?;
                stand.attach(program.as_fd(), of.index, way, on)?;
            }
        }
        let put = |map: &str, key: &[u8], value: u32| {
            self.shared
                .get(map)
                .update(key, &value.to_ne_bytes(), MapFlags::ANY)
                .map_err(|e| super::maps::refused(on, "naming the interface to the programs", &e))
        };
        put("nics", &self.nic_key(of.index), of.number)?;
        if path == Path::Tc {
            return Stand::ingress(&dir).attach(program.as_fd(), of.index, way, on);
        }
        put("devs", &of.index.to_ne_bytes(), of.index)?;
        let link = sys::attach_xdp(program.as_fd(), of.index).map_err(|e| not_attached(found, on, e))?;
        sys::pin(link.as_fd(), &dir.join("xdp")).map_err(|e| Error::io(on, "pinning the link failed", e))
    }
}

/// The router whose member by one of these ways an interface is, but for `but`, and how to free it.
fn router_of(found: &probe::Interface, by: &[Path], but: Option<&str>) -> Option<(String, String)> {
    let nic = &found.name;
    let has = |router: &Router| {
        let here = router.check_netns(nic).is_ok();
        let is_it = |m: &Member| !m.gone && m.interface.index == found.index && by.contains(&m.path);
        here && router.members().iter().any(is_it)
    };
    let names = routers().into_iter().filter(|name| but != Some(name));
    let name = names.filter_map(|name| Router::open(&name).ok()).find(has)?.name;
    let cure = format!(
        "`ringway router port del {name}:{nic}` frees it, `ringway router del {name}` all of the router"
    );
    Some((format!("it is a member of router {name}"), cure))
}

/// Refuses an interface whose packets another router or a switch takes, where the kernel would not.
fn check_free(found: &probe::Interface, path: Path, router: &str, on: &str) -> Result<()> {
    let busy = |what: String, cure: String| Err(Error::new(ErrorKind::Busy, on, what).cure(cure));
    // two by XDP the kernel refuses
    let by = if path == Path::Tc { &Path::ALL[..] } else { &[Path::Tc] };
    if let Some((why, cure)) = router_of(found, by, Some(router)) {
        return busy(why, cure);
    }
    let names = found.programs.iter().filter(|p| p.hook != Hook::Egress).filter_map(|p| p.name.as_ref());
    match names.filter(|_| path == Path::Tc).find(|name| name.starts_with("vale_")) {
        Some(name) => busy(
            format!("it is a port of a switch, whose program {name} takes all that comes in"),
            format!(
                "`ringway switch list` shows which; `ringway switch port del SWITCH:{}` frees it",
                found.name
            ),
        ),
        None => Ok(()),
    }
}

/// Whose program an interface has already, and what to do about it.
fn taken(found: &probe::Interface) -> (String, String) {
    let nic = &found.name;
    let program = found.programs.iter().find(|p| p.hook.is_xdp()).and_then(|p| p.name.as_deref());
    let what = format!("another XDP program ({}) is attached to {nic}", program.unwrap_or("unknown"));
    if let Some((why, cure)) = router_of(found, &Path::ALL, None) {
        return (format!("{what}: {why}"), cure);
    }
    if let Some((port, pid)) = found.ports.iter().find(|(port, _)| !port.ends_with('^')) {
        return (format!("{what}: process {pid} has port {port} open"), format!("end process {pid}"));
    }
    let cure = found.programs.iter().find(|p| p.hook.is_xdp()).map(|p| p.removal(nic));
    (what, cure.unwrap_or_else(|| "try again: it is gone now".into()))
}

/// Why a program could not be attached.
fn not_attached(found: &probe::Interface, on: &str, e: std::io::Error) -> Error {
    match e.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            let (what, cure) = taken(found);
            Error::io(on, what, e).cure(cure)
        }
        Some(libc::EOPNOTSUPP) => {
            let driver = if found.driver.is_empty() { String::new() } else { format!(", {},", found.driver) };
            let what = format!("the driver of {}{driver} has no native XDP", found.name);
            Error::io(on, what, e)
                .cure("leave the interface to the kernel: packets still go out by it that way")
        }
        Some(libc::EINVAL | libc::ERANGE) => {
            let what = format!("the driver of {} refuses the program", found.name);
            Error::io(on, what, e)
                .cure("`dmesg` tells why: often an MTU too large for XDP, or too few queues")
        }
        _ => Error::io(on, "attaching the program failed", e).cure_if_denied("run as root"),
    }
}
