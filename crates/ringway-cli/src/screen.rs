//! The terminal: taken over when opened, given back however the command ends.

use std::io;
use std::mem::ManuallyDrop;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The terminal in raw mode, on its alternate screen. It is given back when this is dropped, and before the message of a
/// panic, which would not be seen otherwise.
#[derive(Debug)]
pub(crate) struct Screen {
    /// Not dropped, for that would print when the cursor can't be shown, and panic when that fails too: both happen when
    /// the terminal is gone.
    terminal: ManuallyDrop<DefaultTerminal>,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self { terminal: ManuallyDrop::new(terminal) }),
            Err(e) => {
                // Raw mode may be on already.
                let _ = ratatui::try_restore();
                Err(e)
            }
        }
    }

    /// Its size now.
    pub(crate) fn area(&self) -> io::Result<Rect> {
        Ok(self.terminal.size()?.into())
    }

    /// Shows what `render` draws, at the size that the terminal has now.
    pub(crate) fn draw(&mut self, render: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let area = frame.area();
            render(area, frame.buffer_mut());
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// Waits for a key or a change of size, `limit` at most; true when there may be one. Fails when the terminal is gone,
/// for crossterm, asked then, would look for a key forever.
pub(crate) fn pressed(limit: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    let polled = poll(&mut wanted, Some(&limit));
    match polled {
        Ok(_) if wanted[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
            Err(io::Error::other("the terminal is gone"))
        }
        // A change of size does not make the terminal readable.
        Ok(_) | Err(Errno::INTR) => Ok(true),
        Err(e) => Err(e.into()),
    }
}
