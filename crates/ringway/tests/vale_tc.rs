//! Members of a switch by tc: containers as they come. Needs root; says so and passes without.
//!
//! Objective: hosts behind plain veths talk through a switch, with super-frames whole and any MTU.
//! They are in several network namespaces, beside members by XDP and ports of programs. All
//! accounts close. Nothing of others is touched, and nothing stays behind, whatever dies when.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ringway::switch::{NicOptions, NicPath, PortConf, Switch, SwitchSpec, VlanMode};
use ringway::{DropReason, ErrorKind};
use ringway_lab::{AnyError, Lab};

use support::containers::{Containers, Ends, address, attach, received};
use support::host::ping;
use support::members::{add, add_by, assert_closed, frame, inside, receive, send, stats};
use support::offload::verify;
use support::switch::Temporary;
use support::tcp::transfer;
use support::{
    LIMIT, Running, assert_clear, assert_detached, child, enter, eventually, new_lab, output, role, whole,
};

#[test]
fn containers_talk_with_super_frames_whole_at_any_mtu() {
    for mtu in [1500, 9000] {
        let Some(net) = Containers::new(2, mtu) else { return };
        let [a, b] = &net.hosts[..] else { unreachable!() };
        assert_eq!(net.switch.find_port("n1").unwrap().path, Some(NicPath::Tc), "veths are members by tc");
        assert_eq!(ping(b, 20, 5000), 20);
        let before = received(b, "eth0");
        transfer(a, b, address(2).into(), 8 << 20);
        let (buffers, frames) = (received(b, "eth0") - before, net.number("n1"));
        assert!(buffers * 2 < frames, "{buffers} buffers of {frames} frames: they were cut on the way");
        transfer(b, a, address(1).into(), 8 << 20);
        assert!(frames > (8 << 20) / u64::from(mtu), "{frames}: each of a super-frame counts");
        assert_closed(&net.switch);
    }
}

#[test]
fn datagrams_in_fragments_ipv6_and_broadcasts_pass() {
    let Some(net) = Containers::new(3, 1500) else { return };
    let [a, b, c] = &net.hosts[..] else { unreachable!() };
    let all = |lab: &Lab, at: &str| {
        inside(lab, || {
            let socket = UdpSocket::bind(at).unwrap();
            socket.set_read_timeout(Some(LIMIT)).unwrap();
            socket.set_broadcast(true).unwrap();
            socket
        })
    };
    let [from, to, also] = [all(a, "10.0.0.1:7"), all(b, "0.0.0.0:7"), all(c, "0.0.0.0:7")];
    let mut buf = vec![0; 1 << 16];
    for len in [1, 1472, 1473, 9000, 60_000] {
        from.send_to(&vec![len as u8; len], "10.0.0.2:7").unwrap();
        assert_eq!(to.recv(&mut buf).unwrap(), len);
        assert!(buf[..len].iter().all(|&byte| byte == len as u8));
    }
    from.send_to(b"to all", "10.0.0.255:7").unwrap();
    for socket in [&to, &also] {
        assert_eq!(socket.recv(&mut buf).unwrap(), 6);
    }
    for (i, host) in (1..).zip(&net.hosts) {
        host.exec("sysctl", &["-q", "net.ipv6.conf.eth0.disable_ipv6=0"]).unwrap();
        host.ip(&format!("addr add fd00::{i}/64 dev eth0 nodad")).unwrap();
    }
    transfer(a, b, "fd00::2".parse().unwrap(), 1 << 20);
    assert_closed(&net.switch);
}

