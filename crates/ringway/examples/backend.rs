//! A backend made outside the library: `udp:HERE/THERE`, whose frames travel as datagrams. Sends a frame from one end to the other.

use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ringway::backend::{Parts, Plain, Receive, Room, SentFrames, Transmit};
use ringway::{DropReason, Error, ErrorKind, Port, Result, Waiter, register_backend};

#[derive(Debug)]
struct Tunnel(UdpSocket);

impl Receive for Tunnel {
    fn receive(&mut self, room: &mut Room<'_>) -> Result<()> {
        while let Some(mut slot) = room.next_slot() {
            match self.0.recv(slot.buf()) {
                Ok(len) => slot.send(len),
                Err(_) => break, // nothing more now; the slot stays free
            }
        }
        Ok(())
    }

    fn arm(&mut self) -> Result<bool> {
        Ok(false) // the socket is readable when a datagram comes, asked or not
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transmit for Tunnel {
    fn transmit(&mut self, frames: &mut SentFrames<'_>) -> Result<()> {
        while let Some(frame) = frames.peek() {
            let whole = !frame.is_chained();
            match whole.then(|| self.0.send(frame.bytes())) {
                None => frames.refused(DropReason::TooLong),
                Some(Ok(_)) => frames.sent(),
                Some(Err(_)) => frames.refused(DropReason::DeviceRefused),
            }
        }
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open(rest: &str) -> Result<Parts> {
    let (here, there) = rest.split_once('/').ok_or_else(|| {
        Error::new(ErrorKind::BadName, rest, "no tunnel")
            .cure("write udp:HERE/THERE, e.g. udp:[::1]:7000/[::1]:7001")
    })?;
    let failed = |e| Error::io(format!("udp:{rest}"), "no tunnel", e);
    let socket = UdpSocket::bind(here).map_err(failed)?;
    socket.connect(there).and_then(|()| socket.set_nonblocking(true)).map_err(failed)?;
    let sender = socket.try_clone().map_err(failed)?;
    Ok(Parts::pair(Tunnel(socket), Tunnel(sender), Plain(format!("udp: from {here} to {there}"))))
}

fn main() -> Result<()> {
    register_backend("udp", open)?;
    let mut near = Port::open("udp:127.0.0.1:17040/127.0.0.1:17041")?;
    let mut far = Port::open("udp:127.0.0.1:17041/127.0.0.1:17040")?;
    near.tx[0].push(b"a frame through a tunnel");
    near.tx[0].sync()?;
    Waiter::new(Duration::ZERO)?.wait(&mut [&mut far.rx[0]], Duration::from_secs(10))?;
    let lengths: Vec<usize> = far.rx[0].burst(64).map(|frame| frame.len()).collect();
    println!("{lengths:?} {}; {}", far.info().backend, far.counters().rx);
    Ok(())
}
