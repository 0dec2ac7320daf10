//! Random numbers of the kernel.

use std::io;

/// `N` words that nobody can guess.
pub fn words<const N: usize>() -> io::Result<[u64; N]> {
    let mut words = [0u64; N];
    let len = size_of_val(&words);
    assert!(len <= 256, "the kernel gives more in pieces");
    loop {
        // SAFETY: `words` has `len` bytes, in which any values are valid.
        let got = unsafe { libc::getrandom(words.as_mut_ptr().cast(), len, 0) };
        if got == len as isize {
            return Ok(words);
        }
        // A signal came before the kernel had collected enough.
        let e = io::Error::last_os_error();
        if got < 0 && e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_differ() {
        let [a, b, c] = super::words().unwrap();
        assert!(a != b && b != c && [a, b, c] != super::words().unwrap());
    }
}
