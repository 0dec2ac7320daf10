//! The stories that ship, compiled in.

/// A file of stories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name: that of the file, without `.flow`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Shipped {
    /// What the file is about: its first comment line. Empty without one.
    ///
    /// ```
    /// let ftp = ringway_flows::run::stories::find("ftp").unwrap();
    /// assert!(ftp.about().starts_with("Files over FTP"));
    /// ```
    pub fn about(&self) -> &'static str {
        let comment = self.text.lines().find_map(|line| line.strip_prefix('#'));
        comment.unwrap_or_default().trim()
    }

    /// The names of its flows and attacks, in their order.
    pub fn flows(&self) -> impl Iterator<Item = &'static str> {
        let names = self.text.lines().filter_map(|line| {
            line.strip_prefix("flow ").or_else(|| line.strip_prefix("attack ")).map(str::trim_start)
        });
        names.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
    }
}

/// All files of stories, by name.
pub const ALL: [Shipped; 10] = [
    Shipped { name: "attacks", text: include_str!("../../stories/attacks.flow") },
    Shipped { name: "datagrams", text: include_str!("../../stories/datagrams.flow") },
    Shipped { name: "dns", text: include_str!("../../stories/dns.flow") },
    Shipped { name: "echo", text: include_str!("../../stories/echo.flow") },
    Shipped { name: "example", text: include_str!("../../stories/example.flow") },
    Shipped { name: "ftp", text: include_str!("../../stories/ftp.flow") },
    Shipped { name: "http", text: include_str!("../../stories/http.flow") },
    Shipped { name: "mail", text: include_str!("../../stories/mail.flow") },
    Shipped { name: "peers", text: include_str!("../../stories/peers.flow") },
    Shipped { name: "tls", text: include_str!("../../stories/tls.flow") },
];

/// Files that stories read, by the names that the stories have for them.
const FILES: [(&str, &[u8]); 6] = [
    ("tls/1-client.bin", include_bytes!("../../stories/tls/1-client.bin")),
    ("tls/2-server.bin", include_bytes!("../../stories/tls/2-server.bin")),
    ("tls/3-client.bin", include_bytes!("../../stories/tls/3-client.bin")),
    ("tls/4-server.bin", include_bytes!("../../stories/tls/4-server.bin")),
    ("tls/5-client.bin", include_bytes!("../../stories/tls/5-client.bin")),
    ("tls/6-server.bin", include_bytes!("../../stories/tls/6-server.bin")),
];

/// The file of stories with this name.
pub fn find(name: &str) -> Option<Shipped> {
    ALL.into_iter().find(|story| story.name == name)
}

/// Reads a file that a story which ships names: another one of them, as `ftp.flow`, or a recording.
///
/// # Errors
/// When there is no such file.
pub fn read(name: &str) -> Result<Vec<u8>, String> {
    let story = name.strip_suffix(".flow").and_then(find).map(|story| story.text.as_bytes());
    let file = || FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes);
    let found = story.or_else(file);
    found.map(<[u8]>::to_vec).ok_or_else(|| format!("no file that ships is called {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Options, Source, compile};

    #[test]
    fn each_file_of_the_folder_is_here_and_compiles() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/stories");
        let files =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            files.filter_map(|file| file.strip_suffix(".flow").map(str::to_owned)).collect();
        names.sort();
        assert_eq!(names, ALL.map(|story| story.name));
        for story in ALL {
            assert!(!story.about().is_empty(), "{}", story.name);
            let source = Source { name: story.name, text: story.text, read: &read };
            let bundle =
                compile(&source, &Options::default()).unwrap_or_else(|e| panic!("{}: {e}", story.name));
            let of_bundle: Vec<&str> = bundle.flows.iter().map(|flow| bundle.name(flow.name)).collect();
            let found = |name: &&str| story.flows().any(|flow| flow == name.split('(').next().unwrap());
            assert!(of_bundle.iter().all(found), "{of_bundle:?}");
        }
    }
}
