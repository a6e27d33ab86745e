//! One deployment of the template, and what plays around it: a fake sheet, a fake Telegram, a customer's hands.
//!
//! Everything in between is deployed: the door, the functions, the queues, their event sources, the schedule, the roles.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use docket_domain::limits::Timing;
use docket_domain::reference::Reference;
use docket_domain::status::Record;
use docket_world::engines::{Engines, Queues, REGION, Tables};
use docket_world::telegram::{Customer, Deliveries, Ended, WebhookAnswer};
use docket_world::wire::Side;
use docket_world::witness::references_in;
use docket_world::workers::{BOT_ID, BOT_TOKEN, SPREADSHEET_ID, WEBHOOK_SECRET};
use docket_world::{Settings, World};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cloud::Cloud;

pub(crate) const STACK: &str = "docket";
const BUCKET: &str = "docket-artifacts";
/// Timings short enough to wait for, whose relations hold.
const TIMING: Timing =
    Timing { append_timeout_ms: 1_500, send_timeout_ms: 1_500, lease_seconds: 12, settle_seconds: 20 };
const WORKER_TIMEOUT_SECONDS: u64 = 8;
pub(crate) const VISIBILITY_SECONDS: u64 = 6 * WORKER_TIMEOUT_SECONDS;

pub(crate) struct Deployment {
    pub(crate) cloud: Cloud,
    pub(crate) world: World,
    /// `https://…/telegram`, as this machine finds it.
    pub(crate) webhook_url: String,
    /// The settings for the operator's command, as the stack gives them out.
    pub(crate) settings: Vec<(String, String)>,
    http: reqwest::Client,
    folder: PathBuf,
    following: JoinHandle<()>,
}

