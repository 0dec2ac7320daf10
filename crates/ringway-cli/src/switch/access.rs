//! Who may use a port: users, groups and modes as people write them, and whether they can get to it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use ringway::switch::PortAccess;
use serde_json::{Value, json};

/// Who may open a port.
#[derive(Debug, clap::Args)]
pub(super) struct AccessOptions {
    /// User that owns it, by name or number
    #[arg(long, value_name = "USER", value_parser = user)]
    owner: Option<u32>,

    /// Its group, by name or number
    #[arg(long, value_name = "GROUP", value_parser = group)]
    group: Option<u32>,

    /// Who may open it: 600 its owner, 660 its group too, 666 everybody; 660 where --group is named without a mode
    #[arg(long, value_parser = mode)]
    mode: Option<u32>,
}

impl AccessOptions {
    /// Whether one of them is given.
    pub(super) fn is_given(&self) -> bool {
        self.owner.is_some() || self.group.is_some() || self.mode.is_some()
    }

    /// What is to be, given the mode that there is.
    pub(super) fn access(&self, mode: u32) -> PortAccess {
        let mode = self.mode.unwrap_or_else(|| implied_mode(mode, self.group));
        PortAccess { uid: self.owner, gid: self.group, mode }
    }
}

/// The mode where none is named: a group that is named may open the port.
pub(crate) fn implied_mode(mode: u32, group: Option<u32>) -> u32 {
    if group.is_some() { mode | 0o060 } else { mode }
}

/// A user by name or number.
pub(crate) fn user(text: &str) -> Result<u32, String> {
    let found = User::from_name(text).map_err(|e| format!("looking the user up failed: {e}"))?;
    let number = || text.parse().ok().filter(|&id| id != u32::MAX);
    found
        .map(|u| u.uid.as_raw())
        .or_else(number)
        .ok_or_else(|| "there is no such user; `getent passwd` lists users, a number is accepted too".into())
}

/// A group by name or number.
pub(crate) fn group(text: &str) -> Result<u32, String> {
    let found = Group::from_name(text).map_err(|e| format!("looking the group up failed: {e}"))?;
    let number = || text.parse().ok().filter(|&id| id != u32::MAX);
    found
        .map(|g| g.gid.as_raw())
        .or_else(number)
        .ok_or_else(|| "there is no such group; `getent group` lists groups, a number is accepted too".into())
}

/// Permission bits in octal. Using a port takes both reading and writing, so each of owner, group and others has both or none.
pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let plain = text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    let mode = u32::from_str_radix(text, 8).ok().filter(|m| plain && m & !0o666 == 0);
    let whole = |m: &u32| [m >> 6, m >> 3, *m].iter().all(|bits| matches!(bits & 7, 0 | 6));
    mode.filter(whole).ok_or_else(|| "accepted: 600, 660, 666 and the like, 6 or 0 for each".into())
}

/// Name of a user; its number when it has none.
pub(crate) fn user_name(uid: u32) -> String {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map_or_else(|| uid.to_string(), |u| u.name)
}

/// Name of a group; its number when it has none.
pub(crate) fn group_name(gid: u32) -> String {
    Group::from_gid(Gid::from_raw(gid)).ok().flatten().map_or_else(|| gid.to_string(), |g| g.name)
}

/// Owner, group and mode, such as `alice:netops 660`.
pub(super) fn rights(access: &PortAccess) -> String {
    let owner = access.uid.map_or_else(|| "?".to_owned(), user_name);
    let group = access.gid.map_or_else(|| "?".to_owned(), group_name);
    format!("{owner}:{group} {:03o}", access.mode)
}

/// The same as keys of JSON.
pub(super) fn access_keys(access: &PortAccess) -> Value {
    json!({
        "owner": access.uid.map(user_name),
        "uid": access.uid,
        "group": access.gid.map(group_name),
        "gid": access.gid,
        "mode": format!("{:03o}", access.mode),
    })
}

