//! State that an expectation keeps between two segments: plain words, which the flow's context holds.

/// Where an expectation stands in its message. The default is its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MatchState(pub(super) u64);

impl MatchState {
    /// The state of a message of which `bytes` were sent.
    pub(crate) const fn at(bytes: u64) -> Self {
        Self(bytes)
    }

    /// How many bytes were sent, of a message that is sent in parts.
    pub(crate) const fn position(self) -> u64 {
        self.0
    }
}

/// Words that `ExpectP`, and `ExpectV` with a piece that takes, keep besides. All 0 at the beginning of the message.
pub(crate) type Scratch = [u64; 4];

/// Bytes of a state and its scratch.
const ROOM: usize = size_of::<MatchState>() + size_of::<Scratch>();

const _: () = assert!(ROOM == 40, "a parser has 8 bytes in the context, and 4 words of scratch");

/// A part of a parser's state. Its default is all zeros.
pub(super) trait Field: Copy + Default {
    /// Its bytes.
    const SIZE: usize;

    /// Reads it from the first bytes.
    fn get(from: &[u8]) -> Self;

    /// Writes it to the first bytes.
    fn put(self, to: &mut [u8]);
}

/// Reads a parser's state. Its first 8 bytes are in `state`.
#[inline]
pub(super) fn load<T: Field>(state: MatchState, scratch: &Scratch) -> T {
    const { assert!(T::SIZE <= ROOM, "a parser's state is too long") };
    let mut bytes = [0; ROOM];
    let words = std::iter::once(&state.0).chain(scratch);
    words.zip(bytes.as_chunks_mut().0).for_each(|(word, chunk)| *chunk = word.to_le_bytes());
    T::get(&bytes)
}

/// Keeps a parser's state.
#[inline]
pub(super) fn store<T: Field>(parser: T, state: &mut MatchState, scratch: &mut Scratch) {
    let mut bytes = [0; ROOM];
    parser.put(&mut bytes);
    let words = std::iter::once(&mut state.0).chain(scratch);
    words.zip(bytes.as_chunks().0).for_each(|(word, chunk)| *word = u64::from_le_bytes(*chunk));
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Field for $type {
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn get(from: &[u8]) -> Self {
                from.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn put(self, to: &mut [u8]) {
                to[..size_of::<Self>()].copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128);

impl Field for bool {
    const SIZE: usize = 1;

    #[inline]
    fn get(from: &[u8]) -> Self {
        u8::get(from) != 0
    }

    #[inline]
    fn put(self, to: &mut [u8]) {
        u8::from(self).put(to);
    }
}

/// A struct of fields, which is a [`Field`] itself.
macro_rules! fields {
    ($(#[$about:meta])* struct $name:ident { $($(#[$text:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name {
            $($(#[$text])* pub(super) $field: $type,)*
        }

        impl $crate::machine::message::state::Field for $name {
            const SIZE: usize = 0 $(+ <$type as $crate::machine::message::state::Field>::SIZE)*;

            #[inline]
            fn get(from: &[u8]) -> Self {
                let mut fields = Self::default();
                let rest = from;
                $(
                    fields.$field = <$type as $crate::machine::message::state::Field>::get(rest);
                    let rest = &rest[<$type as $crate::machine::message::state::Field>::SIZE..];
                )*
                let _ = rest;
                fields
            }

            #[inline]
            fn put(self, to: &mut [u8]) {
                let rest = to;
                $(
                    $crate::machine::message::state::Field::put(self.$field, rest);
                    let rest = &mut rest[<$type as $crate::machine::message::state::Field>::SIZE..];
                )*
                let _ = rest;
            }
        }
    };
}

/// An enum of steps, which is a [`Field`] of one byte. The first one is the default.
macro_rules! steps {
    ($(#[$about:meta])* enum $name:ident { $(#[$text:meta])* $first:ident, $($(#[$more:meta])* $rest:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(super) enum $name {
            $(#[$text])*
            #[default]
            $first,
            $($(#[$more])* $rest,)*
        }

        impl $crate::machine::message::state::Field for $name {
            const SIZE: usize = 1;

            #[inline]
            fn get(from: &[u8]) -> Self {
                const ALL: &[$name] = &[$name::$first, $($name::$rest,)*];
                let number = <u8 as $crate::machine::message::state::Field>::get(from);
                ALL.get(usize::from(number)).copied().unwrap_or_default()
            }

            #[inline]
            fn put(self, to: &mut [u8]) {
                $crate::machine::message::state::Field::put(self as u8, to);
            }
        }
    };
}

pub(super) use {fields, steps};

#[cfg(test)]
mod tests {
    use super::*;

    steps! {
        enum Step { First, Second, }
    }

    fields! {
        struct Inner { flag: bool, step: Step, }
    }

    fields! {
        struct Outer { small: u16, inner: Inner, large: u128, word: u64, }
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let (mut state, mut scratch) = Default::default();
        assert_eq!(Outer::SIZE, 28);
        let inner = Inner { flag: true, step: Step::Second };
        store(Outer { small: 0x1234, inner, large: u128::MAX - 5, word: 7 }, &mut state, &mut scratch);
        assert_eq!(state.0, 0xffff_fffa_0101_1234);
        let outer: Outer = load(state, &scratch);
        assert_eq!((outer.small, outer.large, outer.word), (0x1234, u128::MAX - 5, 7));
        assert_eq!((outer.inner.flag, outer.inner.step), (true, Step::Second));
    }

    #[test]
    fn the_default_is_all_zeros_and_a_step_that_does_not_exist_is_the_first() {
        let (mut state, mut scratch) = (MatchState(9), [9; 4]);
        store(Outer::default(), &mut state, &mut scratch);
        assert_eq!((state, scratch), Default::default());
        assert_eq!(Step::get(&[2]), Step::First);
    }
}
