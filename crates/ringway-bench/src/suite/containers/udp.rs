//! `udp-small`: small datagrams from one container to the other.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg, setsockopt, sockopt,
};

use super::join::Scene;
use crate::suite::bed::{SENDER, receiver};
use crate::suite::duo::{Control, alone, beside};
use crate::suite::meter::{Meter, WARM_UP};
use crate::suite::{Bed, Fault, Sample};

/// Datagrams of a system call, at most.
pub(super) const BURST: usize = 64;

/// Bytes of a datagram in a frame of 64 with FCS.
const PAYLOAD: usize = 18;

/// Room for what the receiver has not taken yet; ordinary receivers that expect much ask for as much.
const BUFFER: usize = 4 << 20;

const PORT: u16 = 4096;

/// Millions of datagrams a second that the receiver takes.
pub(super) fn delivered(bed: Bed<'_>, scene: &Scene) -> Result<Sample, Fault> {
    let [left, right] = &scene.place.containers;
    let to = scene.place.address(1);
    let time = WARM_UP + Duration::from_secs_f64(bed.seconds);
    let (mpps, ()) = beside(
        Some(right),
        receiver(),
        |control| receive(control, to).map_err(failed),
        || alone(Some(left), SENDER, || send(bed, to, time).map_err(failed)),
    )?;
    if mpps > 0.0 { Ok(Sample::of(mpps)) } else { Err(Fault::Failed("no datagram arrived".into())) }
}

fn send(bed: Bed<'_>, to: Ipv4Addr, time: Duration) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((to, PORT))?;
    let payload = [0; PAYLOAD];
    let (slices, addresses) = ([[IoSlice::new(&payload)]; BURST], [None::<SockaddrIn>; BURST]);
    let mut headers = MultiHeaders::preallocate(BURST, None);
    let no_control: &[ControlMessage<'_>] = &[];
    let end = Instant::now() + time;
    while Instant::now() < end && !bed.signals.stopped() {
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, addresses, no_control, MsgFlags::empty()) {
            Ok(_) | Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Takes what is there and looks again: a receiver that sleeps has the sender wake it, now for each datagram and now for none.
fn receive(control: &Control<'_>, at: Ipv4Addr) -> io::Result<f64> {
    let socket = UdpSocket::bind((at, PORT))?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
    let mut bytes = [[0; 2 * PAYLOAD]; BURST];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BURST, None);
    let mut meter = Meter::default();
    control.ready();
    while !control.stopped() {
        let mut slices = bytes.each_mut().map(|b| [IoSliceMut::new(b)]);
        match recvmmsg(socket.as_raw_fd(), &mut headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
            Ok(datagrams) => meter.add(datagrams.count() as u64),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(meter.mpps())
}

fn failed(e: io::Error) -> Fault {
    Fault::Failed(format!("UDP: {e}"))
}
