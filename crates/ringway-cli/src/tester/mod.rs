//! What `rfc2544` and `rfc2889` share.
//!
//! | module | holds |
//! | --- | --- |
//! | [`options`], [`values`] | the options of both, and how their values are read |
//! | [`device`] | devices under test by name |
//! | [`line`] | the line at the bottom of a terminal |
//! | [`origin`], [`files`] | what a report comes from, and files that it is written to |

pub(crate) mod device;
pub(crate) mod files;
pub(crate) mod line;
pub(crate) mod options;
pub(crate) mod origin;
pub(crate) mod values;
