//! `ringway router list`.

use ringway_router::kernel::Router;
use ringway_watch::routers::{self, Reading};
use serde_json::{Value, json};

use super::describe;
use crate::console::Console;
use crate::failure::Failure;
use crate::visible::nothing_there;

/// Show routers and their members
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of each router: routes and next hops of its tables, how many do not fit, whether the tables are the kernel's, and its process. Of each \
member: number, name, where its program stands, and which packets it forwards.

Examples:
  ringway router list
  ringway router list r0 --json | jq '.routers[0].members[].name'")]
pub(super) struct List {
    /// Only this router
    #[arg(value_name = "ROUTER")]
    name: Option<String>,
}

impl List {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let routers = match &self.name {
            None => routers::readable(),
            Some(name) => vec![Reading::of(&Router::open(name)?)],
        };
        let text: Vec<String> = routers.iter().map(describe::list).collect();
        let text = if text.is_empty() { nothing_there("router")? } else { text.join("\n") };
        let routers: Vec<Value> = routers.iter().map(describe::object).collect();
        Ok(console.result(&text, &json!({ "routers": routers }))?)
    }
}
