//! Metadata that somebody else puts before frames (XDP): programs of a switch use such data among themselves. Needs root; says so and
//! passes without.
//!
//! Objective: no metadata gets a frame into another VLAN, not even with the secrets of the switch, and no frame is lost for it.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use ringway::switch::{PortConf, SwitchSpec, VlanMode};
use ringway_lab::Lab;
use ringway_lab::raw::RawReceiver;

use support::members::{add, assert_closed, frame, inside};
use support::switch::{Temporary, files, look_up, open_object};
use support::{LIMIT, new_lab};

const PROG_LOAD: i64 = 5;
const PROG_TEST_RUN: i64 = 10;
const LIVE_FRAMES: u64 = 2;

fn bpf(command: i64, words: &mut [u64]) -> i64 {
    // SAFETY: `words` holds the attributes of the command, whose pointers outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), size_of_val(words)) };
    assert!(done >= 0, "{}", std::io::Error::last_os_error());
    done
}

/// An XDP program that sends each frame out by an interface.
fn redirect(index: u32) -> OwnedFd {
    const XDP: u64 = 6;
    // r1 = index, r2 = 0, call bpf_redirect, exit
    let code = [0x01b7 | u64::from(index) << 32, 0x02b7, 0x85 | 23 << 32, 0x95];
    let mut words = [0u64; 16];
    words[0] = XDP | (code.len() as u64) << 32;
    words[1] = code.as_ptr() as u64;
    words[2] = c"GPL".as_ptr() as u64;
    let fd = bpf(PROG_LOAD, &mut words);
    // SAFETY: the call made this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Runs a program on live frames with metadata before them, in the namespace.
fn run_live(lab: &Lab, program: &OwnedFd, meta: &[u8], frame: &[u8], count: u64) {
    let data = [meta, frame].concat();
    // `struct xdp_md`: data, data_end, data_meta, interface, queue, interface of egress
    let context = [meta.len() as u32, data.len() as u32, 0, 0, 0, 0];
    let mut words = [0u64; 10];
    words[0] = program.as_raw_fd() as u64;
    words[1] = data.len() as u64;
    words[2] = data.as_ptr() as u64;
    words[4] = count;
    words[5] = size_of_val(&context) as u64;
    words[6] = context.as_ptr() as u64;
    words[8] = LIVE_FRAMES;
    inside(lab, || bpf(PROG_TEST_RUN, &mut words));
}

/// Says of each port, and as a mirror's copy, that the frame is to leave in VLAN 20. `first`: what comes before.
fn forged(first: &[u8], tagged_and_copies: &[u8]) -> Vec<u8> {
    [first, &[0xff; 32], tagged_and_copies, &[0; 16]].concat()
}

/// The directory of a switch.
fn dir(switch: &Temporary) -> PathBuf {
    files(switch.name(), "p").ancestors().nth(2).unwrap().to_owned()
}

/// With the mark that all switches once had, and with the secret of this one, which only root can read.
fn all_forged(switch: &Temporary) -> [Vec<u8>; 2] {
    const SECRETS: usize = 131_072 * 8 + 16 + 256 * 4;
    let secret = &look_up(&dir(switch).join("fdb"), 0, SECRETS + 32)[SECRETS + 16..][..8];
    let (old, tag) = (0x4547_4445u32.to_ne_bytes(), (20u32 << 16 | 0x88b5).to_ne_bytes());
    let old = forged(&[&old[..], &tag, &[7; 8]].concat(), &[1, 0, 0, 0, 0, 0, 0, 0]);
    let new = forged(&[secret, &[7; 8]].concat(), &[&tag[..], &[1, 0, 0, 0]].concat());
    [old, new]
}

/// A switch with a member of VLAN 10 at `access`, and a trunk of VLANs 10 and 20, whose far end this receives.
fn victim(lab: &Lab, access: &str) -> Option<(Temporary, RawReceiver)> {
    let switch = Temporary::new(&SwitchSpec::default())?;
    lab.veth("trunk", "wire").unwrap();
    lab.run_napi("wire").unwrap();
    let trunk = VlanMode::Trunk { allowed: [10, 20].into_iter().collect(), native: None };
    for (name, vlan) in [(access, VlanMode::Access(10)), ("trunk", trunk)] {
        add(lab, switch.name(), name, false).unwrap();
        switch.set_conf(name, &PortConf { vlan, ..PortConf::default() }).unwrap();
    }
    Some((switch, RawReceiver::open(lab, "wire").unwrap()))
}

/// All copies of the frame leave in VLAN 10.
fn expect(wire: &mut RawReceiver, frame: &[u8], count: u64, what: &str) {
    let tagged = [&frame[..12], &[0x81, 0, 0, 10], &frame[12..]].concat();
    for _ in 0..count {
        let got = wire.next(LIMIT).unwrap().unwrap_or_else(|| panic!("{what}: a frame was lost"));
        assert_eq!(got, tagged, "{what}");
    }
}

#[test]
fn a_sender_gets_into_no_other_vlan() {
    let Some(lab) = new_lab() else { return };
    lab.veth("a0", "a1").unwrap();
    let Some((target, mut wire)) = victim(&lab, "a1") else { return };
    let Some(own) = Temporary::new(&SwitchSpec::default()) else { return };
    let number = add(&lab, own.name(), "a0", false).unwrap();
    let path = dir(&own).join(format!("out/{number}"));
    let out = open_object(&path);
    std::fs::remove_file(&path).unwrap(); // so that its sync does not run it
    let mut port = own.open("p");
    for (i, meta) in all_forged(&target).iter().enumerate() {
        for seed in 0..20 {
            let f = frame(0, 1, 200, seed);
            assert!(port.tx[0].push(&f));
            port.tx[0].sync().unwrap();
            run_live(&lab, &out, meta, &[0; 64], 1);
            expect(&mut wire, &f, 1, &format!("forgery {i}"));
        }
    }
    drop(port);
    assert_closed(&own);
    assert_closed(&target);
}

#[test]
fn a_wire_gets_into_no_other_vlan() {
    let Some(lab) = new_lab() else { return };
    lab.veth("a0", "a1").unwrap();
    let Some((target, mut wire)) = victim(&lab, "a1") else { return };
    let index = inside(&lab, || nix::net::if_::if_nametoindex("a0").unwrap());
    let program = redirect(index);
    for (i, meta) in all_forged(&target).iter().enumerate() {
        for (len, count) in [(60, 1), (1400, 1), (60, 50)] {
            let f = frame(0, 1, len, 3);
            run_live(&lab, &program, meta, &f, count);
            expect(&mut wire, &f, count, &format!("forgery {i}, {count} of {len} bytes"));
        }
    }
    assert_closed(&target);
}

/// The same through a switch without features: what comes before a frame does not pass it.
#[test]
fn a_plain_switch_takes_off_what_comes_before_frames() {
    let Some(lab) = new_lab() else { return };
    lab.veth("a0", "a1").unwrap();
    lab.veth("b0", "b1").unwrap();
    let Some((target, mut wire)) = victim(&lab, "b1") else { return };
    let Some(plain) = Temporary::new(&SwitchSpec::default()) else { return };
    for nic in ["a1", "b0"] {
        add(&lab, plain.name(), nic, false).unwrap();
    }
    let program = redirect(inside(&lab, || nix::net::if_::if_nametoindex("a0").unwrap()));
    for (i, meta) in all_forged(&target).iter().enumerate() {
        let f = frame(0, 1, 100, 3);
        for count in [1, 50] {
            run_live(&lab, &program, meta, &f, count);
            expect(&mut wire, &f, count, &format!("forgery {i}"));
        }
    }
    assert_closed(&plain);
    assert_closed(&target);
}
