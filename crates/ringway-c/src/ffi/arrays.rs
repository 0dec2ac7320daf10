//! Arrays for the program, with the texts that their elements name in one piece of memory: free(3) ends all.

use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};

use ringway::{Error, ErrorKind, Result};

use super::{check, store};

/// Gives an array to the program; returns how many elements it has. `name` puts the addresses of its texts into an element.
pub(super) fn give_array<T: Copy, const N: usize>(
    place: *mut *mut T,
    elements: &[([Option<CString>; N], T)],
    name: impl Fn(&mut T, [*const c_char; N]),
) -> Result<c_int> {
    check(place, "the place for the array")?;
    let texts = || elements.iter().flat_map(|(texts, _)| texts.iter().flatten());
    let bytes: usize = texts().map(|text| text.as_bytes_with_nul().len()).sum();
    if elements.is_empty() {
        store(place, null_mut());
        return Ok(0);
    }
    // SAFETY: no pointers are passed.
    let array = unsafe { libc::malloc(size_of::<T>() * elements.len() + bytes) }.cast::<T>();
    if array.is_null() {
        return Err(Error::new(ErrorKind::Io, "ringway", "there is no memory"));
    }
    // SAFETY: the texts lie behind the elements, for which there is room.
    let mut end = unsafe { array.add(elements.len()) }.cast::<c_char>();
    for (i, (texts, element)) in elements.iter().enumerate() {
        let addresses =
            std::array::from_fn(|k| texts[k].as_ref().map_or(null(), |text| copy(text, &mut end)));
        let mut element = *element;
        name(&mut element, addresses);
        // SAFETY: malloc aligns for every type, and `i` is one of the elements.
        unsafe { array.add(i).write(element) };
    }
    store(place, array);
    Ok(elements.len() as c_int)
}

/// Copies a text to `end`, and moves that on.
fn copy(text: &CString, end: &mut *mut c_char) -> *const c_char {
    let bytes = text.as_bytes_with_nul();
    let at = *end;
    // SAFETY: the array was made with room for all texts.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), at, bytes.len());
        *end = at.add(bytes.len());
    }
    at
}
