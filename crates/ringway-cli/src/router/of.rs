//! Which router a command is for.

use std::time::Duration;

use ringway_router::follow::Ask;
use ringway_router::kernel::{Router, routers};

use crate::errors;
use crate::failure::Failure;
use crate::visible::check_seen;

/// Which router.
#[derive(Debug, clap::Args)]
pub(super) struct Of {
    /// Name of the router; needed where there is more than one
    #[arg(short, long, value_name = "NAME")]
    router: Option<String>,
}

/// How long answers may take that only look into tables: they may have to wait for a reading of the kernel's.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which router, for commands with no other name in them.
#[derive(Debug, clap::Args)]
#[command(mut_arg("router", |router| router.hide(true)))]
pub(super) struct Named {
    /// Name of the router; needed where there is more than one
    #[arg(value_name = "ROUTER", conflicts_with = "router")]
    name: Option<String>,

    #[command(flatten)]
    of: Of,
}

impl Named {
    /// The router.
    pub(super) fn of(&self) -> Of {
        Of { router: self.name.clone().or_else(|| self.of.router.clone()) }
    }
}

impl Of {
    pub(super) fn name(&self) -> Result<String, Failure> {
        if let Some(name) = &self.router {
            return Ok(name.clone());
        }
        match &routers()[..] {
            [one] => Ok(one.clone()),
            [] => {
                check_seen()?;
                let what = "there is no router; `ringway router add r0` makes one";
                Err(Failure::Other(errors::switches::NO_ROUTER, what.into()))
            }
            several => Err(Failure::Usage(
                errors::command::MISSING,
                format!("name one of the routers: {}", several.join(", ")),
            )),
        }
    }

    pub(super) fn ask(&self) -> Result<Ask, Failure> {
        let name = self.name()?;
        // without a router there is no process either
        let why = |e| Router::open(&name).err().unwrap_or(e);
        Ok(Ask::open(&name, PATIENCE).map_err(why)?)
    }
}
