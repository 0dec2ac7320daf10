//! `ringway pkt-gen`: generates, receives and measures, with the options of netmap's pkt-gen.

mod args;
mod echo;
mod frames;
mod meter;
mod rx;
mod session;
mod tx;

use ringway::{OpenOptions, PortName};

use crate::failure::Failure;
use crate::stop;
pub(crate) use args::Args;
use args::Function;
use session::Session;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let signals = stop::signals()?;
    // Turning frames round without a copy takes one buffer more than the rings have. Ports of a switch have none.
    let of_switch = args.port.parse::<PortName>().is_ok_and(|name| name.switch_port().is_some());
    let options = OpenOptions::new().extra_bufs(u32::from(!of_switch));
    let port = args.selection.apply(options)?.open(&args.port)?;
    args.link.wait(&port, &signals)?;
    let session = Session { args, console: args.json.console(), signals };
    match args.function {
        Function::Tx => tx::run(&session, port),
        Function::Rx => rx::run(&session, port),
        Function::Ping => echo::ping(&session, port),
        Function::Pong => echo::pong(&session, port),
    }
}