#[test]
fn a_program_gets_super_frames_cut_and_finished() {
    let Some(net) = Containers::new(1, 1500) else { return };
    let mut port = net.switch.open("p");
    let host = &net.hosts[0];
    host.ip("neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev eth0").unwrap();
    send(&mut port, &[frame(0, 9, 60, 1)]);
    let say = || {
        let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
        let size = 1000i32;
        // SAFETY: passes a live value and its size.
        #[allow(unsafe_code, reason = "a system call")]
        let set = unsafe {
            use std::os::fd::AsRawFd;
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_UDP,
                libc::UDP_SEGMENT,
                (&raw const size).cast(),
                4,
            )
        };
        assert_eq!(set, 0);
        socket.send_to(&[9; 20_500], "10.0.0.9:9").unwrap();
        socket.send_to(&[8; 200], "10.0.0.9:9").unwrap();
        Ok::<_, AnyError>(())
    };
    host.run(say).unwrap();
    let mut lengths = Vec::new();
    eventually("all parts arrive", || {
        port.rx[0].sync().unwrap();
        for f in port.rx[0]
            .burst(u32::MAX)
            .map(|f| whole(&f))
            .filter(|f| f[6..12] != [2, 0, 0, 0, 0, 9] && f[23] == 17)
        {
            verify(&f);
            lengths.push(f.len());
        }
        if lengths.len() == 22 { Ok(()) } else { Err(format!("{lengths:?}")) }
    });
    lengths.sort_unstable();
    assert_eq!(lengths[..2], [242, 542]);
    assert!(lengths[2..].iter().all(|&len| len == 1042), "{lengths:?}");
    assert_closed(&net.switch);
}

/// One member by XDP, one by tc, and one by tc in another network namespace.
#[test]
fn members_by_both_ways_and_in_several_namespaces_are_one_switch() {
    let Some(net) = Containers::new(1, 1500) else { return };
    let (Some(second), Some(third), Some(far)) = (new_lab(), new_lab(), new_lab()) else { return };
    attach(&second, &net.middle, 2, 1500);
    second.run_napi("eth0").unwrap();
    add(&net.middle, net.switch.name(), "n2", false).unwrap();
    attach(&third, &far, 3, 1500);
    add_by(&far, net.switch.name(), "n3", NicPath::Tc).unwrap();
    let hosts = [(1, &net.hosts[0]), (2, &second), (3, &third)];
    for (_, from) in hosts {
        for (i, to) in hosts.iter().filter(|(_, to)| !std::ptr::eq(*to, from)) {
            transfer(from, to, address(*i).into(), 1 << 18);
        }
    }
    assert_closed(&net.switch);
    assert_eq!(net.switch.totals(&net.switch.stats()).tx.dropped, 0);
}

#[test]
fn vlans_hold_between_members_by_tc() {
    let Some(net) = Containers::new(3, 1500) else { return };
    let [a, b, c] = &net.hosts[..] else { unreachable!() };
    let access = |vid| PortConf { vlan: VlanMode::Access(vid), ..PortConf::default() };
    for (port, vid) in [("n1", 10), ("n2", 10), ("n3", 20)] {
        net.switch.set_conf(port, &access(vid)).unwrap();
    }
    transfer(a, b, address(2).into(), 1 << 20);
    let refused =
        inside(c, || TcpStream::connect_timeout(&"10.0.0.1:9".parse().unwrap(), Duration::from_millis(300)));
    assert_ne!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused, "n3 reaches nobody");
    for port in ["n1", "n2", "n3"] {
        net.switch.set_conf(port, &PortConf::default()).unwrap();
    }
    transfer(c, a, address(1).into(), 1 << 20);
    assert_closed(&net.switch);
}

/// The child of the next test: adds and removes a member until it is killed.
#[test]
fn adds_and_removes() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let switch = Switch::open(&words[1]).unwrap();
    loop {
        switch.add_nic("n3").unwrap();
        std::fs::write(&words[2], "").unwrap();
        switch.del_port("n3", false).unwrap();
    }
}

