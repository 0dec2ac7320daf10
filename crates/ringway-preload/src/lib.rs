//! The library that `ringway run` puts under unmodified programs: `libringway_preload.so`.
//!
//! It stands before libc's socket calls (`ringway-socket`) and has the name and the symbols of `libpcap.so.0.8` (`ringway-pcap`). Both
//! are in one library so that libpcap handles and packet sockets of a process use one port together (`ringway-shim`).

use ringway_pcap as _;
use ringway_socket as _;
