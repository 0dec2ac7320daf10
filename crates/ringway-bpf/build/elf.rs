//! Sections of 64-bit ELF files of this machine's byte order.

/// Where a section begins, and how many bytes it has.
pub(crate) fn section(elf: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let half = |at: usize| Some(u16::from_ne_bytes(elf.get(at..at + 2)?.try_into().ok()?) as usize);
    let word = |at: usize| Some(u32::from_ne_bytes(elf.get(at..at + 4)?.try_into().ok()?) as usize);
    let long = |at: usize| Some(u64::from_ne_bytes(elf.get(at..at + 8)?.try_into().ok()?) as usize);
    let (headers, size, count, names) = (long(0x28)?, half(0x3a)?, half(0x3c)?, half(0x3e)?);
    let names = long(headers + names * size + 24)?;
    (0..count).map(|n| headers + n * size).find_map(|header| {
        let found = elf.get(names + word(header)?..)?;
        let same = found.starts_with(name) && found.get(name.len()) == Some(&0);
        same.then(|| Some((long(header + 24)?, long(header + 32)?)))?
    })
}
