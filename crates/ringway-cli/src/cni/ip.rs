//! iproute2's `ip`, here and in the network namespace of a container.

use std::process::Command;
use std::thread;

use ringway::{ErrorKind, enter_netns};
use serde_json::Value;

use super::error::{Code, Error, Result};

/// Runs `ip`; returns its output.
pub(super) fn ip(arguments: &[&str]) -> Result<String> {
    let output = Command::new("ip").args(arguments).output().map_err(|e| {
        Error::new(
            Code::Io,
            format!("starting ip failed: {e}; install iproute2 where PATH of the runtime finds it"),
        )
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let why = words.lines().next().unwrap_or("no reason given");
    Err(Error::new(Code::Refused, format!("ip {} failed: {why}", arguments.join(" "))))
}

/// The objects that `ip -json` prints.
pub(super) fn objects(arguments: &[&str]) -> Result<Vec<Value>> {
    let text = ip(&[&["-json"], arguments].concat())?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|e| Error::new(Code::Decode, format!("ip -json {}: {e}", arguments.join(" "))))
}

/// Does something on a thread in the network namespace of a container.
pub(super) fn inside<T: Send>(netns: &str, job: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter_netns(netns).map_err(|e| match e.kind() {
                ErrorKind::NotFound | ErrorKind::Unfit => {
                    Error::new(Code::NoContainer, format!("CNI_NETNS: {e}"))
                }
                _ => e.into(),
            })?;
            job()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
