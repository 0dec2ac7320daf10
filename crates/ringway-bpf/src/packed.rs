//! Objects as a program carries them.

/// An object in a quarter of its bytes. Most programs that carry all objects load one or two of them.
#[derive(Debug, Clone, Copy)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// `deflated` is what the build made of an object.
    pub(crate) const fn new(deflated: &'static [u8]) -> Self {
        Self(deflated)
    }

    /// The object, an ELF file. That takes about a millisecond. libbpf copies what it keeps of an object that it opens.
    #[must_use]
    pub fn unpack(self) -> Vec<u8> {
        miniz_oxide::inflate::decompress_to_vec(self.0).expect("the build packed it")
    }
}
