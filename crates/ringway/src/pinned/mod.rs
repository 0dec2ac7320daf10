//! The directory of pinned eBPF objects in which things that move packets have their folders: switches, and routers of
//! crate `ringway-router`.
//!
//! ```text
//! <root>/lock/                root alone; locked while a folder is made or removed
//! <root>/vale0/               a switch or a router
//!     lock/                   root alone; locked while it is changed
//! <root>/~vale0/              being made or removed, or left by a process that was killed
//! ```
//!
//! The root is `/sys/fs/bpf/ringway`, or what [`set_root`] or else `RINGWAY_BPFFS` says. Only root writes to these
//! directories, and each process checks that before it trusts a name in them.
//!
//! | module | what it has |
//! | --- | --- |
//! | `root`, `mount` | the directory itself: named, checked, made |
//! | `trust` | refuses directories that others than root can change |
//! | `visible` | mount namespaces that hide the directory |
//! | `whole` | folders that come and go whole |
//! | `name`, `list`, `find` | what folders are called, which there are, where one is |
//! | `folder` | [`Folder`], a folder of any kind |

mod find;
mod folder;
mod list;
mod mount;
mod name;
mod root;
pub(crate) mod trust;
mod visible;
mod whole;

pub(crate) use find::{find, missing};
pub use folder::{Folder, FolderLock};
pub(crate) use list::switches;
pub use list::{is_router, routers};
pub(crate) use mount::make_root;
pub use name::{check_name, check_router_name};
pub use root::{check_root, root, set_root};
pub use visible::check_visible;
pub use whole::clear;
pub(crate) use whole::{LOCK, clean, discard, lock_root, make_lock, make_whole};
