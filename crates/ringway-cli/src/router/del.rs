//! `ringway router del`.

use ringway::pinned::{check_router_name, is_router};
use ringway_router::follow::Files;
use ringway_router::kernel::Router;
use ringway_traffic::units::many;
use serde_json::json;

use super::end;
use crate::console::Console;
use crate::errors;
use crate::failure::Failure;

/// End a router: the kernel forwards all packets again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The process that follows the kernel's tables ends, and no route changes. What a killed command left of the router goes too.

Examples:
  ringway router del r0")]
pub(super) struct Del {
    /// Name of the router
    #[arg(value_name = "ROUTER")]
    name: String,
}

impl Del {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let name = self.name.as_str();
        check_router_name(name)?;
        if is_router(name) {
            return remove(name, console);
        }
        match clear(name)? {
            true => told_cleared(name, console),
            false => Err(Router::open(name).map_or_else(Failure::from, |_| busy(name))),
        }
    }
}

/// Another process made the router just now.
fn busy(name: &str) -> Failure {
    Failure::Other(errors::switches::MADE_MEANWHILE, format!("{name}: it was made meanwhile; try again"))
}

/// Says that what was left of a switch or router is gone.
pub(crate) fn told_cleared(name: &str, console: Console) -> Result<(), Failure> {
    let text = format!("{name}: removed what was left of it");
    Ok(console.result(&text, &json!({ "name": name, "ports": 0 }))?)
}

/// Removes a router with its process.
pub(crate) fn remove(name: &str, console: Console) -> Result<(), Failure> {
    let members = end::remove(name)?;
    let text = format!("{name}: removed, with {}", many(members as u64, "member"));
    console.result(&text, &json!({ "name": name, "ports": members }))?;
    Ok(())
}

/// Removes what a process left that was killed while it made or removed a router or switch of that name, which is not there; whether there was
/// anything.
pub(crate) fn clear(name: &str) -> Result<bool, Failure> {
    let files = Files::of(name).ok(); // some users have no place for them
    let noted = files.as_ref().is_some_and(|files| files.read_setup().is_ok());
    files.iter().for_each(Files::remove);
    Ok(ringway::pinned::clear(name)? || noted)
}
