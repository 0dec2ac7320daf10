//! The features of the kernel that `kernel` tries.

use super::feature::Feature;
use ringway_sys::capability::Cap;
use ringway_sys::libbpf;

const PROGRAM: &[Cap] = &[Cap::Bpf, Cap::NetAdmin];

pub(super) const CALL: Feature = Feature {
    id: "bpf-call",
    what: "bpf(2)",
    call: "bpf(2)",
    caps: &[],
    kernel: "use a kernel with CONFIG_BPF_SYSCALL",
};

pub(super) const ARRAY: Feature = Feature {
    id: "bpf-array",
    what: "mapped eBPF array",
    call: "bpf(2)",
    caps: &[Cap::Bpf],
    kernel: "use Linux 5.5 or later with CONFIG_BPF_SYSCALL",
};

pub(super) const RINGBUF: Feature = Feature {
    id: "bpf-ringbuf",
    what: "eBPF ring buffer, for wake-up",
    call: "bpf(2)",
    caps: &[Cap::Bpf],
    kernel: "use Linux 5.8 or later",
};

pub(super) const SYSCALL: Feature = Feature {
    id: "bpf-syscall-program",
    what: "eBPF program run by a system call",
    call: "bpf(2)",
    caps: &[Cap::Bpf],
    kernel: "use Linux 5.14 or later",
};

pub(super) const TYPES: Feature = Feature {
    id: "bpf-types",
    what: "types of the kernel (BTF)",
    call: "open(2)",
    caps: &[],
    kernel: libbpf::NO_TYPES,
};

pub(super) const LOOP: Feature = Feature {
    id: "bpf-loop",
    what: "helper bpf_loop",
    call: "bpf(2)",
    caps: &[Cap::Bpf],
    kernel: "use Linux 5.17 or later",
};

pub(super) const PROGRAMS: Feature = Feature {
    id: "bpf-programs",
    what: "Ringway's own programs pass the verifier",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 6.1 or later with CONFIG_BPF_JIT; `ringway doctor --programs` tells what the verifier says",
};

pub(super) const XDP_PROGRAM: Feature = Feature {
    id: "xdp-program",
    what: "XDP program",
    call: "bpf(2)",
    caps: PROGRAM,
    kernel: "use Linux 5.9 or later with CONFIG_BPF_SYSCALL",
};

pub(super) const TAKEN: Feature = Feature {
    id: "bpf-tracepoint",
    what: "BTF tracepoint, counts frames that interfaces refuse",
    call: "bpf(2)",
    caps: &[Cap::Bpf, Cap::Perfmon],
    kernel: "use a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS; without, refused frames go uncounted",
};

pub(super) const XDP_SOCKET: Feature = Feature {
    id: "xdp-socket",
    what: "AF_XDP socket",
    call: "socket(2)",
    caps: &[Cap::NetRaw],
    kernel: "use a kernel with CONFIG_XDP_SOCKETS",
};

pub(super) const XDP_UMEM: Feature = Feature {
    id: "xdp-umem",
    what: "AF_XDP buffers of 8 MiB",
    call: "setsockopt(2)",
    caps: &[],
    kernel: "use Linux 5.4 or later with CONFIG_XDP_SOCKETS",
};

pub(super) const XDP_UMEM_ARRAY: Feature = Feature {
    id: "xdp-umem-array",
    what: "AF_XDP buffers in an eBPF array",
    call: "bpf(2)",
    caps: &[Cap::Bpf],
    kernel: "use Linux 5.5 or later; without, ebpf: ports send small bursts more slowly",
};

pub(super) const XDP_UNALIGNED: Feature = Feature {
    id: "xdp-unaligned",
    what: "AF_XDP buffers across pages",
    call: "setsockopt(2)",
    caps: &[],
    kernel: "use Linux 5.4 or later; without, ebpf: ports send small bursts more slowly",
};

pub(super) const PACKET_SOCKET: Feature = Feature {
    id: "packet-socket",
    what: "AF_PACKET socket",
    call: "socket(2)",
    caps: &[Cap::NetRaw],
    kernel: "use a kernel with CONFIG_PACKET",
};

pub(super) const PACKET_RING: Feature = Feature {
    id: "packet-ring",
    what: "AF_PACKET mapped ring",
    call: "setsockopt(2)",
    caps: &[Cap::NetRaw],
    kernel: "use a kernel with CONFIG_PACKET",
};

pub(super) const PACKET_VNET: Feature = Feature {
    id: "packet-vnet-header",
    what: "AF_PACKET checksum and segmentation state",
    call: "setsockopt(2)",
    caps: &[Cap::NetRaw],
    kernel: "use Linux 4.14 or later; without, turn offloads of the sender off",
};

pub(super) const MEMFD: Feature = Feature {
    id: "memfd",
    what: "anonymous shared memory (memfd)",
    call: "memfd_create(2)",
    caps: &[],
    kernel: "use Linux 3.17 or later with CONFIG_MEMFD_CREATE",
};

pub(super) const BPFFS: Feature = Feature {
    id: "bpffs",
    what: "bpf file system at /sys/fs/bpf",
    call: "fsopen(2)",
    caps: &[Cap::SysAdmin],
    kernel: "use Linux 5.2 or later with CONFIG_BPF_SYSCALL",
};
