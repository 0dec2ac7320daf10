//! Packet sockets of unmodified programs on Ringway's ports: a part of `libringway_preload.so`, which stands before libc's socket calls.
//!
//! | module | what |
//! | --- | --- |
//! | `edge` | the functions of libc that it stands before |
//! | `socket` | a packet socket: options, where its frames go |
//! | `outgoing`, `flusher` | frames sent: checked, put into rings, left to wait for others (`RINGWAY_BATCH_US`) |
//! | `incoming`, `inbox`, `receiver`, `filter`, `frame` | frames received: handed to sockets, filtered, shown as the kernel does |
//! | `tpacket`, `filler` | the program's mapped rings |
//! | `link` | ports in place of interfaces |
//! | `raw`, `neighbour` | raw sockets of IPv4, and the addresses that their packets go to |
//! | `config`, `report`, `fork` | the environment, what is told, forks |
//! | `sys` | libc's own functions, memory of the program |
//!
//! # What the program's descriptor is
//!
//! A packet socket of the kernel, made and bound as the program asked. So all that is not served here keeps its meaning (ioctls,
//! names, memberships, options that the kernel checks, exec), and a fall-through is just a call of libc's function. Bound to an
//! interface that a port stands for (`RINGWAY_MAP`), the kernel's socket gets a protocol that no frame has: it costs nothing.
//! The price is that it does not become readable when the port has a frame. The other way round, a doorbell under the
//! descriptor's number, every call that is not served would fail on something that is no socket, and nothing would be won: who
//! waits by a way that passes libc by could not receive either. So poll, select and epoll are told another descriptor in the place
//! of the socket. A program may register with an epoll before it binds.
//!
//! # What goes where
//!
//! | | mapped interface | plain interface |
//! | --- | --- | --- |
//! | frames received | from the port, for each socket of the process; fanout by flow or in turn | the kernel's socket |
//! | one frame sent | to the port at once | the kernel's socket: a single frame leaves no faster by any of our ways |
//! | a dense stream, `sendmmsg` of 32 or more, a tx ring | to the port in bursts | after 64 frames a port that only sends (`ebpf:`): past the queueing discipline, unseen by other packet sockets of the interface; then all later frames of the socket too |
//! | mapped rings | filled and emptied here in the program's own mapping of the kernel's ring, versions 1 to 3 | rx: the kernel |
//!
//! In a dense stream ([`ringway_shim::Coalesce`]) a frame waits for others: 100 us at most (`RINGWAY_BATCH_US=N`: N, 0: no frame ever
//! waits), plus what the scheduler takes to run a thread; or until the ring is half full, the program polls or sleeps in a receive,
//! or it ends by `exit` or `_exit`. A failure of frames that waited is told by the next send. Killed, or in an exec, the process
//! loses what waited.
//!
//! `accept` of a process that receives from a port looks first whether somebody connects to a socket that does not block. The kernel
//! looks last, when it has made a socket and a file: 3 us, which programs that ask on each turn of their loop pay for each burst.
//!
//! # What differs from the kernel
//!
//! * Of what other processes send on a mapped interface nothing is received as `PACKET_OUTGOING`, only of what this one sends.
//! * Raw sockets of IPv4 send by mapped interfaces, and receive what the kernel does. Those of IPv6 are the kernel's.
//! * A process without CAP_NET_RAW has packet sockets of mapped interfaces, in a namespace of their own as far as the kernel is concerned. They
//!   can't be bound to a device by `SO_BINDTODEVICE`, and receive nothing until they are bound.
//! * A fanout group's program (`PACKET_FANOUT_CBPF`, `_EBPF`) is replaced by the flow, and an eBPF socket filter is refused.
//! * A port belongs to one process. The child of a fork gets it when its parent has closed it or ended. Until then its calls on a
//!   mapped interface fail with `EBUSY`, and a poll says at once that there is something to read; sends to a plain interface take
//!   the kernel's way.
//! * Opening a port may need rights that a bind does not: a program that has given its own up gets `EPERM`, and is told why.
//! * A mapped receive ring is filled by poll, select and epoll_wait. For a program that only looks at the ring a thread does that,
//!   each millisecond.
//! * Room for a frame is written by this library: where its address is wrong, but not null, the program gets `SIGSEGV` in the place of
//!   `EFAULT`.
//! * An epoll that looks for more than frames to read may tell of a socket in two events. An epoll in another one wakes a program
//!   that sleeps in poll, select or epoll_wait, not one that sleeps by other ways.
//! * A port's ring that stays full for 10 ms fails a send with `ENOBUFS`.
//! * Descriptors from 65536 on, `SOCK_PACKET`, sendfile, splice, io_uring and system calls that do not pass libc are the kernel's.
//! * A socket of a mapped interface that is passed to another process, or through exec, receives nothing there.
//!
//! # Threads, signals, forks
//!
//! Every call may be made from any thread. A signal handler that interrupts a call of ours gets the kernel's function instead of
//! waiting for itself; sending a frame that fits a buffer allocates nothing. The threads of this library run with all
//! signals blocked.
#![deny(unsafe_code)]

mod address;
mod config;
mod edge;
mod filler;
mod filter;
mod flusher;
mod fork;
mod frame;
mod inbox;
mod incoming;
mod link;
mod neighbour;
mod outgoing;
mod raw;
mod receiver;
mod report;
mod socket;
mod sys;
mod tpacket;
