//! Huge pages for large tables: fewer misses of the TLB.

/// What a huge page has on machines with pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// Asks the kernel for huge pages behind a slice (madvise(2), `MADV_HUGEPAGE`), so that the processor finds its pages at random places sooner.
///
/// The kernel gives them as pages are first used, where it has some. One without them gives usual pages. So nothing can fail.
///
/// ```
/// let mut table: Vec<u64> = Vec::with_capacity(1 << 20);
/// ringway_sys::huge_pages::ask_for_huge_pages(table.spare_capacity_mut());
/// table.resize(1 << 20, 7);
/// assert_eq!(table[77], 7);
/// ```
pub fn ask_for_huge_pages<T>(memory: &mut [T]) {
    let len = size_of_val(memory);
    let first = memory.as_mut_ptr().cast::<u8>();
    let before = first.align_offset(HUGE);
    let whole = len.saturating_sub(before) / HUGE * HUGE;
    if whole > 0 {
        // SAFETY: the range lies inside of the slice, which this call alone borrows. The advice changes by which pages the kernel maps it,
        // and not what it holds.
        let _ = unsafe { libc::madvise(first.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_what_it_holds() {
        let mut words: Vec<u32> = (0..3 << 20).collect();
        ask_for_huge_pages(&mut words[5..]);
        ask_for_huge_pages(&mut words[..100]);
        ask_for_huge_pages::<u32>(&mut []);
        assert!((0..).zip(&words).all(|(number, &word)| number == word));
    }
}
