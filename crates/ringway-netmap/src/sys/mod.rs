//! The code besides the hooks that is unsafe: libc's own functions, memory that programs name, values that calls use while they end.
#![allow(unsafe_code, reason = "system calls take pointers")]

pub(crate) mod counted;
pub(crate) mod kernel;
pub(crate) mod own_memory;
pub(crate) mod peer;
pub(crate) mod real;
