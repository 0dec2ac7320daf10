//! Packet sockets of unmodified programs on Ringway's ports: a part of `libringway_preload.so`, which stands before libc's socket calls.
//!
//! | module | what |
//! | --- | --- |
//! | `hooks` | the functions of libc that it stands before |
//! | `sockets` | which descriptors are packet sockets |
//! | `socket`, `options`, `route`, `inlet` | a packet socket: options, where its frames go |
//! | `outgoing`, `flusher` | frames sent: checked, put into rings, left to wait for others (`RINGWAY_BATCH_US`) |
//! | `incoming`, `view`, `receiver`, `filter`, `frame` | frames received: handed to sockets, filtered, shown as the kernel does |
//! | `tpacket`, `ring_filler` | the program's mapped rings |
//! | `link` | ports in place of interfaces, and how frames get to them and from them |
//! | `raw`, `mapped`, `neighbour` | raw sockets of IPv4, and the addresses that their packets go to |
//! | `config`, `report` | the environment; messages on standard error |
//! | `fork`, `process` | forks and the end of the process |
//! | `sys` | libc's own functions, memory of the program |
//!
//! # What the program's descriptor is
//!
//! It is a packet socket of the kernel, made and bound as the program asked. So all that is not served here keeps its meaning (ioctls,
//! names, memberships, options that the kernel checks, exec), and a fall-through is just a call of libc's function. Bound to an
//! interface that a port stands for (`RINGWAY_MAP`), the kernel's socket gets a protocol that no frame has: it costs nothing.
//!
//! The price is that it does not become readable when the port has a frame. So poll, select and epoll get another descriptor instead of the
//! socket. A program may register with an epoll before it binds.
//!
//! The other way round, a doorbell under the descriptor's number, would win nothing. Every call that is not served would fail on something
//! that is no socket. A program that waits by a way that passes libc by could not receive either.
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
//! In a dense stream ([`ringway_shim::Coalesce`]) a frame waits for others: 100 us at most, plus the time that the scheduler takes to run a
//! thread. `RINGWAY_BATCH_US=N` makes that N us; with 0 no frame ever waits. Frames leave earlier when the ring is half full, when the
//! program polls or sleeps in a receive, and when it ends by `exit` or `_exit`. If frames that waited can't be sent, the next send fails. A
//! process that is killed, or runs another program by exec, loses frames that waited.
//!
//! `accept` of a process that receives from a port looks first whether somebody connects to a socket that does not block. The kernel
//! looks last, when it has made a socket and a file: 3 us, which programs that ask on each turn of their loop pay for each burst.
//!
//! While a socket has frames to read, a poll asks pipes, streams, sockets of netlink and taps again after 100 us (`RINGWAY_BATCH_US`)
//! where they had nothing. With a timer, signals, an epoll or datagrams among them, it asks each time. `accept` and `recvmsg` of netlink
//! that had nothing since that poll are answered as well. That time ends when the program connects, reads, writes or closes.
//!
//! # What differs from the kernel
//!
//! * Of what other processes send on a mapped interface nothing is received as `PACKET_OUTGOING`, only of what this one sends.
//! * Raw sockets of IPv4 send by mapped interfaces, and receive what the kernel does. Raw sockets of IPv6 are the kernel's.
//! * A process without CAP_NET_RAW has packet sockets of mapped interfaces, in a namespace of their own as far as the kernel is concerned. They
//!   can't be bound to a device by `SO_BINDTODEVICE`, and receive nothing until they are bound.
//! * A fanout group's program (`PACKET_FANOUT_CBPF`, `_EBPF`) is replaced by the flow, and an eBPF socket filter is refused.
//! * A port belongs to one process. The child of a fork gets it when its parent has closed it or ended. Until then its calls on a
//!   mapped interface fail with `EBUSY`, and a poll says at once that there is something to read. Its sends to a plain interface take the
//!   kernel's way.
//! * Opening a port may need rights that a bind does not. A program that has given its own up gets `EPERM`, and a line on standard error.
//! * A mapped receive ring is filled by poll, select and epoll_wait. For a program that only looks at the ring a thread does that,
//!   each millisecond.
//! * This library writes frames to the memory of the program. Where its address is wrong, but not null, the program gets `SIGSEGV` instead
//!   of `EFAULT`.
//! * A program that has frames to read may learn of a connection, of a message of netlink, and by poll or select of pipes, streams and taps,
//!   100 us later. It learns of what it does itself at once, except by splice, sendfile, io_uring and libc's files (`fflush`).
//!   `RINGWAY_BATCH_US=0` turns this off.
//! * An epoll that looks for more than frames to read may tell of a socket in two events. An epoll in another one wakes a program
//!   that sleeps in poll, select or epoll_wait, not one that sleeps by other ways.
//! * A port's ring that stays full for 10 ms fails a send with `ENOBUFS`.
//! * Descriptors from 65536 on, `SOCK_PACKET`, sendfile, splice, io_uring and system calls that do not pass libc are the kernel's.
//! * A socket of a mapped interface that is passed to another process, or through exec, receives nothing there.
//!
//! # Threads, signals, forks
//!
//! Every call may be made from any thread. A signal handler that interrupts a hook gets the kernel's function instead of
//! waiting for itself; sending a frame that fits a buffer allocates nothing. The threads of this library run with all
//! signals blocked.
#![deny(unsafe_code)]

mod address;
mod config;
mod filter;
mod flusher;
mod fork;
mod frame;
mod hooks;
mod incoming;
mod inlet;
mod link;
mod mapped;
mod neighbour;
mod options;
mod outgoing;
mod process;
mod raw;
mod receiver;
mod report;
mod ring_filler;
mod route;
mod socket;
mod sockets;
mod sys;
mod tpacket;
mod view;
