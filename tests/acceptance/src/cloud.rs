//! The local cloud, by the commands that an operator has: `aws` and `docket`.

use std::path::PathBuf;
use std::process::Stdio;

use docket_world::engines::REGION;
use serde_json::Value;
use tokio::process::Command;

/// Where the cloud answers, and the commands.
pub(crate) struct Cloud {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    pub(crate) aws: PathBuf,
    pub(crate) docket: PathBuf,
}

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Cloud {
    fn command(&self, program: &PathBuf) -> Command {
        let mut command = Command::new(program);
        command
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_REGION", REGION)
            .env("AWS_DEFAULT_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_PAGER", "")
            .stdin(Stdio::null());
        command
    }

    /// Runs `aws`; what it printed.
    ///
    /// # Panics
    /// When it failed.
    pub(crate) async fn aws(&self, arguments: &[&str]) -> String {
        let endpoint = ["--endpoint-url", &self.url];
        let output = self.command(&self.aws).args(endpoint).args(arguments).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "aws {}: {text}{error}", arguments.join(" "));
        text
    }

    /// Runs `aws`; the JSON that it printed.
    pub(crate) async fn query(&self, arguments: &[&str]) -> Value {
        let text = self.aws(&[arguments, &["--output", "json"]].concat()).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    /// Runs `aws` with somebody's own keys.
    pub(crate) async fn aws_as(&self, key: (&str, &str), arguments: &[&str]) -> Ran {
        let mut command = self.command(&self.aws);
        command.env("AWS_ACCESS_KEY_ID", key.0).env("AWS_SECRET_ACCESS_KEY", key.1);
        let output = command.args(["--endpoint-url", &self.url]).args(arguments).output().await.unwrap();
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs `docket` with these settings.
    pub(crate) async fn docket(&self, settings: &[(String, String)], arguments: &[&str]) -> Ran {
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let output = self.command(&self.docket).envs(settings).args(arguments).output().await.unwrap();
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
