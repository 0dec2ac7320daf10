//! `ringway router port`: the interfaces that are members of a router.

use std::str::FromStr;
use std::time::Duration;

use clap::Subcommand;
use ringway_router::follow::{Ask, Request};
use ringway_router::kernel::Router;
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::Failure;

/// Add and remove members
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  ringway router port add r0:eth3
  ringway router port del r0:eth3")]
pub(super) enum Command {
    Add(Add),
    Del(Del),
}

impl Command {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        match self {
            Self::Add(Add { member }) => join(&member.router, &member.interface, console),
            Self::Del(Del { member }) => leave(&member.router, &member.interface, console),
        }
    }
}

/// Make an interface a member
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The interface must be up, and forward. Its place for programs is that of all members.

Examples:
  ringway router port add r0:eth3")]
pub(super) struct Add {
    /// The member as ROUTER:IF
    #[arg(value_name = "ROUTER:IF")]
    member: Member,
}

/// Give a member back: the kernel forwards what comes in by it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway router port del r0:eth3")]
pub(super) struct Del {
    /// The member as ROUTER:IF
    #[arg(value_name = "ROUTER:IF")]
    member: Member,
}

/// A member as `ROUTER:IF`.
#[derive(Debug, Clone)]
struct Member {
    router: String,
    interface: String,
}

impl FromStr for Member {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (router, interface) = text.split_once(':').unwrap_or((text, ""));
        match ringway::pinned::check_router_name(router) {
            Ok(()) if !interface.is_empty() => {
                Ok(Self { router: router.to_owned(), interface: interface.to_owned() })
            }
            Ok(()) => Err("accepted: ROUTER:IF such as r0:eth3".into()),
            Err(e) => Err(e.to_string()),
        }
    }
}

/// Makes an interface a member.
pub(crate) fn join(name: &str, interface: &str, console: Console) -> Result<(), Failure> {
    let answer = ask_to_join(name, interface)?;
    let object = json!({ "router": name, "switch": name, "port": interface, "number": answer["number"], "host": null });
    console.result(&format!("{name}:{interface}: interface added, number {}", answer["number"]), &object)?;
    Ok(())
}

/// Has the process of a router make an interface a member; what it answers.
pub(crate) fn ask_to_join(name: &str, interface: &str) -> Result<Value, Failure> {
    Ok(Ask::open(name, PATIENCE)?.ask(&Request::Join { interface: interface.to_owned() })?)
}

/// Gives a member back.
pub(crate) fn leave(name: &str, interface: &str, console: Console) -> Result<(), Failure> {
    let number = take_out(name, interface)?;
    let object = json!({ "router": name, "switch": name, "port": interface, "number": number });
    console.result(&format!("{name}:{interface}: removed"), &object)?;
    Ok(())
}

/// Gives a member back, with the process of the router or without; the number that the member had.
pub(crate) fn take_out(name: &str, interface: &str) -> Result<Option<u32>, Failure> {
    let router = Router::open(name)?;
    let number = router.members().iter().find(|m| m.name == interface).map(|m| m.number);
    match router.health().controller {
        Some(_) => drop(Ask::open(name, PATIENCE)?.ask(&Request::Leave { interface: interface.to_owned() })?),
        None => {
            router.intended_members().cancel(interface);
            router.remove_member(interface)?;
        }
    }
    Ok(number)
}

/// The process may have to read the kernel's tables first.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::Member;

    #[test]
    fn members_have_a_router() {
        let member: Member = "r0:eth0.7".parse().unwrap();
        assert_eq!((member.router.as_str(), member.interface.as_str()), ("r0", "eth0.7"));
        for wrong in ["r0", "r0:", ":eth0", "lock:eth0", "0:eth0", "a/b:eth0"] {
            assert!(wrong.parse::<Member>().is_err(), "{wrong}");
        }
    }
}
