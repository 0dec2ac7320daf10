//! How a port is opened, and taken apart into its sides.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ringway::{ErrorKind, OpenOptions};

use super::books::Books;
use super::parts::Port;
use crate::receive::Receiver;
use crate::send::Sender;

/// What a program wants of the port beside Ringway's own options.
pub(super) struct Wishes {
    pub(super) burst: usize,
    pub(super) hold: u32,
    pub(super) filter: Option<ringway::Filter>,
}

/// Opens a port with buffers to hold frames in. A port that has no such buffers opens without: its frames are copied.
fn open(name: &str, options: &OpenOptions, hold: u32) -> ringway::Result<ringway::Port> {
    match options.clone().extra_bufs(hold).open(name) {
        Err(e) if matches!(e.kind(), ErrorKind::Invalid | ErrorKind::Unsupported) => options.open(name),
        opened => opened,
    }
}

impl Port {
    /// Opens a port: one receiver for all its rings, and a sender for each ring.
    pub(super) fn open(name: &str, options: &OpenOptions, wishes: Wishes) -> ringway::Result<Self> {
        let Wishes { burst, hold, filter } = wishes;
        let mut port = open(name, options, hold)?;
        let info = port.info().clone();
        let books = Books::new(port.watch());
        let sender = |ring| Ok(Mutex::new(Some(Sender::new(ring, info.max_frame, &info.name)?)));
        let senders = port.tx.drain(..).map(sender).collect::<ringway::Result<_>>()?;
        let receiver = Receiver::new(port, hold, filter)?;
        Ok(Self {
            exchanges: receiver.exchanges(),
            receiver: Mutex::new(Some(receiver)),
            senders,
            books,
            info,
            burst,
            closing: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }
}
