//! AF_XDP and AF_PACKET sockets for probing: set up, never used; and the bpf file system.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::fd::check;
use super::mmap::Mmap;
use super::xsk;

/// Descriptors of each ring.
const RING: u32 = 128;

/// Registers `len` bytes of mapped memory in chunks of `size` with a new AF_XDP socket. The memory has to outlive the
/// socket only while frames go through it, which none do.
pub fn umem(mem: &Mmap, len: usize, size: u32) -> io::Result<OwnedFd> {
    let fd = xsk::Xsk::socket()?;
    // SAFETY: plain data; zero is a valid value for each field.
    let mut umem: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
    (umem.addr, umem.len, umem.chunk_size) = (mem.at(0, len).as_ptr() as u64, len as u64, size);
    umem.flags = if size.is_power_of_two() { 0 } else { libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG };
    xsk::set(&fd, libc::XDP_UMEM_REG, &umem)?;
    Ok(fd)
}

/// Gives a socket with memory its rings.
pub fn rings(fd: &OwnedFd) -> io::Result<()> {
    let options =
        [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING];
    options.iter().try_for_each(|o| xsk::set(fd, *o, &RING))
}

/// Limits what one system call sends (Linux 6.17).
pub fn tx_budget(fd: &OwnedFd) -> io::Result<()> {
    xsk::set(fd, xsk::MAX_TX_SKB_BUDGET, &64u32)
}

/// Binds a socket with rings to queue 0 of an interface, in copy mode.
pub fn bind_xdp(fd: &OwnedFd, ifindex: u32, flags: u16) -> io::Result<()> {
    xsk::bind(fd, ifindex, 0, libc::XDP_COPY | flags)
}

/// Binds an AF_XDP socket to a queue of an interface in zero-copy mode, and lets it go. Its memory has no frame, so the
/// driver gets none.
pub fn zero_copy(ifindex: u32, queue: u32) -> io::Result<()> {
    const LEN: usize = 1 << 16;
    let mem = Mmap::anonymous(LEN)?;
    let fd = umem(&mem, LEN, 2048)?;
    rings(&fd)?;
    xsk::bind(&fd, ifindex, queue, libc::XDP_ZEROCOPY | libc::XDP_USE_NEED_WAKEUP)
}

/// A packet socket that receives nothing.
pub fn packet() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed. Protocol 0: nothing is received.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set_packet<T>(fd: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let (value, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as u32);
    // SAFETY: passes a live value and its size.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_PACKET, option, value, len) }).map(drop)
}

/// Puts a virtio-net header, with the state of checksum and segmentation, before each frame.
pub fn vnet_header(fd: &OwnedFd) -> io::Result<()> {
    set_packet(fd, libc::PACKET_VNET_HDR, &1i32)
}

/// Makes and maps a receive ring of version 3.
pub fn packet_ring(fd: &OwnedFd) -> io::Result<()> {
    set_packet(fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as i32))?;
    let (block, blocks, frame) = (1u32 << 16, 2, 2048);
    let ring = libc::tpacket_req3 {
        tp_block_size: block,
        tp_block_nr: blocks,
        tp_frame_size: frame,
        tp_frame_nr: block / frame * blocks,
        tp_retire_blk_tov: 10,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set_packet(fd, libc::PACKET_RX_RING, &ring)?;
    Mmap::shared(fd.as_fd(), (block * blocks) as usize, 0, true).map(drop)
}

/// Shares what arrives among sockets. Bound to the loopback interface and to an ethertype that nobody uses (IEEE 802's
/// first for local experiments), so that it takes no frame.
pub fn fanout(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is plain data, for which zero is a value.
    let mut a: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    a.sll_family = libc::AF_PACKET as u16;
    (a.sll_protocol, a.sll_ifindex) = (0x88b5u16.to_be(), 1);
    let len = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: `a` is `len` bytes and lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const a).cast(), len) })?;
    // Group 0 with this flag: a number that no other group has.
    set_packet(fd, libc::PACKET_FANOUT, &(libc::PACKET_FANOUT_FLAG_UNIQUEID << 16))
}

/// `FSCONFIG_CMD_CREATE` of linux/mount.h.
const FSCONFIG_CMD_CREATE: u32 = 6;

/// Whether the bpf file system is mounted at `path`.
pub fn is_bpffs(path: &std::ffi::CStr) -> bool {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut s: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is NUL-terminated, `s` lives across the call.
    let known = unsafe { libc::statfs(path.as_ptr(), &mut s) } == 0;
    known && s.f_type as u64 == libc::BPF_FS_MAGIC as u64
}

/// Makes a bpf file system that is mounted nowhere and goes away with its descriptor.
pub fn make_bpffs() -> io::Result<()> {
    // SAFETY: a NUL-terminated name.
    let fd = check(unsafe { libc::syscall(libc::SYS_fsopen, c"bpf".as_ptr(), 1u32) } as i32)?;
    // SAFETY: the call just made this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let (none, zero) = (std::ptr::null::<u8>(), 0i32);
    // SAFETY: this command takes no key and no value.
    let made =
        unsafe { libc::syscall(libc::SYS_fsconfig, fd.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, zero) };
    check(made as i32).map(drop)
}
