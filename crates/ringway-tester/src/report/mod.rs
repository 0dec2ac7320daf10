//! Reports as pages that ask nobody: no script, no font, no request to anywhere.
//!
//! | module | holds |
//! | --- | --- |
//! | [`page`] | what all pages share: frame, origin, tables |
//! | [`check`] | whether a page is whole |
//! | `plot` | charts |
//! | `scale` | ticks of their axes |

pub mod check;
pub mod page;
pub mod plot;
pub mod scale;
pub mod text;
