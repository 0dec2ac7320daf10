//! Names of the files and directories that a router has among the pinned objects.

/// The file that tells a router from a switch.
pub(super) const MARK: &str = "router";

/// The directory of the tables published last.
pub(super) const TABLES: &str = "tables";

/// The map of what stages cost. Routers of earlier versions have none until a control process makes it.
pub(super) const STAGES: &str = "stages";

/// The directory of what attaches programs to members.
pub(super) const MEMBER: &str = "member";

/// The directory of what attaches the programs that count taken frames.
pub(super) const LINKS: &str = "taken";

/// The directory that the control process has locked.
pub(super) const CLAIM: &str = "control";
