//! The real executables, built when a test needs them, and what they need to find a world.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use docket_world::World;
use docket_world::sheets::ROLE;
use docket_world::wire::Side;
use docket_world::workers::{BOT_ID, BOT_TOKEN, SPREADSHEET_ID, WEBHOOK_SECRET};

/// Settings by name. A later one replaces an earlier one of the same name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment(Vec<(String, String)>);

impl Environment {
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// With all of `other` in place of its own.
    pub(crate) fn and(self, other: &Self) -> Self {
        other.0.iter().fold(self, |set, (name, value)| set.with(name, value))
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The region and the role, as Lambda gives them, and the way to this machine's AWS.
    pub(crate) fn of_aws(endpoint: &str) -> Self {
        let role = ROLE.into_iter().fold(Self::default(), |set, (name, value)| set.with(name, value));
        role.with("AWS_ENDPOINT_URL", endpoint)
    }
}

/// The names of the functions' executables.
pub(crate) const FUNCTIONS: [&str; 4] = ["webhook", "writer", "acknowledger", "sweeper"];

/// The path of an executable of this workspace, built with the profile of this test.
pub(crate) fn built(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(build).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn build() -> PathBuf {
    // target/PROFILE/deps/pipeline-HASH
    let this = std::env::current_exe().unwrap();
    let folder = this.ancestors().nth(2).unwrap().to_owned();
    let profile = match folder.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // With the tests: then features are unified as they were for this test, and no dependency is compiled again.
        .args(["build", "--quiet", "--workspace", "--bins", "--tests", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap());
    // What cargo told this test about its own package would make build scripts believe that they are another one's.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let of_this_package =
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if of_this_package.iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(&name);
        }
    }
    assert!(cargo.status().unwrap().success(), "the executables cannot be built");
    folder
}

/// What the operator's command needs of this world, but for the addresses that Telegram calls and is called at.
pub(crate) fn environment_of_operator(world: &World) -> Environment {
    let settings = world.settings_of_the_operator();
    settings.into_iter().fold(Environment::default(), |set, (name, value)| set.with(name, value))
}

/// All that a function needs in order to work in this world, by CONTRACT's names.
pub(crate) fn environment_of(function: &str, world: &World) -> Environment {
    let dynamodb = world.url(function, Side::DynamoDb);
    let environment = Environment::of_aws(&dynamodb)
        .with("AWS_ENDPOINT_URL_SQS", world.url(function, Side::Sqs))
        .with("SUBMISSIONS_TABLE", &world.tables.submissions);
    match function {
        "webhook" => environment
            .with("CONVERSATIONS_TABLE", &world.tables.conversations)
            .with("WRITE_QUEUE_URL", &world.queues.write)
            .with("TELEGRAM_BOT", format!("OurBot:{BOT_ID}"))
            .with("WEBHOOK_SECRET", WEBHOOK_SECRET),
        "writer" => environment
            .with("ACKNOWLEDGE_QUEUE_URL", &world.queues.acknowledge)
            .with("GOOGLE_CREDENTIALS", world.google_credentials())
            .with("SPREADSHEET_ID", SPREADSHEET_ID)
            .with("SHEET_NAME", &world.settings().tab)
            .with("SHEETS_ENDPOINT", world.url("writer", Side::Sheets)),
        "acknowledger" => environment
            .with("BOT_TOKEN", BOT_TOKEN)
            .with("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram)),
        "sweeper" => environment
            .with("WRITE_QUEUE_URL", &world.queues.write)
            .with("ACKNOWLEDGE_QUEUE_URL", &world.queues.acknowledge),
        other => panic!("{other} is no function"),
    }
}
