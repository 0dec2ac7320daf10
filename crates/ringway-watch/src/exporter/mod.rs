//! A page for people, and metrics such as [`metrics::page`](crate::metrics::page) for Prometheus and its like, by HTTP.
//!
//! The server is Ringway's own, on sockets of the standard library that never block: one thread, one `poll`. It serves
//! a page and three documents, without parameters or bodies. Of the small servers, `tiny_http` (last release 2022) takes a thread for each
//! connection. It limits neither their number nor their time, so a slow client holds memory for ever. Servers that have
//! such limits come with an asynchronous runtime. `http` parses a request and writes an answer, pure functions;
//! `connection` is one client, and [`Server`] all of them. A [`Door`] says which clients get documents.
//!
//! Clients can use up a bounded amount of four things. There are at most 128 connections, and the oldest gives way to a new one.
//! A request has at most 8192 bytes. A client has 5 seconds in all. There is one document in memory for each client, and
//! the server reads each document ten times a second at most.

mod asked;
mod connection;
mod door;
mod http;
mod server;

pub use asked::Asked;
pub use door::{Door, Token};
pub use server::Server;
