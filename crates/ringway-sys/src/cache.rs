//! The processor's caches: lines that are fetched before they are needed.

/// What a line of the cache has.
const LINE: usize = 64;

/// Asks the processor to fetch all lines of a record, which the caller will write soon. Nothing waits for them, and nothing changes.
///
/// ```
/// let records = vec![[0u64; 8]; 1000];
/// ringway_sys::cache::fetch(&records[77]);
/// assert_eq!(records[77], [0; 8]);
/// ```
#[inline(always)]
pub fn fetch<T>(record: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in 0..size_of::<T>().div_ceil(LINE) {
        let at = std::ptr::from_ref(record).cast::<u8>().wrapping_add(line * LINE);
        // SAFETY: a hint reads and writes nothing. A processor that does not know it does nothing.
        unsafe { std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = record;
}
