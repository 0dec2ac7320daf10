//! Bytes sent by TCP from one namespace to another, compared by hash.

use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use ringway_lab::{AnyError, Lab};

use super::{LIMIT, Random};

/// Sends `len` bytes from a socket of `from` to `address` in `to`; fails unless the very bytes arrive.
pub(crate) fn transfer(from: &Lab, to: &Lab, address: IpAddr, len: usize) {
    let listener = to.run(|| Ok::<_, AnyError>(TcpListener::bind((address, 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&listener));
        let sent = from.run(|| Ok::<_, AnyError>(send(address, len))).unwrap();
        assert_eq!(receiver.join().unwrap(), sent, "{address}");
        assert_eq!(sent.0, len);
    });
}

fn receive(listener: &TcpListener) -> (usize, u64) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (mut hash, mut total, mut buf) = (DefaultHasher::new(), 0, vec![0; 1 << 16]);
    loop {
        let n = stream.read(&mut buf).unwrap();
        if n == 0 {
            return (total, hash.finish());
        }
        hash.write(&buf[..n]);
        total += n;
    }
}

fn send(to: SocketAddr, len: usize) -> (usize, u64) {
    let mut stream = TcpStream::connect_timeout(&to, LIMIT).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let (mut hash, mut random, mut left) = (DefaultHasher::new(), Random(7), len);
    let mut buf = vec![0; 1 << 16];
    while left > 0 {
        let n = left.min(buf.len());
        buf[..n].chunks_mut(8).for_each(|c| c.copy_from_slice(&random.next().to_le_bytes()[..c.len()]));
        stream.write_all(&buf[..n]).unwrap();
        hash.write(&buf[..n]);
        left -= n;
    }
    stream.shutdown(Shutdown::Write).unwrap();
    (len, hash.finish())
}
