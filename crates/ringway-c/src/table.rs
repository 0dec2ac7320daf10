//! Tables of routes for either family, by addresses in network byte order.

use ringway::{Error, ErrorKind, Result};
use ringway_fib::{Address, Fib4, Fib6, FibError, Limits, NextHop, Prefix, Reader};

/// What `struct rw_fib *` points to.
#[derive(Debug)]
pub(crate) enum Table {
    V4(Fib4),
    V6(Fib6),
}

/// What `struct rw_fib_reader *` points to.
#[derive(Debug)]
pub(crate) enum TableReader {
    V4(Reader<u32>),
    V6(Reader<u128>),
}

/// Addresses that are looked up at once: as many as a stack has room for.
const BURST: usize = 256;

impl Table {
    /// A table for `routes` routes of that family, or for as many as the largest have.
    pub(crate) fn new(family: i32, routes: usize) -> Result<Self> {
        let limits = Limits::for_routes(routes);
        match family {
            4 => Fib4::new(limits).map(Self::V4).map_err(error),
            6 => Fib6::new(limits).map(Self::V6).map_err(error),
            _ => {
                let what = format!("there are no addresses of family {family}");
                Err(Error::new(ErrorKind::Invalid, "route table", what).cure("pass 4 or 6"))
            }
        }
    }

    /// Bytes of an address.
    pub(crate) fn address_len(&self) -> usize {
        match self {
            Self::V4(_) => 4,
            Self::V6(_) => 16,
        }
    }

    pub(crate) fn insert(&mut self, address: &[u8], len: u32, next_hop: u16) -> Result<()> {
        let next_hop = NextHop::new(next_hop).ok_or_else(|| error(FibError::NextHop { text: "0".into() }))?;
        match self {
            Self::V4(fib) => fib.insert(prefix(v4(address), len)?, next_hop).map_err(error)?,
            Self::V6(fib) => fib.insert(prefix(v6(address), len)?, next_hop).map_err(error)?,
        };
        Ok(())
    }

    /// Whether the prefix was there.
    pub(crate) fn remove(&mut self, address: &[u8], len: u32) -> Result<bool> {
        let removed = match self {
            Self::V4(fib) => fib.withdraw(prefix(v4(address), len)?),
            Self::V6(fib) => fib.withdraw(prefix(v6(address), len)?),
        };
        Ok(removed.map_err(error)?.is_some())
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Self::V4(fib) => fib.len(),
            Self::V6(fib) => fib.len(),
        }
    }

    pub(crate) fn reader(&self) -> Result<TableReader> {
        match self {
            Self::V4(fib) => fib.reader().map(TableReader::V4).map_err(error),
            Self::V6(fib) => fib.reader().map(TableReader::V6).map_err(error),
        }
    }
}

impl TableReader {
    /// Bytes of an address.
    pub(crate) fn address_len(&self) -> usize {
        match self {
            Self::V4(_) => 4,
            Self::V6(_) => 16,
        }
    }

    pub(crate) fn lookup(&mut self, address: &[u8]) -> u16 {
        let next_hop = match self {
            Self::V4(reader) => reader.view().lookup(v4(address)),
            Self::V6(reader) => reader.view().lookup(v6(address)),
        };
        next_hop.map_or(0, NextHop::get)
    }

    /// Looks up addresses that lie one behind the other.
    pub(crate) fn lookup_many(&mut self, addresses: &[u8], next_hops: &mut [u16]) {
        match self {
            Self::V4(reader) => many(reader, addresses, 4, v4, next_hops),
            Self::V6(reader) => many(reader, addresses, 16, v6, next_hops),
        }
    }
}

fn many<A: ringway_fib::Walk + Default>(
    reader: &mut Reader<A>,
    addresses: &[u8],
    len: usize,
    read: impl Fn(&[u8]) -> A,
    next_hops: &mut [u16],
) {
    let mut burst = [A::default(); BURST];
    for (addresses, next_hops) in addresses.chunks(len * BURST).zip(next_hops.chunks_mut(BURST)) {
        for (place, address) in burst.iter_mut().zip(addresses.chunks_exact(len)) {
            *place = read(address);
        }
        reader.view().lookup_burst(&burst[..next_hops.len()], next_hops);
    }
}

fn prefix<A: Address>(address: A, len: u32) -> Result<Prefix<A>> {
    Prefix::new(address, u8::try_from(len).unwrap_or(u8::MAX)).map_err(error)
}

/// An address of IPv4; callers pass as many bytes as it has.
fn v4(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_be_bytes)
}

fn v6(bytes: &[u8]) -> u128 {
    bytes.try_into().map_or(0, u128::from_be_bytes)
}

fn error(e: FibError) -> Error {
    let kind = match &e {
        FibError::Full { .. } | FibError::Readers { .. } => ErrorKind::Unfit,
        FibError::Os { .. } => ErrorKind::Io,
        _ => ErrorKind::Invalid,
    };
    let text = e.to_string();
    let (what, cure) = text.split_once("; ").unwrap_or((&text, ""));
    let error = Error::new(kind, "route table", what);
    if cure.is_empty() { error } else { error.cure(cure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_prefix_of_either_family() {
        for (family, len) in [(4, 4), (6, 16)] {
            let mut table = Table::new(family, 0).unwrap();
            let address = |first: u8, last: u8| {
                let mut bytes = vec![0; len];
                (bytes[0], bytes[len - 1]) = (first, last);
                bytes
            };
            table.insert(&address(10, 0), 8, 1).unwrap();
            table.insert(&address(10, 9), 8 * len as u32, 2).unwrap();
            let mut reader = table.reader().unwrap();
            let one: Vec<u16> =
                [(10, 8), (10, 9), (11, 9)].map(|(a, b)| reader.lookup(&address(a, b))).into();
            assert_eq!((one, table.count(), table.address_len()), (vec![1, 2, 0], 2, len));
            let many: Vec<u8> = (0..600u32).flat_map(|i| address(10 + (i % 2) as u8, 9)).collect();
            let mut next_hops = vec![9; 600];
            reader.lookup_many(&many, &mut next_hops);
            assert!(next_hops.chunks(2).all(|pair| pair == [2, 0]));
            assert!(table.remove(&address(10, 0), 8).unwrap() && !table.remove(&address(10, 0), 8).unwrap());
            assert_eq!(reader.lookup(&address(10, 8)), 0);
        }
    }

    #[test]
    fn wrong_arguments_say_what_is_wrong() {
        assert!(Table::new(5, 0).unwrap_err().to_string().ends_with("; pass 4 or 6"));
        let mut table = Table::new(4, 0).unwrap();
        let refused = |r: Result<()>| r.unwrap_err().kind() == ErrorKind::Invalid;
        assert!(
            refused(table.insert(&[10, 0, 0, 0], 33, 1)) && refused(table.insert(&[10, 0, 0, 0], 999, 1))
        );
        assert!(refused(table.insert(&[10, 0, 0, 0], 8, 0)), "next hop 0");
    }
}
