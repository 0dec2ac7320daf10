//! The sending program of a NIC, run in ways that senders do not.

mod pools;
mod stages;

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use super::NicOptions;
use crate::layout::{info, port};
use crate::test_client::Client;
use crate::{PortAccess, Switch, SwitchSpec, pins};
use ringway_sys::{bpf, bpffs, net};

const XDP_ABORTED: u32 = 0;

fn ip(arguments: &str) {
    let ran = std::process::Command::new("ip").args(arguments.split(' ')).status();
    assert!(ran.unwrap().success(), "ip {arguments}");
}

fn waiting(switch: &Switch) -> u64 {
    switch.stats().iter().map(|s| s.waiting).sum()
}

/// A frame waits for v0; `out` is run in ways that must neither show nor lose it, and then as senders do.
fn misuse(switch: &Switch) {
    let number = switch.add_nic("v0").unwrap();
    switch.add_port("p", &PortAccess::default()).unwrap();
    let path = pins::nics(&pins::port(&switch.dir, "p")).join(pins::out_name(number, None));
    let out = bpffs::get(&path, true).unwrap();
    fs::remove_file(&path).unwrap(); // as if the sender died before it ran the program
    let mut port = Client::open(switch, "p");
    port.send(&[0xff; 60]);
    assert_eq!(waiting(switch), 1);
    let mine = vec![0; 64];
    assert_eq!(bpf::run_program(out.as_fd(), &mine, &mut []).unwrap(), (XDP_ABORTED, mine));
    let other = net::index("v1").unwrap();
    bpf::run_live(out.as_fd(), 64, 10, Some(other)).unwrap();
    assert_eq!(waiting(switch), 1);
    assert!(bpf::run_live(out.as_fd(), 64, 10, None).unwrap());
    assert_eq!(waiting(switch), 0);
    let nic = &switch.stats()[0];
    assert_eq!(nic.counters.rx.frames_out, 1, "{}", nic.counters.rx);
    outlive(switch, number, &out, &mut port);
}

/// The same of the host's side: only runs that seem to come from the NIC serve it.
fn misuse_host(switch: &Switch) {
    switch.add_nic_with("v0", &NicOptions { host: true, ..NicOptions::default() }).unwrap();
    let index = net::index("v0").unwrap();
    let host_stats = || switch.stats().into_iter().find(|s| s.port.host).unwrap();
    switch.add_port("h", &PortAccess::default()).unwrap();
    let path =
        pins::nics(&pins::port(&switch.dir, "h")).join(pins::out_name(host_stats().port.number, Some(index)));
    let out = bpffs::get(&path, true).unwrap();
    fs::remove_file(&path).unwrap();
    let mut port = Client::open(switch, "h");
    port.send(&[0xff; 60]);
    assert_eq!(host_stats().waiting, 1);
    let mine = vec![0; 64];
    assert_eq!(bpf::run_program(out.as_fd(), &mine, &mut []).unwrap(), (XDP_ABORTED, mine));
    for from in [None, Some(net::index("v1").unwrap())] {
        let _ = bpf::run_live(out.as_fd(), 64, 10, from);
        assert_eq!(host_stats().waiting, 1, "{from:?}");
    }
    assert!(bpf::run_live(out.as_fd(), 64, 10, Some(index)).unwrap());
    assert_eq!(host_stats().waiting, 0);
    let rx = host_stats().counters.rx;
    assert!(rx.frames_out == 1 && rx.dropped() == 0, "{rx}");
    switch.del_port("v0", false).unwrap();
    assert!(!switch.ports().iter().any(|p| p.nic.is_some()));
}

/// A user who kept the program of a NIC that is gone can't take frames from the port that got its number.
fn outlive(switch: &Switch, number: u32, out: &OwnedFd, port: &mut Client) {
    // As if who made the host's side was killed before he told the NIC of it.
    switch.make_port("v0^", &PortAccess::default(), port::NIC | port::HOST).unwrap();
    switch.del_port("v0", false).unwrap();
    assert!(switch.ports().iter().all(|p| !p.host), "the host's side stays");
    // As if all other numbers had been given since.
    switch.info.write(info::LATEST, &[number as u8 - 1]);
    assert_eq!(switch.add_port("next", &PortAccess::default()).unwrap(), number);
    let mut next = Client::open(switch, "next");
    let slots = switch.spec().slots;
    // The ring goes round twice: slots that the program gave away too early would be filled again before they are read.
    for n in 0..2 * slots {
        let mut frame = [0xff; 60];
        frame[56..].copy_from_slice(&n.to_ne_bytes());
        port.send(&frame);
        if n == slots {
            bpf::run_live(out.as_fd(), 64, slots, None).unwrap();
        }
    }
    let number = |frame: &Vec<u8>| u32::from_ne_bytes(frame[56..60].try_into().unwrap());
    let got: Vec<u32> = next.receive().iter().map(number).collect();
    assert_eq!(got, (0..slots - 1).collect::<Vec<_>>());
}

#[test]
fn the_sending_program_serves_live_frames_only() {
    if !ringway_sys::is_root() {
        eprintln!("SKIPPED: switches need root");
        return;
    }
    let name = format!("valen{}", std::process::id());
    let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
    let done = net::in_private_netns(|| {
        // The kernel of v1 sends nothing of its own, which the NIC would give to all ports.
        fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
        ip("link add v0 type veth peer name v1");
        ["v0", "v1"].into_iter().for_each(|v| ip(&format!("link set {v} up")));
        let run = || {
            assert!(
                std::process::Command::new("ethtool")
                    .args(["-K", "v1", "gro", "on"])
                    .status()
                    .unwrap()
                    .success()
            )
        };
        run();
        Ok(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            misuse(&switch);
            misuse_host(&switch);
        })))
    });
    switch.delete().unwrap();
    done.unwrap().1.unwrap();
}

/// Whether v0 is promiscuous, as the present namespace has it.
fn promiscuous() -> bool {
    let out = std::process::Command::new("ip").args(["link", "show", "v0"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().contains("PROMISC")
}

#[test]
fn a_namespace_that_nobody_can_find_is_told() {
    if !ringway_sys::is_root() {
        eprintln!("SKIPPED: switches need root");
        return;
    }
    let name = format!("valeh{}", std::process::id());
    let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
    let hide = || {
        ip("link add v0 type veth peer name v1");
        ["v0", "v1"].into_iter().for_each(|v| ip(&format!("link set {v} up")));
        switch.add_nic("v0").unwrap();
        Ok(switch.nics_out_of_reach().len())
    };
    let (netns, from_inside) = net::in_private_netns(hide).unwrap();
    let hidden: Vec<_> = switch.nics_out_of_reach().into_iter().map(|p| p.name).collect();
    let netns = fs::File::from(netns);
    let before = net::in_netns(&netns, || Ok(promiscuous())).unwrap();
    let deleted = net::in_netns(&netns, || {
        let deleted = switch.del_port("v0", false);
        Ok((deleted, promiscuous()))
    });
    switch.delete().unwrap();
    assert_eq!((from_inside, hidden), (0, vec!["v0".to_owned()]));
    let (deleted, after) = deleted.unwrap();
    deleted.unwrap();
    assert!(before && !after, "promiscuous: {before}, then {after}");
}
