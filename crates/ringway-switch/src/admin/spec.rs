//! How a switch is made.

use std::time::Duration;

use super::module::Module;
use crate::layout;
use crate::shape::Shape;
use ringway_sys::error::{Error, ErrorKind, Result};

/// How a switch is made. All its ports have the same rings.
///
/// ```
/// use std::time::Duration;
/// let spec = ringway_switch::SwitchSpec { ageing: Duration::from_secs(60), ..Default::default() };
/// assert_eq!(spec.slots, 1024);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Slots of each ring: a power of two, 64 to 4096.
    pub slots: u32,
    /// Rings of each direction, 1 to 8. Tx ring i of a port fills rx ring i of others.
    pub rings: u32,
    /// Bytes of a buffer: a multiple of 64, 256 to 2112. Longer frames take several slots.
    pub buf_size: u32,
    /// How long an address is remembered after its last frame, to within a 32nd; zero: for ever. At least 32 ms.
    pub ageing: Duration,
    /// Addresses that are learned of one port at most. The table has 131,072 entries in all, in buckets of 8, of which one port
    /// may have 6.
    pub quota: u32,
    /// What decides where frames go.
    pub module: Module,
}

impl Default for SwitchSpec {
    fn default() -> Self {
        Self {
            slots: 1024,
            rings: 1,
            buf_size: layout::BUF_SIZE,
            ageing: Duration::from_secs(300),
            quota: 65536,
            module: Module::Bridge,
        }
    }
}

impl SwitchSpec {
    /// Refuses a size that is out of bounds, before a switch called `name` is made.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`].
    pub fn validate(&self, name: &str) -> Result<()> {
        self.check(name).map(drop)
    }

    pub(super) fn check(&self, name: &str) -> Result<Shape> {
        let shape = Shape { slots: self.slots, rings: self.rings, buf_size: self.buf_size };
        shape.check(name)?;
        let refuse = |what: String, cure: &str| Err(Error::new(ErrorKind::Invalid, name, what).cure(cure));
        if !self.ageing.is_zero() && self.ageing < Duration::from_millis(32) {
            return refuse(
                format!("addresses age in {:?}", self.ageing),
                "take 32 ms or more, or 0 for never",
            );
        }
        if self.quota == 0 || self.quota as usize > layout::fdb::ENTRIES {
            return refuse(format!("{} addresses a port", self.quota), "take 1 to 131072");
        }
        Ok(shape)
    }

    /// The kernel's unit of age, in ns.
    pub(super) fn age_unit(&self) -> u64 {
        if self.ageing.is_zero() { u64::MAX } else { (self.ageing.as_nanos() / 32) as u64 }
    }
}
