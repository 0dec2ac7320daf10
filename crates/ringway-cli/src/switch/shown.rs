//! What `list` and `stats` print: switches, and also routers under the command's old name.

use serde_json::{Value, json};

use super::names::Scope;
use crate::console::Console;
use crate::failure::Failure;
use crate::visible::nothing_there;

/// Text and JSON of a switch or router.
pub(super) type Shown = (String, Value);

pub(super) fn print(
    scope: Scope,
    switches: Vec<Shown>,
    routers: Vec<Shown>,
    console: Console,
) -> Result<(), Failure> {
    let (mut texts, switches): (Vec<String>, Vec<Value>) = switches.into_iter().unzip();
    let (of_routers, routers): (Vec<String>, Vec<Value>) = routers.into_iter().unzip();
    texts.extend(of_routers);
    let (kind, object) = match scope {
        Scope::Switches => ("switch", json!({ "switches": switches })),
        Scope::All => ("switch or router", json!({ "switches": switches, "routers": routers })),
    };
    let text = if texts.is_empty() { nothing_there(kind)? } else { texts.join("\n") };
    Ok(console.result(&text, &object)?)
}
