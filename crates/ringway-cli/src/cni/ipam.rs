//! The plugin for addresses, which runs with the same environment and the same input.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::error::{Code, Error, Result};
use super::request::variable;

/// A plugin that was found.
pub(super) struct Ipam<'a> {
    name: &'a str,
    file: PathBuf,
    input: &'a [u8],
}

impl<'a> Ipam<'a> {
    /// Finds the plugin in the folders of `CNI_PATH`.
    pub(super) fn find(name: &'a str, input: &'a [u8]) -> Result<Self> {
        let path = variable("CNI_PATH").ok_or_else(|| {
            let what = format!("CNI_PATH is missing; the plugin {name} for addresses is looked for there");
            Error::new(Code::Environment, what)
        })?;
        let file = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file));
        let missing = || {
            let what = format!("ipam.type: no program {name} in CNI_PATH ({path}); install it there");
            Error::new(Code::Config, what)
        };
        Ok(Self { name, file: file.ok_or_else(missing)?, input })
    }

    /// Runs it for a command of the specification. `ADD` prints its result, other commands nothing.
    pub(super) fn run(&self, command: &str) -> Result<Value> {
        let failed = |what: &str, e: &std::io::Error| {
            Error::new(Code::Io, format!("ipam {}: {what} {} failed: {e}", self.name, self.file.display()))
        };
        let mut child = Command::new(&self.file)
            .env("CNI_COMMAND", OsString::from(command))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| failed("starting", &e))?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(self.input));
        let output = child.wait_with_output().map_err(|e| failed("waiting for", &e))?;
        match written {
            // It need not read all.
            Err(e) if e.kind() != ErrorKind::BrokenPipe => return Err(failed("writing to", &e)),
            _ => {}
        }
        if !output.status.success() {
            return Err(self.refusal(command, &output.stdout, &output.status.to_string()));
        }
        if command != "ADD" {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&output.stdout).map_err(|e| {
            Error::new(Code::Decode, format!("ipam {}: the result of ADD is not JSON: {e}", self.name))
        })
    }

    /// Its error, with its own code where it has one.
    fn refusal(&self, command: &str, output: &[u8], status: &str) -> Error {
        let object: Value = serde_json::from_slice(output).unwrap_or_default();
        let why = object["msg"].as_str().unwrap_or(status);
        Error {
            code: object["code"].as_u64().unwrap_or(Code::Refused as u64),
            message: format!("ipam {}: {command} failed: {why}", self.name),
            details: object["details"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
