//! `ringway apply` and `ringway export`: switches and routers as files say.
//!
//! | module | what it has |
//! | --- | --- |
//! | `apply`, `export` | the commands |
//! | `folder`, `table` | files, read; tables of TOML with known keys |
//! | `state`, `keys` | switches and routers; the words that files have for them |
//! | `wanted`, `existing` | what files want, and what is there |
//! | `namespaces` | network namespaces, opened and named |
//! | `diff`, `notes`, `plan` | the difference, as lines for people and steps for the machine |
//! | `carry_out` | steps, carried out and undone |

pub(crate) mod apply;
mod carry_out;
mod diff;
mod existing;
pub(crate) mod export;
mod folder;
mod keys;
mod namespaces;
mod notes;
mod plan;
mod state;
mod table;
mod wanted;
