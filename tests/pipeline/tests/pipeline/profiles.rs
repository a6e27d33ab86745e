//! Whose credentials the operator's command uses: of a profile in AWS's own files, or of the environment; for AWS, and for
//! Google where there is no key.

use std::sync::Arc;

use docket_domain::reference::Reference;
use docket_world::engines::Engines;
use docket_world::sheets::ROLE;
use docket_world::{Settings, World};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::executables::{Environment, environment_of_operator};
use crate::operator::docket;

const KEYS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// A recorded enquiry in a world without a key, and AWS's files with the one role that Google believes.
struct Keyless {
    world: World,
    reference: Reference,
    environment: Environment,
    following: JoinHandle<()>,
    _files: TempDir,
}

impl Keyless {
    async fn world() -> Self {
        let settings = Settings { keyless: true, ..Settings::default() };
        let mut world = World::with(Arc::new(Engines::start().await), settings).await;
        // The command's clock is the real one, and Google looks at the date of a signature.
        let following = world.clock.follow_real_time();
        let reference = world.record_enquiries(1).await.remove(0);
        world.settle().await;
        let files = TempDir::new().unwrap();
        let of = |wanted: &str| ROLE.iter().find(|(name, _)| *name == wanted).unwrap().1;
        let lines = KEYS.map(|name| format!("{} = {}\n", name.to_lowercase(), of(name))).concat();
        let credentials = files.path().join("credentials");
        std::fs::write(&credentials, format!("[writer]\n{lines}")).unwrap();
        let config = files.path().join("config");
        std::fs::write(
            &config,
            format!("[profile writer]\nregion = {}\n[profile empty]\n", of("AWS_REGION")),
        )
        .unwrap();
        let environment = environment_of_operator(&world)
            .with("AWS_SHARED_CREDENTIALS_FILE", credentials.to_str().unwrap())
            .with("AWS_CONFIG_FILE", config.to_str().unwrap());
        Self { world, reference, environment, following, _files: files }
    }

    /// With other keys in the environment, or with none.
    fn with_keys(&self, key: Option<&str>) -> Environment {
        let environment = KEYS.into_iter().fold(self.environment.clone(), Environment::without);
        match key {
            Some(key) => environment.with(KEYS[0], key).with(KEYS[1], "hidden-other-secret"),
            None => environment,
        }
    }

    #[track_caller]
    fn rechecks(&self, environment: &Environment, options: &[&str]) {
        let arguments = [&["recheck", self.reference.as_str(), "--json"], options].concat();
        let ran = docket(environment, &arguments).json();
        assert_eq!(ran["found"]["kind"], "one_equal_row", "{ran}");
    }
}

impl Drop for Keyless {
    fn drop(&mut self) {
        self.following.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sheet_is_looked_at_without_any_key_by_a_profile_of_aws() {
    let keyless = Keyless::world().await;
    let without_keys = keyless.with_keys(None).without("AWS_REGION");
    keyless.rechecks(&without_keys.clone().with("AWS_PROFILE", "writer"), &[]);
    keyless.rechecks(&without_keys, &["--profile", "writer"]);
    keyless.rechecks(&without_keys.clone().with("AWS_PROFILE", "empty"), &["--profile", "writer"]);
    // And as ever by the role in the environment.
    keyless.rechecks(&keyless.environment, &[]);
    let doctor = docket(&without_keys, &["doctor", "--json", "--profile", "writer"]);
    let report: Vec<serde_json::Value> = serde_json::from_str(&doctor.stdout).unwrap();
    let tab = report.iter().find(|line| line["check"] == "permission to write").unwrap();
    assert_eq!(tab["result"], "ok", "{tab}");
    keyless.world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_is_named_goes_before_keys_in_the_environment() {
    let keyless = Keyless::world().await;
    // Google believes no other key, so whose key it was shows.
    let others = keyless.with_keys(Some("AKIAOTHERONE"));
    let by_environment = docket(&others, &["recheck", keyless.reference.as_str()]);
    assert!(by_environment.refused(1).contains("federation_refused"), "{}", by_environment.stderr);
    keyless.rechecks(&others, &["--profile", "writer"]);
    for name in ["nobody", "empty"] {
        let nobody = docket(&others, &["recheck", keyless.reference.as_str(), "--profile", name]);
        assert!(
            nobody.refused(2).contains(&format!("--profile {name} gives no AWS credentials")),
            "{}",
            nobody.stderr
        );
        let reviews = docket(&others, &["reviews", "--profile", name]);
        assert!(reviews.refused(2).contains(name), "{}", reviews.stderr);
    }
    assert_eq!(docket(&others, &["reviews", "--json"]).json(), json!([]));
    keyless.world.check_rules().await;
}
