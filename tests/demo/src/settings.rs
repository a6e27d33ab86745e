//! What the operator's command needs to find this world, in a file that another terminal takes it from.
//!
//! One of them is a key of two kilobytes, which nobody wants to paste. The file is its owner's alone, in a folder of its own, and
//! both are gone when the world is.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use docket_world::World;
use docket_world::wire::Side;

/// The file, as long as this lives.
pub(crate) struct Settings {
    folder: PathBuf,
}

impl Settings {
    /// All that the operator's command needs, with the address of the door that Telegram calls.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn of(world: &World, door: &str) -> Result<Self> {
        let lines = all(world, door)
            .into_iter()
            .map(|(name, value)| format!("export {name}={}\n", quoted(&in_one_line(value))));
        Self::write(&std::env::temp_dir(), &lines.collect::<String>())
    }

    fn write(below: &Path, text: &str) -> Result<Self> {
        // Kept first: whatever fails afterwards takes the folder away again.
        let settings = Self { folder: own_folder(below)? };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(settings.file())?;
        file.write_all(text.as_bytes())?;
        Ok(settings)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("settings")
    }

    /// The line with which a shell takes them.
    pub(crate) fn taken_by(&self) -> String {
        format!(". {}", quoted(&self.file().to_string_lossy()))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // Somebody may have taken it away already.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A folder that was not there before, so that nobody else can have laid anything into it.
fn own_folder(below: &Path) -> Result<PathBuf> {
    const TRIES: u32 = 100;
    let process = std::process::id();
    for number in 1..=TRIES {
        let folder = below.join(format!("docket-demo-{process}-{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::from(ErrorKind::AlreadyExists))
}

/// All that the operator's command reads.
fn all(world: &World, door: &str) -> Vec<(&'static str, String)> {
    let mut settings = world.settings_of_the_operator();
    settings.extend([
        ("AWS_ENDPOINT_URL_SQS", world.engines.sqs_url().to_owned()),
        ("WRITE_QUEUE_URL", world.queues.write.clone()),
        ("ACKNOWLEDGE_QUEUE_URL", world.queues.acknowledge.clone()),
        ("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram)),
        ("WEBHOOK_URL", format!("{door}/telegram")),
        ("OPERATOR_CHAT", crate::scenes::ANN.to_string()),
    ]);
    settings
}

/// A key file's lines mean nothing: a line for each setting is what can be read again.
fn in_one_line(value: String) -> String {
    serde_json::from_str(&value).map_or(value, |json: serde_json::Value| json.to_string())
}

/// A word of a POSIX shell that stands for exactly this value.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_value_is_pasted_as_it_is_whatever_is_in_it() {
        assert_eq!(quoted("http://127.0.0.1:1/x-y_z"), "http://127.0.0.1:1/x-y_z");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted(r#"{"a": "$HOME `x` \n"}"#), r#"'{"a": "$HOME `x` \n"}'"#);
        assert_eq!(quoted("Ann's"), r"'Ann'\''s'");
    }

    #[test]
    fn the_file_is_its_owners_alone_and_goes_with_the_world() {
        let below = std::env::temp_dir();
        let (one, other) = (Settings::write(&below, "export A=1\n"), Settings::write(&below, ""));
        let (one, other) = (one.expect("a file"), other.expect("another file"));
        assert_ne!(one.folder, other.folder);
        let mode = |path: &Path| std::fs::metadata(path).map(|found| found.permissions().mode() & 0o777).ok();
        assert_eq!((mode(&one.folder), mode(&one.file())), (Some(0o700), Some(0o600)));
        assert_eq!(std::fs::read_to_string(one.file()).ok().as_deref(), Some("export A=1\n"));
        let folder = one.folder.clone();
        drop(one);
        assert_eq!((mode(&folder), mode(&other.folder)), (None, Some(0o700)));
    }
}
