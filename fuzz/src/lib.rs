//! What the targets share: numbers and pieces out of the bytes that the fuzzer makes.

/// Takes values off the front of an input; zeros and empty pieces when it is used up.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of an input.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether it is used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next `len` bytes, or the bytes that are left.
    pub fn piece(&mut self, len: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        piece
    }

    /// The next bytes, as many as a byte before them says.
    pub fn short(&mut self) -> &'a [u8] {
        let len = self.u8().into();
        self.piece(len)
    }

    /// The next bytes, as many as two bytes before them say.
    pub fn long(&mut self) -> &'a [u8] {
        let len = self.u16().into();
        self.piece(len)
    }

    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        u32::from(self.u8()) % n
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let piece = self.piece(N);
        out[..piece.len()].copy_from_slice(piece);
        out
    }
}

/// Fails when an error message has a control character: it goes to a terminal, in one line.
pub fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}
