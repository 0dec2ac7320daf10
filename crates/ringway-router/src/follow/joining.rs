//! How an interface becomes a member: by XDP or by traffic control.

use ringway::probe::Trial;
use ringway::{Error, ErrorKind, Result};
use ringway_fwd::control::State;

use crate::kernel::{Interface, Path, Router, Rpf};

/// `NETDEV_XDP_ACT_NDO_XMIT`.
const TAKES_FRAMES: u64 = 4;

/// Whether what is sent to an interface from XDP would be dropped, as by a veth whose far end does not run NAPI.
pub(super) fn refuses_frames(probe: &ringway::probe::Interface) -> bool {
    probe.far_end_polls() == Some(false)
}

pub(super) fn lacks_sending(features: Option<u64>) -> bool {
    features.is_some_and(|f| f & TAKES_FRAMES == 0)
}

/// Drivers of software interfaces that have XDP, in which traffic control is the faster way: with XDP the hosts behind them cut their
/// super-frames themselves. All other software interfaces have no XDP.
const SOFTWARE: [&str; 3] = ["veth", "tun", "netkit"];

/// The way in which an interface becomes a member, if the user does not say; by XDP that is to be tried.
pub(super) fn path_of(name: &str) -> Path {
    ringway::probe::interface(name).map_or(Path::default(), |probe| chosen(&probe))
}

fn chosen(probe: &ringway::probe::Interface) -> Path {
    // a kernel that does not tell, before Linux 6.3, refuses the program
    let lacks_xdp = probe.xdp_features.is_some_and(|f| f & HAS_XDP == 0);
    if SOFTWARE.contains(&probe.driver.as_str()) || lacks_xdp { Path::Tc } else { Path::Xdp }
}

/// Whether the driver takes no XDP program. A kernel that does not tell, before Linux 6.3, is tried.
fn lacks_xdp(probe: &mut ringway::probe::Interface) -> bool {
    if probe.xdp_features.is_none() {
        probe.try_native();
    }
    matches!(probe.native, Trial::Refused { .. })
}

/// `NETDEV_XDP_ACT_BASIC`.
const HAS_XDP: u64 = 1;

/// Makes an interface a member, by traffic control where XDP is not asked for and not possible.
pub(super) fn attach(
    router: &Router,
    state: &State,
    name: &str,
    (rpf6, path): (Rpf, Option<Path>),
) -> Result<u32> {
    let mut probe = ringway::probe::interface(name)?;
    // of one that is not known yet a message will tell; until then all goes to the host
    let to = Interface::of(state, probe.index, rpf6);
    let way = path.unwrap_or_else(|| chosen(&probe));
    if way == Path::Tc {
        return router.add_member_by(name, &to, Path::Tc);
    }
    if takes_tags(&probe) && path.is_none() && lacks_xdp(&mut probe) {
        return router.add_member_by(name, &to, Path::Tc);
    }
    check_xdp(router, &probe)?;
    match router.add_member_by(name, &to, Path::Xdp) {
        Err(e) if path.is_none() && e.kind() == ErrorKind::Unsupported => {
            router.add_member_by(name, &to, Path::Tc)
        }
        done => done,
    }
}

/// Refuses an interface that the fast path would lose packets of, or mistake them, by XDP.
fn check_xdp(router: &Router, probe: &ringway::probe::Interface) -> Result<()> {
    let name = &probe.name;
    let refuse = |what, cure: &str| {
        let on = format!("{}:{name}", router.name());
        Err(Error::new(ErrorKind::Unsupported, on, what).cure(cure))
    };
    if refuses_frames(probe) {
        return refuse(
            "the far end of the veth does not run NAPI, so it would take no packet from the fast path",
            "`ethtool -K PEER gro on` where the far end is, then add the interface; or leave --path xdp out",
        );
    }
    if takes_tags(probe) {
        return refuse(
            "it takes VLAN tags out of frames before XDP, so packets of VLANs would be taken for its own",
            &format!("`ethtool -K {name} rxvlan off`, then add the interface; or take --path tc"),
        );
    }
    Ok(())
}

/// Whether the interface takes VLAN tags out of frames before XDP sees them.
fn takes_tags(probe: &ringway::probe::Interface) -> bool {
    probe.driver != "veth" && probe.offloads.iter().any(|o| o == "rx-vlan-hw-parse")
}
