//! The verifier: what it accepts, the machine may run without a further look.
//!
//! | it proves | for |
//! | --- | --- |
//! | each index, slot, register and jump target exists | each instruction (`operands`) |
//! | no program runs off its end | each instruction |
//! | a register is written before it is read | each path (`paths`) |
//! | a slot is opened before it is used, and closed at the end | each path (`slots`) |
//! | a wait for the peer has a limit | each path (`paths`) |
//! | branches share no slot, and no register that one writes | each group of branches (`branches`) |
//! | numbers of tables lie in their ranges, addresses in pools, pools in laboratory ranges | each table (`tables`, `plan`) |
//!
//! It does not prove that a program ends: the machine gives each run a budget of instructions. No wait is without an end.

mod branches;
mod operands;
mod paths;
mod plan;
mod pools;
mod refusal;
mod slots;
mod tables;

use super::{Bundle, End};
pub use pools::is_laboratory;
pub use refusal::Refusal;

/// Looks at all of a bundle.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(bundle: &Bundle) -> Result<(), Refusal> {
    pools::check(bundle)?;
    tables::check(bundle)?;
    plan::check(bundle)?;
    for flow in &bundle.flows {
        for end in [End::Client, End::Server] {
            let unit = operands::Unit { bundle, flow, end };
            operands::check(&unit)?;
            branches::check(&unit)?;
        }
    }
    Ok(())
}
