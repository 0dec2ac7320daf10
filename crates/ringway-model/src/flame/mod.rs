//! Flame graphs: each function as wide as its share of the samples, above its caller, and in the colour of its group.
//!
//! | module | what it does |
//! | --- | --- |
//! | `merged` | the trees of one profile, or of two, under the names of their threads |
//! | `layout` | places of boxes; boxes too narrow to be seen are counted |
//! | `svg` | an image that asks nobody for anything |
//! | `paint` | colours by group, and by difference |
//! | `folded` | stacks as lines of text, for other tools |

mod folded;
mod layout;
mod merged;
mod paint;
mod svg;

pub use folded::folded;
pub use merged::{Merged, Selection};
pub use paint::colour;
pub use svg::{Title, differential, flame_graph};
