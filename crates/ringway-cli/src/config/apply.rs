//! `ringway apply`.

use std::fs::File;
use std::path::PathBuf;

use ringway::dirs::{PrivateDir, run_directory};
use serde_json::{Value, json};

use super::carry_out::{Places, carry_out};
use super::namespaces::Namespaces;
use super::plan::Part;
use super::{diff, existing, wanted};
use crate::console::{Console, note};
use crate::errors;
use crate::failure::Failure;
use crate::options::{Bpffs, Json};

/// Make switches and routers as files say
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The files of the folder that end in .toml say which switches, ports, members, fixed addresses and routers there are; docs/configuration.md has all keys. Members and routers may be in other network namespaces. \
What differs is printed as a diff, and then made so. What is right already is not touched: no frame is lost. Each switch and each router \
becomes all that the files want, or stays as it was. After a run that was killed, the next one makes the rest.

Nothing is removed without --prune. A switch or router that would have to be made in another way is an error, and stays.

Examples:
  ringway apply --dry-run          # what would be done
  ringway apply                    # do it; again: nothing to do
  ringway apply --prune            # and remove what no file names
  ringway apply --config /srv/lab  # files of another folder")]
pub(crate) struct Args {
    /// Folder of the files; root's, and nobody else may write in it
    #[arg(long, value_name = "DIR", default_value = "/etc/ringway")]
    config: PathBuf,

    /// Print the difference, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Remove switches, ports, members, addresses and routers that no file names
    #[arg(long)]
    prune: bool,

    #[command(flatten)]
    json: Json,

    #[command(flatten)]
    bpffs: Bpffs,
}

/// Makes what exists as the files say, in this network namespace, which `netns` names.
pub(crate) fn run(args: &Args, netns: Option<&str>) -> Result<(), Failure> {
    args.bpffs.apply()?;
    let wanted = wanted::read(&args.config)?;
    let _alone = if args.dry_run { None } else { Some(lock()?) };
    let namespaces = Namespaces::open(&wanted)?;
    let mut parts = diff::parts(&wanted, &existing::read(&wanted, &namespaces)?, args.prune);
    namespaces.stop(&wanted, &mut parts);
    let places = Places { here: netns, others: &namespaces };
    let console = args.json.console();
    if !args.json.json {
        parts.iter().flat_map(|part| &part.lines).try_for_each(|line| console.line(&line.to_string()))?;
    }
    let failed: Vec<(&Part, Failure)> = parts
        .iter()
        .filter_map(|part| Some((part, done(part, args.dry_run, places).err()?)))
        .inspect(|(_, why)| note(&format!("ringway: {why}")))
        .collect();
    conclude(&parts, &failed, args, console)
}

/// One run at a time: each would find half of what the other makes.
fn lock() -> Result<File, Failure> {
    let denied = || {
        Failure::Other(
            errors::ports::DENIED,
            "there is no place for the lock of this command; run as root".into(),
        )
    };
    let file = PrivateDir::make(run_directory().ok_or_else(denied)?)?.open_or_create("apply.lock")?;
    file.lock().map_err(|e| {
        Failure::Other(errors::command::SYSTEM, format!("waiting for another `ringway apply` failed: {e}"))
    })?;
    Ok(file)
}

fn done(part: &Part, dry_run: bool, places: Places<'_>) -> Result<(), Failure> {
    match &part.obstacle {
        Some(why) => Err(Failure::Other(errors::switches::OBSTACLE, why.clone())),
        None if dry_run => Ok(()),
        None => carry_out(part, places),
    }
}

fn object(part: &Part, why: &Failure) -> Value {
    json!({ "name": part.name, "error": why.to_string(), "code": why.code().to_string() })
}

fn conclude(
    parts: &[Part],
    failed: &[(&Part, Failure)],
    args: &Args,
    console: Console,
) -> Result<(), Failure> {
    let changes: Vec<Value> = parts.iter().flat_map(|part| &part.lines).map(|line| line.object()).collect();
    let names: Vec<&str> = failed.iter().map(|(part, _)| part.name.as_str()).collect();
    let errors: Vec<Value> = failed.iter().map(|(part, why)| object(part, why)).collect();
    let object = json!({ "dry_run": args.dry_run, "changes": changes, "failed": errors });
    if args.json.json || parts.is_empty() {
        console.result("nothing to do", &object)?;
    }
    match names.is_empty() {
        true => Ok(()),
        false => Err(Failure::Other(
            errors::switches::NOT_APPLIED,
            format!("not as the files say: {}; the lines above say why", names.join(", ")),
        )),
    }
}
