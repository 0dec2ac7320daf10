//! Frames that come all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use ringway_lab::Lab;
use ringway_lab::raw::RawSender;

const BURST: usize = 100;

/// Sends some 100,000 frames a second into an interface by a packet socket, as long as this lives.
#[derive(Debug)]
pub(crate) struct Flood {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    pub(crate) fn start(lab: &Lab, interface: &str, frame: Vec<u8>) -> Self {
        let sender = RawSender::open(lab, interface).unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = stopped.clone();
        let thread = spawn(move || {
            while !seen.load(Relaxed) {
                (0..BURST).for_each(|_| sender.send(&frame).unwrap());
                sleep(Duration::from_millis(1));
            }
        });
        Self { stopped, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stopped.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking(), "the flood ended early");
    }
}