impl Deployment {
    /// Deploys the template of `folder/first`.
    pub(crate) async fn make(cloud: Cloud, folder: PathBuf) -> Self {
        let queue = |name: &str| format!("{}/000000000000/{STACK}-{name}", cloud.url);
        let queues = Queues {
            write: queue("write.fifo"),
            write_dead_letters: queue("write-dead-letters.fifo"),
            acknowledge: queue("acknowledge"),
            acknowledge_dead_letters: queue("acknowledge-dead-letters"),
        };
        let tables = Tables {
            submissions: format!("{STACK}-submissions"),
            conversations: format!("{STACK}-conversations"),
        };
        let settings = Settings { timing: TIMING, ..Settings::default() };
        let world = World::around(Arc::new(Engines::at(&cloud.url)), settings, tables, queues).await;
        let following = world.clock.follow_real_time();
        let secrets = [
            ("webhook-secret", WEBHOOK_SECRET),
            ("webhook-secret-previous", WEBHOOK_SECRET),
            ("bot-token", BOT_TOKEN),
            ("google-credentials", world.google_credentials()),
        ];
        for (name, value) in secrets {
            let name = format!("/docket/{name}");
            let put = ["ssm", "put-parameter", "--type", "SecureString", "--name", &name, "--value", value];
            cloud.aws(&put).await;
        }
        cloud.aws(&["s3", "mb", &format!("s3://{BUCKET}")]).await;
        let mut deployment = Self {
            cloud,
            world,
            webhook_url: String::new(),
            settings: Vec::new(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            folder,
            following,
        };
        deployment.deploy("first", &[]).await;
        deployment.complete_tables().await;
        deployment
    }

    /// Packages and deploys the template of `folder/which`, as the README says it.
    pub(crate) async fn deploy(&mut self, which: &str, parameters: &[&str]) {
        let source = self.folder.join(which).join("template.yaml");
        let packaged = self.folder.join(which).join("packaged.yaml");
        let (source, packaged) = (text(&source), text(&packaged));
        self.cloud
            .aws(&[
                "cloudformation",
                "package",
                "--template-file",
                source,
                "--s3-bucket",
                BUCKET,
                "--output-template-file",
                packaged,
            ])
            .await;
        let world = &self.world;
        let own = [
            format!("TelegramBot=OurBot:{BOT_ID}"),
            format!("SpreadsheetId={SPREADSHEET_ID}"),
            "AlarmEmail=operator@example.org".to_owned(),
            format!("SheetsEndpoint={}", world.url("writer", Side::Sheets)),
            format!("TelegramEndpoint={}", world.url("acknowledger", Side::Telegram)),
            format!("AppendTimeoutMs={}", TIMING.append_timeout_ms),
            format!("SendTimeoutMs={}", TIMING.send_timeout_ms),
            format!("LeaseSeconds={}", TIMING.lease_seconds),
            format!("SettleSeconds={}", TIMING.settle_seconds),
            format!("WorkerTimeoutSeconds={WORKER_TIMEOUT_SECONDS}"),
            format!("VisibilitySeconds={VISIBILITY_SECONDS}"),
        ];
        let mut command = vec![
            "cloudformation",
            "deploy",
            "--stack-name",
            STACK,
            "--template-file",
            packaged,
            "--s3-bucket",
            BUCKET,
            "--capabilities",
            "CAPABILITY_IAM",
            "CAPABILITY_AUTO_EXPAND",
            "--parameter-overrides",
        ];
        command.extend(own.iter().map(String::as_str));
        command.extend(parameters);
        self.cloud.aws(&command).await;
        self.suit_this_cloud().await;
        let outputs = self
            .cloud
            .query(&[
                "cloudformation",
                "describe-stacks",
                "--stack-name",
                STACK,
                "--query",
                "Stacks[0].Outputs",
            ])
            .await;
        let output = |key: &str| {
            let found = outputs.as_array().unwrap().iter().find(|output| output["OutputKey"] == key);
            found.unwrap_or_else(|| panic!("no output {key}"))["OutputValue"].as_str().unwrap().to_owned()
        };
        // http://API.execute-api.localhost:PORT/telegram, by a path that needs no name to be resolved.
        let api = output("WebhookUrl").trim_start_matches("http://").split('.').next().unwrap().to_owned();
        self.webhook_url = format!("{}/_aws/execute-api/{api}/telegram", self.cloud.url);
        self.settings = output("Settings")
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
            .collect();
        for (name, value) in &mut self.settings {
            if name == "WEBHOOK_URL" {
                value.clone_from(&self.webhook_url);
            }
        }
    }

    /// Of a table this cloud leaves out of the template its expiry and its recovery, and keeps its deletion protection as the
    /// parameter's text, with which the SDK cannot read the description. The template's own check looks after all three.
    async fn complete_tables(&self) {
        for table in ["submissions", "conversations"] {
            let table = format!("{STACK}-{table}");
            for order in [
                &["update-table", "--deletion-protection-enabled"][..],
                &[
                    "update-time-to-live",
                    "--time-to-live-specification",
                    "Enabled=true,AttributeName=expires_at",
                ],
                &[
                    "update-continuous-backups",
                    "--point-in-time-recovery-specification",
                    "PointInTimeRecoveryEnabled=true",
                ],
            ] {
                self.cloud.aws(&[&["dynamodb"][..], order, &["--table-name", &table]].concat()).await;
            }
        }
    }

    /// Where this cloud asks for another permission than AWS does, the roles get what it asks for, and no more:
    ///
    /// - `ssm:GetParameters` on `*` when a call names several parameters, where AWS asks for each of them;
    /// - `sqs:SendMessageBatch`, where AWS has no such action and asks for `sqs:SendMessage`.
    async fn suit_this_cloud(&self) {
        let queues = [("Writer", vec!["acknowledge"]), ("Sweeper", vec!["write.fifo", "acknowledge"])];
        for function in ["Webhook", "Writer", "Acknowledger", "Sweeper"] {
            let arn = |name: &&str| format!("arn:aws:sqs:{REGION}:000000000000:{STACK}-{name}");
            let rung: Vec<String> = queues
                .iter()
                .filter(|(who, _)| *who == function)
                .flat_map(|(_, all)| all.iter().map(arn))
                .collect();
            let mut statements = Vec::new();
            if !rung.is_empty() {
                statements
                    .push(json!({"Effect": "Allow", "Action": "sqs:SendMessageBatch", "Resource": rung}));
            }
            if function != "Sweeper" {
                statements.push(json!({"Effect": "Allow", "Action": "ssm:GetParameters", "Resource": "*"}));
            }
            let policy = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
            let role = self.physical(&format!("{function}Role")).await;
            let put = ["iam", "put-role-policy", "--policy-name", "suits-a-local-cloud"];
            self.cloud.aws(&[&put[..], &["--role-name", &role, "--policy-document", &policy]].concat()).await;
        }
    }

    /// The keys of somebody who may do what a function's role allows in the template, and nothing else: the role itself is
    /// Lambda's alone to assume.
    pub(crate) async fn keys_with_the_policy_of(&self, function: &str) -> (String, String) {
        let (role, policy) = (self.physical(&format!("{function}Role")).await, function.to_lowercase());
        let show = ["iam", "get-role-policy", "--policy-name", &policy, "--role-name", &role];
        let document = self.cloud.query(&show).await["PolicyDocument"].to_string();
        let user = format!("like-the-{policy}");
        self.cloud.aws(&["iam", "create-user", "--user-name", &user]).await;
        let put = ["iam", "put-user-policy", "--user-name", &user, "--policy-name", "its"];
        self.cloud.aws(&[&put[..], &["--policy-document", &document]].concat()).await;
        let made = self.cloud.query(&["iam", "create-access-key", "--user-name", &user]).await;
        let of = |name: &str| made["AccessKey"][name].as_str().unwrap().to_owned();
        (of("AccessKeyId"), of("SecretAccessKey"))
    }

    async fn physical(&self, logical: &str) -> String {
        let show = ["cloudformation", "describe-stack-resource", "--stack-name", STACK];
        let found = self.cloud.query(&[&show[..], &["--logical-resource-id", logical]].concat()).await;
        found["StackResourceDetail"]["PhysicalResourceId"].as_str().unwrap().to_owned()
    }

    /// Posts to the door; status and body.
    pub(crate) async fn post(&self, secret: Option<&str>, body: String) -> (u16, Vec<u8>) {
        let mut request = self.http.post(&self.webhook_url).body(body);
        if let Some(secret) = secret {
            request = request.header("x-telegram-bot-api-secret-token", secret);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
    }

    /// Delivers an update as Telegram does, and carries out what the answer says.
    pub(crate) async fn say(&self, update: Value) {
        let mut deliveries = Deliveries::new(&self.world.telegram);
        deliveries.push(update);
        deliveries
            .deliver_due(|update| async move {
                let (status, body) = self.post(Some(WEBHOOK_SECRET), update.to_string()).await;
                Some(WebhookAnswer { status, retry_after_seconds: None, body })
            })
            .await;
        let ended = deliveries.done().last().map(|delivery| delivery.ended);
        assert_eq!(ended, Some(Ended::Accepted), "the webhook refused an update");
    }

    /// A whole conversation, confirmed. The reference that the customer was told.
    pub(crate) async fn submit(&self, customer: &Customer, words: &str) -> Reference {
        self.say(customer.text("/new")).await;
        self.say(customer.press_button("A quote")).await;
        self.say(customer.text(words)).await;
        self.say(customer.press_button("Confirm")).await;
        self.told_reference(customer)
    }

    /// The reference that the customer was told last.
    pub(crate) fn told_reference(&self, customer: &Customer) -> Reference {
        let told = customer.chat().last_words().unwrap_or_default();
        references_in(&told).pop().unwrap_or_else(|| panic!("no reference in: {told}")).parse().unwrap()
    }

    /// One run of the sweeper beside the schedule's, which comes once a minute only.
    pub(crate) async fn sweep(&self) {
        let function = format!("{STACK}-sweeper");
        let invoke = ["lambda", "invoke", "--function-name", &function, "--payload", "{}", "/dev/null"];
        let said = self.cloud.query(&invoke).await;
        assert!(said.get("FunctionError").is_none(), "{said}");
    }

    /// Sweeps until `holds` of the record, or panics.
    pub(crate) async fn sweep_until(
        &self,
        what: &str,
        reference: &Reference,
        seconds: u64,
        holds: impl Fn(&Record) -> bool,
    ) -> Record {
        let end = Instant::now() + Duration::from_secs(seconds);
        loop {
            let record = self.world.record(reference).await;
            if holds(&record) {
                return record;
            }
            if Instant::now() > end {
                self.fail(&format!("{what} did not come about for {reference}")).await;
            }
            self.sweep().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Every process of a function, as the cloud runs it.
    pub(crate) fn processes_of(&self, function: &str) -> Vec<u32> {
        let wanted = format!("AWS_LAMBDA_FUNCTION_NAME={STACK}-{function}");
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid: u32 = path.file_name()?.to_str()?.parse().ok()?;
            let environment = std::fs::read(path.join("environ")).ok()?;
            let is_wanted = environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes());
            let name = std::fs::read_to_string(path.join("comm")).ok()?;
            (is_wanted && name.trim() == "bootstrap").then_some(pid)
        });
        all.collect()
    }

    /// What Docket's functions logged, newest last.
    pub(crate) async fn logged(&self, function: &str) -> Vec<String> {
        let group = format!("/aws/lambda/{STACK}-{function}");
        let events = self.cloud.query(&["logs", "filter-log-events", "--log-group-name", &group]).await;
        let lines = events["events"].as_array().cloned().unwrap_or_default();
        lines.iter().filter_map(|event| Some(event["message"].as_str()?.to_owned())).collect()
    }

    /// Does what CloudWatch does and this cloud does not: takes the metrics out of a function's newest log lines.
    pub(crate) async fn extract_metrics(&self, function: &str) {
        const NEWEST: usize = 20;
        let lines = self.logged(function).await;
        for line in lines.iter().rev().take(NEWEST) {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let at = line["_aws"]["Timestamp"].as_i64().unwrap_or(0) / 1_000;
            for directive in line["_aws"]["CloudWatchMetrics"].as_array().into_iter().flatten() {
                let dimensions: Vec<Value> = directive["Dimensions"][0]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(|name| json!({"Name": name, "Value": line[name]}))
                    .collect();
                let data: Vec<Value> = directive["Metrics"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|metric| {
                        json!({
                            "MetricName": metric["Name"],
                            "Unit": metric["Unit"],
                            "Value": line[metric["Name"].as_str().unwrap_or_default()],
                            "Dimensions": dimensions,
                            "Timestamp": at,
                        })
                    })
                    .collect();
                let namespace = directive["Namespace"].as_str().unwrap_or_default();
                let data = Value::Array(data).to_string();
                self.cloud
                    .aws(&["cloudwatch", "put-metric-data", "--namespace", namespace, "--metric-data", &data])
                    .await;
            }
        }
    }

    /// Shows the world and the newest log lines, and ends the run.
    pub(crate) async fn fail(&self, what: &str) -> ! {
        for function in ["webhook", "writer", "acknowledger", "sweeper"] {
            let logged = self.logged(function).await;
            for line in logged.iter().rev().take(12).rev() {
                println!("{function}: {line}");
            }
        }
        println!("{}", self.world.picture().await);
        panic!("{what}");
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        self.following.abort();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
