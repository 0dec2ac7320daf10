//! What eBPF, sockets and file systems of this kernel do, tried without any interface.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_sys as bpf;

use super::Check;
use super::feature::Feature;
use super::kernel_features::{
    ARRAY, BPFFS, CALL, LOOP, MEMFD, PACKET_RING, PACKET_SOCKET, PACKET_VNET, PROGRAMS, RINGBUF, SYSCALL,
    TAKEN, TYPES, XDP_PROGRAM, XDP_SOCKET, XDP_UMEM, XDP_UMEM_ARRAY, XDP_UNALIGNED,
};
use super::port_programs;
use super::rights::Rights;
use ringway_sys::capability::Cap;
use ringway_sys::mmap::Mmap;
use ringway_sys::{bpf_probe, fd, libbpf, program, socket_probe};

/// Memory of an `xdp:` port with one queue and 2048 slots a ring, and its chunks.
const UMEM: usize = 8 << 20;
const CHUNK: u32 = 2048;
/// Chunks that lie across pages.
const UNALIGNED: u32 = 2112;

/// A verdict of linux/bpf.h.
const XDP_DROP: i32 = 1;

/// Tries all of it.
pub(super) fn checks(rights: &Rights) -> Vec<Check> {
    libbpf::quiet();
    let mut all = programs(rights);
    all.extend(xdp_sockets(rights));
    all.extend(packet_sockets(rights));
    all.push(MEMFD.judge(rights, fd::memfd(c"ringway-probe", 4096).map(said)));
    all.push(bpffs(rights));
    all
}

/// Nothing to add.
fn said<T>(_: T) -> String {
    String::new()
}

fn programs(rights: &Rights) -> Vec<Check> {
    let syscall = || {
        let prog = bpf_probe::program(bpf::BPF_PROG_TYPE_SYSCALL, 0, bpf::BPF_F_SLEEPABLE, 7)?;
        match bpf_probe::run_syscall(prog.as_fd())? {
            7 => Ok(String::new()),
            n => Err(io::Error::other(format!("returned {n} in place of 7"))),
        }
    };
    let types = TYPES.judge(rights, std::fs::File::open(libbpf::TYPES).map(said));
    let taken = || {
        let loaded = port_programs::load(&["taken"]).map_err(io_error)?;
        let prog = loaded.prog("taken").ok_or_else(|| io::Error::other("not loaded"))?;
        ringway_sys::bpf::raw_tracepoint(prog).map(said)
    };
    let xdp = bpf_probe::program(bpf::BPF_PROG_TYPE_XDP, bpf::BPF_XDP, 0, XDP_DROP).map(said);
    let may_load = xdp.is_ok();
    let own = match port_programs::load(&["nic_rx", "tx"]) {
        // The kernel's reason, where it gave one. A lack of rights is judged as with other features.
        Err(e) if e.kind() == ringway_sys::ErrorKind::Unsupported => {
            Check::new(PROGRAMS.id, PROGRAMS.what).judge(Err(e))
        }
        tried => PROGRAMS.judge(rights, verified(may_load, tried.map(said).map_err(io_error))),
    };
    // Before Linux 5.16 the call itself is for those with the capability; a filter answers before the kernel looks.
    let call = Feature { caps: if rights.seccomp { &[] } else { &[Cap::Bpf] }, ..CALL };
    let mut all = vec![
        call.judge(rights, bpf_probe::answers().map(said)),
        ARRAY.judge(rights, array(4096).map(said)),
        RINGBUF.judge(rights, bpf_probe::map(bpf::BPF_MAP_TYPE_RINGBUF, 0, (0, 0), 4096).map(said)),
        SYSCALL.judge(rights, syscall()),
        XDP_PROGRAM.judge(rights, xdp),
    ];
    if types.cure.is_some() {
        all.extend([LOOP, PROGRAMS, TAKEN].map(|f| f.untried(&types)));
    } else {
        all.push(LOOP.judge(rights, verified(may_load, bpf_loop())));
        all.push(own);
        all.push(TAKEN.judge(rights, verified(may_load && rights.has(Cap::Perfmon), taken())));
    }
    all.push(types);
    all
}

/// The verifier, too, refuses with EACCES. When the smallest program of a kind could be loaded, it is not the rights.
fn verified(permitted: bool, tried: io::Result<String>) -> io::Result<String> {
    match tried {
        Err(e) if permitted && e.kind() == io::ErrorKind::PermissionDenied => {
            Err(io::Error::other("the verifier does not take the program"))
        }
        tried => tried,
    }
}

