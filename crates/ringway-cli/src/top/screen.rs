//! The terminal: taken over when opened, given back however the command ends.

use std::io;

use ratatui::DefaultTerminal;

use super::state::State;
use super::view;

/// The terminal in raw mode, on its alternate screen. It is given back when this is dropped, and before the message of a
/// panic, which would not be seen otherwise.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self { terminal }),
            Err(e) => {
                // Raw mode may be on already.
                let _ = ratatui::try_restore();
                Err(e)
            }
        }
    }

    /// Shows the state, at the size that the terminal has now.
    pub(super) fn draw(&mut self, state: &mut State) -> io::Result<()> {
        let area = self.terminal.size()?.into();
        state.scroll = state.scroll.min(view::last_scroll(state, area));
        self.terminal.draw(|frame| {
            let area = frame.area();
            view::render(state, area, frame.buffer_mut());
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
