#![doc = include_str!("../README.md")]
//!
//! | file | what |
//! | --- | --- |
//! | `root`, `mount` | the directory itself: named, checked, made |
//! | `trust` | refuses directories that others than root can change |
//! | `visible` | mount namespaces that hide the directory |
//! | `whole` | folders that come and go whole |
//! | `plain`, `name`, `list`, `find` | what folders are called, which there are, where one is |
//! | `folder` | [`Folder`], a folder of any kind |
#![deny(unsafe_code)]

mod find;
mod folder;
mod list;
mod mount;
mod name;
mod plain;
mod root;
pub mod trust;
mod visible;
mod whole;

pub use find::{find, missing};
pub use folder::{Folder, FolderLock};
pub use list::{is_router, routers, switches};
pub use mount::make_root;
pub use name::{check_name, check_router_name};
pub use plain::{is_port, is_switch};
pub use root::{check_root, root, set_root};
pub use visible::check_visible;
pub use whole::{LOCK, clean, clear, discard, lock_root, make_lock, make_whole};
