//! `ringway fib`: tables of routes without a router: load, look up, measure.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Subcommand;
use ringway_fib::{Fib, FibError, Limits, NextHop, Prefix, Walk, text};
use ringway_traffic::units::many;
use serde_json::{Value, json};

#[cfg(feature = "bench")]
use crate::bench;
use crate::errors;
use crate::failure::Failure;
use crate::options::Json;

/// Load tables of routes, look addresses up in them, measure lookups
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ringway fib load routes.txt
  ringway fib lookup routes.txt 192.0.2.1")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The benchmark of route lookup; the same as ringway bench fib
    #[cfg(feature = "bench")]
    #[command(after_help = bench::with_keys(bench::FIB).replace("ringway bench fib", "ringway fib bench"))]
    Bench(bench::FibArgs),
    /// Look addresses up in a table
    #[command(after_help = LOOKUP)]
    Lookup(LookupArgs),
    /// Load a table and tell its size
    #[command(after_help = LOAD)]
    Load(LoadArgs),
}

#[derive(Debug, clap::Args)]
struct TableFile {
    /// The table, plain or .xz, or - for standard input: a prefix (or default) and a next hop (1 to 65535) on each line
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
struct LookupArgs {
    #[command(flatten)]
    table: TableFile,

    /// IPv4 and IPv6 addresses
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<IpAddr>,

    #[command(flatten)]
    json: Json,
}

#[derive(Debug, clap::Args)]
struct LoadArgs {
    #[command(flatten)]
    table: TableFile,

    #[command(flatten)]
    json: Json,
}

const LOOKUP: &str = "\
Prints the longest prefix that covers each address, and its next hop, or that there is no route. Lines of the table that begin with # are
skipped, as is what follows the next hop.

Examples:
  ringway fib lookup routes.txt 192.0.2.1 2001:db8::1
  ringway fib lookup --json v4.txt.xz 1.1.1.1";

const LOAD: &str = "\
Prints for each family the routes by prefix length, how long the lookup memory took to make, and how large it is; where a
prefix is on several lines, the last counts, and it prints how many more there are.

Examples:
  ringway fib load routes.txt
  ringway fib load --json v6.txt.xz";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::fib(args),
        Command::Lookup(args) => lookup(args),
        Command::Load(args) => load(args),
    }
}

fn lookup(args: &LookupArgs) -> Result<(), Failure> {
    let text = text::read(&args.table.file).map_err(failure)?;
    let (v4, v6) = (table::<u32>(&args.table.file, &text)?.fib, table::<u128>(&args.table.file, &text)?.fib);
    let found = args.addresses.iter().map(|&address| {
        let found = match address {
            IpAddr::V4(a) => longest(&v4, a.into()).map(|(p, n)| (p.to_string(), n)),
            IpAddr::V6(a) => longest(&v6, a.into()).map(|(p, n)| (p.to_string(), n)),
        };
        (address, found)
    });
    let found: Vec<_> = found.collect();
    let lines: Vec<String> = found
        .iter()
        .map(|(address, found)| match found {
            Some((prefix, next_hop)) => format!("{address}  {prefix}  next hop {next_hop}"),
            None => format!("{address}  no route"),
        })
        .collect();
    let object = |(address, found): &(IpAddr, Option<(String, NextHop)>)| {
        let (prefix, next_hop) = found.as_ref().map(|(p, n)| (p, n.get())).unzip();
        json!({ "address": address, "prefix": prefix, "next_hop": next_hop })
    };
    let objects: Vec<Value> = found.iter().map(object).collect();
    Ok(args.json.console().result(&lines.join("\n"), &json!({ "lookups": objects }))?)
}

/// The lookup tells the next hop; which prefix that was is asked length by length.
fn longest<A: Walk>(fib: &Fib<A>, addr: A) -> Option<(Prefix<A>, NextHop)> {
    let next_hop = fib.lookup(addr)?;
    let prefixes = (0..=A::BITS).rev().filter_map(|len| Prefix::new(addr, len).ok());
    prefixes.into_iter().find(|&p| fib.get(p) == Some(next_hop)).map(|p| (p, next_hop))
}