/// The cause within an error of the library.
fn io_error(e: ringway_sys::Error) -> io::Error {
    match e.kind() {
        ringway_sys::ErrorKind::Denied => io::ErrorKind::PermissionDenied.into(),
        _ => io::Error::other(e.to_string()),
    }
}

/// An eBPF array of one value, mapped.
fn array(len: usize) -> io::Result<(OwnedFd, Mmap)> {
    let map = bpf_probe::map(bpf::BPF_MAP_TYPE_ARRAY, bpf::BPF_F_MMAPABLE, (4, len as u32), 1)?;
    let mem = Mmap::shared(map.as_fd(), len, 0, true)?;
    Ok((map, mem))
}

/// Sums the numbers below 4 in the kernel.
fn bpf_loop() -> io::Result<String> {
    let failed = |e: libbpf_rs::Error| match e.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied.into(),
        _ => io::Error::other(e.to_string()),
    };
    let loaded = program::load_probe("loop").map_err(failed)?;
    let prog = loaded.progs().find(|p| p.name() == "loop").ok_or_else(|| io::Error::other("no program"))?;
    match bpf_probe::run_syscall(prog.as_fd())? {
        6 => Ok(String::new()),
        n => Err(io::Error::other(format!("returned {n} in place of 6"))),
    }
}

fn xdp_sockets(rights: &Rights) -> Vec<Check> {
    let socket = XDP_SOCKET.judge(rights, ringway_sys::xsk::Xsk::socket().map(said));
    if socket.cure.is_some() {
        let rest = [XDP_UMEM, XDP_UMEM_ARRAY, XDP_UNALIGNED].map(|f| f.untried(&socket));
        return std::iter::once(socket).chain(rest).collect();
    }
    let plain = |chunk| {
        let mem = Mmap::anonymous(UMEM)?;
        socket_probe::umem(&mem, UMEM, chunk).map(said)
    };
    let over_array = || {
        let (_map, mem) = array(UMEM)?;
        socket_probe::umem(&mem, UMEM, CHUNK).map(said)
    };
    vec![
        socket,
        XDP_UMEM.judge(rights, plain(CHUNK)),
        XDP_UMEM_ARRAY.judge(rights, over_array()),
        XDP_UNALIGNED.judge(rights, plain(UNALIGNED)),
    ]
}

fn packet_sockets(rights: &Rights) -> Vec<Check> {
    let socket = match socket_probe::packet() {
        Ok(fd) => fd,
        Err(e) => {
            let socket = PACKET_SOCKET.judge(rights, Err(e));
            let rest = [PACKET_RING, PACKET_VNET].map(|f| f.untried(&socket));
            return std::iter::once(socket).chain(rest).collect();
        }
    };
    vec![
        PACKET_SOCKET.judge(rights, Ok(String::new())),
        PACKET_VNET.judge(rights, socket_probe::vnet_header(&socket).map(said)),
        PACKET_RING.judge(rights, socket_probe::packet_ring(&socket).map(said)),
    ]
}

/// Nothing that Ringway does today needs it, so its absence is no more than a drawback.
fn bpffs(rights: &Rights) -> Check {
    let check = Check::new(BPFFS.id, BPFFS.what);
    if socket_probe::is_bpffs(c"/sys/fs/bpf") {
        return check.ok("mounted");
    }
    let detail = "not mounted; only programs that pin objects need it";
    match socket_probe::make_bpffs() {
        Ok(()) => check.warn(detail, "`mount -t bpf bpf /sys/fs/bpf`"),
        Err(e) => {
            let refused = BPFFS.judge(rights, Err(e));
            let cure = format!(
                "{}; then `mount -t bpf bpf /sys/fs/bpf`",
                refused.cure.as_deref().unwrap_or_default()
            );
            check.warn(format!("{detail}; mounting it: {}", refused.detail), cure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_the_verifier_refuses_is_no_matter_of_rights() {
        let denied = || Err(io::Error::from_raw_os_error(libc::EACCES));
        let root = Rights { capabilities: u64::MAX, ..Rights::default() };
        let refused = PROGRAMS.judge(&root, verified(true, denied()));
        assert_eq!(refused.cure.as_deref(), Some(PROGRAMS.kernel));
        assert!(refused.detail.contains("verifier"), "{refused}");
        let user = Rights { euid: 1000, ..Rights::default() };
        let refused = PROGRAMS.judge(&user, verified(false, denied()));
        assert!(refused.detail.contains("CAP_BPF"), "{refused}");
    }
}
