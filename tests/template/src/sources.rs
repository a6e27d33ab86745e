//! What the code emits: which function counts which metric, read from its source.
//!
//! A list kept by hand would be wrong the day after; the name of the variant is the name of the metric.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use docket_domain::metric::Metric;

/// The functions, by the names of their resources.
pub const FUNCTIONS: [&str; 4] = ["Webhook", "Writer", "Acknowledger", "Sweeper"];

/// For each function the metrics that it may emit.
///
/// # Panics
/// When the sources cannot be read.
#[must_use]
pub fn emitted() -> BTreeMap<&'static str, BTreeSet<Metric>> {
    let root = root();
    let named = |text: &str| -> BTreeSet<Metric> {
        let is_used = |metric: &Metric| {
            text.match_indices(&format!("Metric::{metric:?}")).any(|(at, name)| {
                !text[at + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric())
            })
        };
        Metric::ALL.into_iter().filter(is_used).collect()
    };
    let rotation = named(&text_of(&root.join("shared/adapters/src/rotation.rs")));
    FUNCTIONS
        .into_iter()
        .map(|function| {
            let folder = root.join("functions").join(function.to_lowercase()).join("src");
            let text = text_of(&folder);
            let mut metrics = named(&text);
            // What reading settings again counts, it counts for the functions that have some in parameters.
            if !text.contains("&[], build") {
                metrics.extend(&rotation);
            }
            (function, metrics)
        })
        .collect()
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a source file, or of all below a folder.
pub(crate) fn text_of(folder: &Path) -> String {
    if folder.is_file() {
        return std::fs::read_to_string(folder).expect("a source file");
    }
    let mut text = String::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&text_of(&path));
        }
    }
    text
}
