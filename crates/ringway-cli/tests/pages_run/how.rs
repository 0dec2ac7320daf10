//! How the commands of a page are run here.

/// How a command is run that does not simply run to its end, with success.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// To its end, with these options behind it: as it stands it takes minutes.
    With(&'static str),
    /// As this command, which does the same: as it stands it needs a terminal or another user.
    As(&'static str),
    /// Until Ctrl-C, which comes when it has said this.
    Says(&'static str),
    /// Until Ctrl-C, which comes when it has said this, and frames have come or gone by an open port.
    Moves(&'static str),
    /// As this command, beside the commands that follow, which begin once it has said this.
    Beside { command: &'static str, says: &'static str },
    /// By a signal to the last command beside: `kill %1`.
    Kills,
    /// Not, for this reason.
    Skipped(&'static str),
}

/// Until frames have moved.
pub(crate) const MOVES: How = How::Moves("");

/// Until tcpdump, which handles signals from then on, has packets.
pub(crate) const DUMPS: How = How::Moves("listening on");

/// A command of a page that is no plain one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Special {
    pub(crate) command: &'static str,
    /// What the user did since the command before, as a script.
    pub(crate) before: &'static str,
    /// `None`: it runs to its end.
    pub(crate) how: Option<How>,
    /// Programs that it needs, without which it is left out, with a word.
    pub(crate) needs: &'static [&'static str],
}

impl Special {
    pub(crate) const fn new(command: &'static str, how: How) -> Self {
        Self { command, before: "", how: Some(how), needs: &[] }
    }

    /// A command that runs to its end.
    pub(crate) const fn plain(command: &'static str) -> Self {
        Self { command, before: "", how: None, needs: &[] }
    }

    pub(crate) const fn before(self, before: &'static str) -> Self {
        Self { before, ..self }
    }

    pub(crate) const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }
}
