//! The data caches of this machine.

use std::fs;
use std::path::Path;

/// Where the kernel shows the caches of the first CPU.
const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Bytes of each level that holds data, the nearest first; empty where the kernel does not know them.
#[must_use]
pub fn sizes() -> Vec<f64> {
    sizes_in(Path::new(FOLDER))
}

fn sizes_in(folder: &Path) -> Vec<f64> {
    let caches = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sizes: Vec<f64> = caches.filter_map(|entry| of_data(&entry.path())).collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

/// Bytes of a cache in a folder of `level`, `size` and `type`.
fn of_data(folder: &Path) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    if read("type")?.trim() == "Instruction" {
        return None;
    }
    bytes(read("size")?.trim())
}

/// `32K` as bytes.
fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1024.0),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 1024.0 * 1024.0),
            None => (text, 1.0),
        },
    };
    number.parse::<u32>().ok().filter(|n| *n > 0).map(|n| f64::from(n) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;

    #[test]
    fn data_caches_are_found_in_order() {
        let folder = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let all = [
            ("Unified", "1024K"),
            ("Instruction", "32K"),
            ("Data", "48K"),
            ("Unified", "33M"),
            ("Data", "x"),
        ];
        for (k, (kind, size)) in all.iter().enumerate() {
            let cache = folder.path().join(format!("index{k}"));
            fs::create_dir(&cache).unwrap();
            fs::write(cache.join("type"), format!("{kind}\n")).unwrap();
            fs::write(cache.join("size"), format!("{size}\n")).unwrap();
        }
        assert_eq!(sizes_in(folder.path()), [48.0 * 1024.0, 1024.0 * 1024.0, 33.0 * 1024.0 * 1024.0]);
        assert_eq!(sizes_in(Path::new("/nonexistent")), Vec::<f64>::new());
        assert!(sizes().windows(2).all(|w| w[0] <= w[1]));
    }
}