#[test]
fn a_killed_maker_leaves_nothing_that_the_next_one_does_not_mend() {
    let Some(net) = Containers::new(2, 1500) else { return };
    let Some(third) = new_lab() else { return };
    attach(&third, &net.middle, 3, 1500);
    let done = std::env::temp_dir().join(net.switch.name());
    for delay in [0, 3, 9, 20, 41, 77, 120, 200] {
        let words = format!("{} {} {}", net.middle.name(), net.switch.name(), done.display());
        let mut maker: Running = child("adds_and_removes", &words);
        eventually("a member is added", || if done.exists() { Ok(()) } else { Err("not yet".into()) });
        thread::sleep(Duration::from_millis(delay));
        assert_eq!(maker.kill(), Some(9));
        std::fs::remove_file(&done).unwrap();
        if net.switch.find_port("n3").is_ok() {
            inside(&net.middle, || net.switch.del_port("n3", false)).unwrap();
        }
        add_by(&net.middle, net.switch.name(), "n3", NicPath::Tc).unwrap();
        transfer(&third, &net.hosts[0], address(1).into(), 1 << 16);
        inside(&net.middle, || net.switch.del_port("n3", false)).unwrap();
    }
    assert_closed(&net.switch);
    inside(&net.middle, || drop(net.switch));
    assert_detached(&net.middle);
    eventually("the crossings are gone", || match output(&net.middle, "ip", &["-br", "link"]) {
        links if links.contains("rw") || links.contains("PROMISC") => Err(links),
        _ => Ok(()),
    });
}

/// Containers come and go under traffic.
#[test]
fn interfaces_that_vanish_leave_accounts_that_close() {
    let Some(net) = Containers::new(1, 1500) else { return };
    let host = &net.hosts[0];
    host.ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:22 dev eth0").unwrap();
    let done = AtomicBool::new(false);
    let socket = inside(host, || UdpSocket::bind("10.0.0.1:0").unwrap());
    thread::scope(|scope| {
        let _ended = Ends(&done);
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let _ = socket.send_to(&[1; 900], "10.0.0.2:9");
            }
        });
        for round in 0..6 {
            // The kernel deletes the interfaces of a namespace a little after it.
            eventually("the last one is gone", || {
                let links = output(&net.middle, "ip", &["-br", "link"]);
                if links.contains("n2@") { Err(links) } else { Ok(()) }
            });
            let guest = new_lab().unwrap();
            attach(&guest, &net.middle, 2, 1500);
            guest.ip("link set eth0 address 02:00:00:00:00:22").unwrap();
            add_by(&net.middle, net.switch.name(), "n2", NicPath::Tc).unwrap();
            eventually("frames come", || {
                if received(&guest, "eth0") > 9 { Ok(()) } else { Err(format!("round {round}")) }
            });
            if round % 2 == 0 {
                drop(guest); // the namespace first
                eventually("the switch sees that", || {
                    if net.switch.find_port("n2").unwrap().gone { Ok(()) } else { Err("there".into()) }
                });
            }
            inside(&net.middle, || net.switch.del_port("n2", false)).unwrap();
        }
    });
    assert_closed(&net.switch);
    let links = output(&net.middle, "ip", &["-br", "link"]);
    assert_eq!(links.matches("rw").count(), 1, "{links}");
}

#[test]
fn a_member_that_is_gone_loses_frames_by_name() {
    let Some(net) = Containers::new(2, 1500) else { return };
    transfer(&net.hosts[0], &net.hosts[1], address(2).into(), 1 << 16);
    net.middle.ip("link del n2").unwrap();
    let socket = inside(&net.hosts[0], || UdpSocket::bind("10.0.0.1:0").unwrap());
    let refused = || stats(&net.switch, "n2").counters.rx.drops(DropReason::DeviceRefused);
    let before = refused();
    (0..10).for_each(|_| _ = socket.send_to(b"?", "10.0.0.2:9"));
    eventually("they are lost by name", || match refused() - before {
        10.. => Ok(()),
        n => Err(format!("{n} of 10")),
    });
    assert_closed(&net.switch);
}