/// Why the users of a port can't get to it, with the cure: they may not search a directory above the switches. systemd mounts the BPF
/// file system so.
pub(crate) fn barrier(access: &PortAccess) -> Option<String> {
    let root = ringway::pinned::root();
    let above: Vec<&Path> = root.ancestors().filter(|dir| !dir.as_os_str().is_empty()).collect();
    let closed = above.into_iter().rev().find_map(|dir| {
        let meta = fs::metadata(dir).ok()?;
        let who = kept_out(access, meta.uid(), meta.gid(), meta.mode())?;
        Some((PathBuf::from(dir), who))
    });
    closed.map(|(dir, who)| {
        let dir = dir.display();
        format!(
            "{who} can't reach the port: {dir} may not be searched; `chmod o+x {dir}`, at each boot if it is mounted then, or \
             keep the switch in another BPF file system with --bpffs"
        )
    })
}

/// Of those who may use a port the first who may not search a directory. Root may search all.
fn kept_out(access: &PortAccess, uid: u32, gid: u32, mode: u32) -> Option<String> {
    let (user, group) = (access.uid.unwrap_or(0), access.gid.unwrap_or(0));
    let others = mode & 0o001 != 0;
    let searches = |bit: bool| bit || others;
    if access.mode & 0o600 != 0 && user != 0 {
        let own = if uid == user { mode & 0o100 != 0 } else { searches(gid == group && mode & 0o010 != 0) };
        if !own {
            return Some(user_name(user));
        }
    }
    if access.mode & 0o060 != 0 && group != 0 && !searches(gid == group && mode & 0o010 != 0) {
        return Some(format!("group {}", group_name(group)));
    }
    (access.mode & 0o006 != 0 && !others).then(|| "others".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_by_name_and_number() {
        assert_eq!((user("root"), user("4711")), (Ok(0), Ok(4711)));
        assert_eq!((group("root"), group("4712")), (Ok(0), Ok(4712)));
        for bad in ["", "no such user", "-1", "4294967295", "1.5"] {
            assert!(user(bad).is_err() && group(bad).is_err(), "{bad}");
        }
        assert_eq!((user_name(0), user_name(4_000_000)), ("root".into(), "4000000".into()));
        assert_eq!((group_name(0), group_name(4_000_000)), ("root".into(), "4000000".into()));
    }

    #[test]
    fn modes_give_both_or_none() {
        for (text, bits) in [("600", 0o600), ("660", 0o660), ("0666", 0o666), ("060", 0o060), ("0", 0)] {
            assert_eq!(mode(text), Ok(bits), "{text}");
        }
        for bad in ["", "640", "700", "rw", "8", "-6", "00660", "1600", "+66"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn whom_a_directory_keeps_out() {
        let access = |uid, gid, mode| PortAccess { uid: Some(uid), gid: Some(gid), mode };
        for (to, dir, who) in [
            (access(0, 0, 0o600), (0, 0, 0o700), None),
            (access(4_000_000, 0, 0o600), (0, 0, 0o755), None),
            (access(4_000_000, 0, 0o600), (0, 0, 0o700), Some("4000000")),
            (access(4_000_000, 0, 0o060), (0, 0, 0o700), None),
            (access(4_000_000, 0, 0o600), (4_000_000, 0, 0o700), None),
            (access(4_000_000, 0, 0o600), (4_000_000, 0, 0o607), Some("4000000")),
            (access(0, 4_000_001, 0o660), (0, 0, 0o700), Some("group 4000001")),
            (access(0, 4_000_001, 0o660), (0, 4_000_001, 0o710), None),
            (access(0, 0, 0o666), (0, 0, 0o750), Some("others")),
        ] {
            assert_eq!(kept_out(&to, dir.0, dir.1, dir.2).as_deref(), who, "{to:?} {dir:?}");
        }
    }
}
