//! Safe, zero-copy views of protocol headers.
