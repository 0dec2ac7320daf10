//! Which frames a port takes, and what its host keeps.

use ringway::{ErrorKind, Filter, OpenOptions};

use crate::errors;
use crate::failure::Failure;
use crate::options::Raw;

/// The options of all commands that receive.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Take only frames that match a tcpdump expression, and leave the rest to the host; for ebpf: ports
    #[arg(long, value_name = "EXPR")]
    take: Option<String>,

    /// Take copies: the host gets every frame too, and answers it; for ebpf: ports
    #[arg(long)]
    copy: bool,

    #[command(flatten)]
    raw: Raw,
}

impl Selection {
    /// Adds what was asked for to how ports are opened.
    pub(crate) fn apply(&self, options: OpenOptions) -> Result<OpenOptions, Failure> {
        let options = options.copy(self.copy).raw(self.raw.raw);
        let Some(expr) = &self.take else { return Ok(options) };
        match Filter::compile(expr) {
            Ok(filter) => Ok(options.take(filter)),
            Err(e) if e.kind() == ErrorKind::Invalid => {
                Err(Failure::Usage(errors::command::BAD_VALUE, format!("--take: {e}")))
            }
            Err(e) => Err(e.into()),
        }
    }
}