fn load(args: &LoadArgs) -> Result<(), Failure> {
    let text = text::read(&args.table.file).map_err(failure)?;
    let families =
        [family::<u32>("IPv4", &args.table.file, &text)?, family::<u128>("IPv6", &args.table.file, &text)?];
    let found: Vec<(String, Value)> = families.into_iter().flatten().collect();
    if found.is_empty() {
        return Err(Failure::Other(
            errors::files::EMPTY,
            format!("{} has no routes", args.table.file.display()),
        ));
    }
    let lines: Vec<&str> = found.iter().map(|f| f.0.trim_end()).collect();
    let objects: Vec<&Value> = found.iter().map(|f| &f.1).collect();
    Ok(args.json.console().result(&lines.join("\n"), &json!({ "families": objects }))?)
}

/// What is to be said of the routes of one family; `None` without any.
fn family<A: Walk>(name: &str, file: &Path, text: &str) -> Result<Option<(String, Value)>, Failure> {
    let made = table::<A>(file, text)?;
    let fib = made.fib;
    if fib.is_empty() {
        return Ok(None);
    }
    let routes = fib.routes();
    let mut lengths = vec![0u64; usize::from(A::BITS) + 1];
    routes.iter().for_each(|(prefix, _)| lengths[usize::from(prefix.len())] += 1);
    let lengths: Vec<(usize, u64)> = lengths.into_iter().enumerate().filter(|l| l.1 > 0).collect();
    let mut next_hops: Vec<NextHop> = routes.iter().map(|r| r.1).collect();
    next_hops.sort_unstable();
    next_hops.dedup();
    let usage = fib.usage();
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ = writeln!(
        text,
        "{name}: {} to {}, made in {:.3} s\n  lookup memory {} bytes: {} nodes, {} words",
        many(routes.len() as u64, "route"),
        many(next_hops.len() as u64, "next hop"),
        made.seconds,
        usage.bytes,
        usage.nodes,
        usage.words
    );
    if made.repeated > 0 {
        let _ = writeln!(
            text,
            "  {} more with a prefix that was there: the last counts",
            many(made.repeated, "line")
        );
    }
    for (len, count) in &lengths {
        let _ = writeln!(text, "  /{len:<3} {count:>9}");
    }
    let lengths: serde_json::Map<_, _> =
        lengths.into_iter().map(|(l, n)| (l.to_string(), n.into())).collect();
    let object = json!({
        "family": name, "routes": routes.len(), "next_hops": next_hops.len(), "build_seconds": made.seconds,
        "repeated": made.repeated,
        "bytes": usage.bytes, "nodes": usage.nodes, "words": usage.words, "lengths": lengths,
    });
    Ok(Some((text, object)))
}

/// The table of a family.
struct Made<A: Walk> {
    fib: Fib<A>,
    /// How long its lookup memory took.
    seconds: f64,
    /// Lines whose prefix a line before them has.
    repeated: u64,
}

fn table<A: Walk>(file: &Path, text: &str) -> Result<Made<A>, Failure> {
    let routes = text::table::<A>(text)
        .map_err(|e| Failure::Other(errors::files::WRONG_CONTENT, format!("{}: {e}", file.display())))?;
    let (lines, start) = (routes.len(), Instant::now());
    let fib = Fib::build(Limits::for_routes(lines), routes).map_err(failure)?;
    let seconds = start.elapsed().as_secs_f64();
    let repeated = (lines - fib.len()) as u64;
    Ok(Made { fib, seconds, repeated })
}

fn failure(e: FibError) -> Failure {
    let code = match e {
        FibError::Os { .. } => errors::files::UNREADABLE,
        _ => errors::files::WRONG_CONTENT,
    };
    Failure::Other(code, e.to_string())
}
