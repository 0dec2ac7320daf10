//! Sequence numbers of TCP: 32 bits that wrap around (RFC 9293, section 3.4).

/// Whether `a` comes before `b`.
#[inline]
pub(crate) const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes before `b` or is the same.
#[inline]
pub(crate) const fn not_after(a: u32, b: u32) -> bool {
    !before(b, a)
}

/// The earlier one of two.
#[inline]
pub(crate) const fn earlier(a: u32, b: u32) -> u32 {
    if before(a, b) { a } else { b }
}

/// The later one of two.
#[inline]
pub(crate) const fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_survives_the_wrap(start: u32, gap in 1..0x7fff_ffff_u32) {
            let next = start.wrapping_add(gap);
            prop_assert!(before(start, next) && !before(next, start) && !before(start, start));
            prop_assert!(not_after(start, next) && not_after(start, start) && !not_after(next, start));
            prop_assert_eq!((later(start, next), later(next, start)), (next, next));
            prop_assert_eq!((earlier(start, next), earlier(next, start)), (start, start));
        }
    }
}
