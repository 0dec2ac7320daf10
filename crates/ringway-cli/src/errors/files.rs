//! Errors of files.

use super::code::{Code, errors};

errors! {
    UNREADABLE = 201: "a file cannot be read",
        "The file is missing, belongs to another user, or is no text where the command needs a text.",
        "Check the name and the rights of the file.";
    UNWRITABLE = 202: "a file cannot be written",
        "The folder is missing, belongs to another user, or its disk is full.",
        "Name another file, or make the folder. Results on standard output are whole all the same.";
    WRONG_CONTENT = 203: "a file has not what it should",
        "The file is damaged, of another version, or of another kind than the command reads.",
        "The error names the line or the reason. Commands that write such files are in `ringway COMMAND --help`.";
    EMPTY = 204: "a file or folder has nothing to work on",
        "The file was read, and has no entry that the command uses.",
        "Name another file. The error says what it looked for.";
}