#[test]
fn an_interface_has_one_owner_and_what_others_attached_stays() {
    let Some(net) = Containers::new(1, 1500) else { return };
    let Some(other) = Temporary::new(&SwitchSpec::default()) else { return };
    let (on, member) = (format!("{}:n1", other.name()), format!("{}:n1", net.switch.name()));
    for path in [NicPath::Tc, NicPath::Xdp, NicPath::Auto] {
        let e = add_by(&net.middle, other.name(), "n1", path).unwrap_err();
        assert_clear(&e, ErrorKind::Busy, &on, &format!("ringway switch port del {member}"));
    }
    let host = NicOptions { host: true, path: NicPath::Tc };
    let e = inside(&net.middle, || Switch::open(other.name())?.add_nic_with("n1", &host)).unwrap_err();
    assert_clear(&e, ErrorKind::Unsupported, &on, "leave --path out");
    // Both ends of a veth in one switch, in two network namespaces and in one.
    for (lab, end) in [(&net.hosts[0], "eth0"), (&net.middle, "v2")] {
        if end == "v2" {
            net.middle.ip("link add v1 type veth peer name v2").unwrap();
            net.middle.ip("link set v1 up").unwrap();
            net.middle.ip("link set v2 up").unwrap();
            add_by(&net.middle, net.switch.name(), "v1", NicPath::Auto).unwrap();
        }
        let on = format!("{}:{end}", net.switch.name());
        let e = add_by(lab, net.switch.name(), end, NicPath::Auto).unwrap_err();
        assert_clear(&e, ErrorKind::Unfit, &on, "add one end only");
    }
    inside(&net.middle, || net.switch.del_port("v1", false)).unwrap();
    net.middle.exec("tc", &["qdisc", "add", "dev", "v1", "clsact"]).unwrap();
    let disciplines = || output(&net.middle, "tc", &["qdisc", "show", "dev", "v1"]);
    let before = disciplines();
    let options = NicOptions { path: NicPath::Tc, ..NicOptions::default() };
    for by_clsact in [false, true] {
        inside(&net.middle, || {
            let switch = Switch::open(other.name())?;
            if by_clsact {
                switch.add_nic_by_clsact("v1", &options)
            } else {
                switch.add_nic_with("v1", &options)
            }
        })
        .unwrap();
        inside(&net.middle, || other.del_port("v1", false)).unwrap();
        assert_eq!(disciplines(), before);
    }
}

/// As on kernels without tcx.
#[test]
fn members_by_clsact_pass_all_and_leave_nothing() {
    let Some((a, b)) = new_lab().zip(new_lab()) else { return };
    let (Some(middle), Some(switch)) = (new_lab(), Temporary::new(&SwitchSpec::default())) else { return };
    let options = NicOptions { path: NicPath::Tc, ..NicOptions::default() };
    for (i, host) in [(1, &a), (2, &b)] {
        attach(host, &middle, i, 1500);
        inside(&middle, || Switch::open(switch.name())?.add_nic_by_clsact(&format!("n{i}"), &options))
            .unwrap();
    }
    let mut port = switch.open("p");
    transfer(&a, &b, address(2).into(), 1 << 20);
    switch.reload().unwrap();
    transfer(&b, &a, address(1).into(), 1 << 20);
    send(&mut port, &[frame(0, 9, 60, 1)]);
    port.rx[0].sync().unwrap();
    port.rx[0].burst(u32::MAX).for_each(drop);
    inside(&a, || {
        UdpSocket::bind("10.0.0.1:0")
            .map(|s| s.set_broadcast(true).and_then(|()| s.send_to(b"!", "10.0.0.255:9")))
    })
    .unwrap()
    .unwrap();
    assert_eq!(receive(&mut port, 1)[0].len(), 43);
    drop(port);
    assert_closed(&switch);
    for name in ["n1", "n2"] {
        inside(&middle, || switch.del_port(name, false)).unwrap();
        let left = output(&middle, "tc", &["qdisc", "show", "dev", name]);
        assert!(!left.contains("clsact"), "{left}");
    }
}
