//! The world goes on after the story, for whoever wants to try the operator's command on it.
//!
//! Its clock is the machine's from here on, and its functions run as Lambda would run them, only oftener: an order given in
//! another terminal is carried out within seconds, and the row and the message that come of it are printed here.

use std::collections::BTreeMap;
use std::time::Duration;

use anstream::println;
use anstyle::{AnsiColor, Style};
use docket_adapters::clock::SystemClock;
use docket_domain::ports::Clock as _;
use docket_domain::reference::Reference;
use docket_domain::status::{ReviewReason, WriteReview};
use docket_world::World;
use docket_world::telegram::BotCall;
use docket_world::wire::Side;

const TITLE: Style = AnsiColor::Cyan.on_default().bold();

/// The story, reviews and all, lies this far back when it is over: more than it takes by its own clock.
const STORY_SECONDS: i64 = 7_200;
/// Between two runs of the functions. The deployed schedule's minute is long for somebody who is watching.
const PAUSE: Duration = Duration::from_secs(2);

/// Lets the story happen shortly before now, so that what it leaves behind is as old as it seems. Only before it begins.
pub(crate) fn begin_shortly_before_now(world: &World) {
    world.turn_seconds(SystemClock.now().seconds() - STORY_SECONDS - world.now().seconds());
}

/// Keeps the world at work until Ctrl-C, after saying how the operator's command finds it and what may be tried.
pub(crate) async fn stay(world: &mut World) {
    let door = world.webhook_door("operator").await;
    let following = world.clock.follow_real_time();
    println!(
        "\n{TITLE}The world stays up{TITLE:#}: its functions run every two seconds, by the machine's clock."
    );
    println!("In a terminal of its own, in this folder, paste these settings:\n");
    for (name, value) in settings(world, &door.url()) {
        println!("export {name}={}", quoted(&in_one_line(value)));
    }
    println!("\nand try, watching this one:\n");
    for line in what_to_try(world).await {
        println!("{line}");
    }
    println!("\nCtrl-C ends it.");
    let mut seen = Seen::of(world);
    let interrupted = async {
        // Where no handler can be set, Ctrl-C ends this process as it ends any other.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            () = &mut interrupted => break,
            () = tokio::time::sleep(PAUSE) => {}
        }
        world.sweep().await;
        world.work().await;
        seen.tell_what_is_new(world);
    }
    following.abort();
    println!("\nThe world is gone.");
}

/// All that the operator's command reads.
fn settings(world: &World, door: &str) -> Vec<(&'static str, String)> {
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

/// A key file's lines mean nothing: a line for each setting is what can be pasted, and read again.
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

/// Commands for the reviews that the story left open.
async fn what_to_try(world: &World) -> Vec<String> {
    let mut lines = vec!["cargo docket reviews".to_owned()];
    let records = world.records().await;
    let open = |reason: ReviewReason| -> Option<&Reference> {
        let with = records.iter().find(|record| record.reviews().iter().any(|open| open.reason == reason));
        with.map(|record| &record.submission.reference)
    };
    if let Some(reference) = open(ReviewReason::Write(WriteReview::NoMatchingRow)) {
        lines.extend([
            format!("cargo docket show {reference}"),
            format!("cargo docket recheck {reference}"),
            format!(
                "cargo docket resolve {reference} --append-again --because \"not in the sheet, not in its history\" --yes"
            ),
        ]);
    }
    for (reason, order) in [
        (ReviewReason::AckUncertain, "--send-again --because \"the customer has not got it\""),
        (ReviewReason::Write(WriteReview::RowDiffers), "--recorded --because \"the change was meant\""),
        (ReviewReason::Write(WriteReview::SeveralRows), "--recorded --because \"the copy may stay\""),
        (ReviewReason::Conflict, "--keep-first --because \"asked the customer\""),
    ] {
        if let Some(reference) = open(reason) {
            lines.push(format!("cargo docket resolve {reference} {order}"));
        }
    }
    lines.extend(["cargo docket audit", "cargo docket stats", "cargo docket canary"].map(str::to_owned));
    lines
}

/// What was in the sheet and in the chats when that was last told.
struct Seen {
    rows: BTreeMap<String, usize>,
    messages: usize,
}

impl Seen {
    fn of(world: &World) -> Self {
        Self { rows: counted(rows(world)), messages: messages(world).len() }
    }

    fn tell_what_is_new(&mut self, world: &World) {
        let rows = rows(world);
        let mut told = self.rows.clone();
        for row in &rows {
            match told.get_mut(row) {
                Some(left) if *left > 0 => *left -= 1,
                Some(_) | None => println!("a new row: {row}"),
            }
        }
        for (row, left) in told {
            for _ in 0..left {
                println!("a row is gone: {row}");
            }
        }
        self.rows = counted(rows);
        let messages = messages(world);
        for message in messages.iter().skip(self.messages) {
            println!("a message to {message}");
        }
        self.messages = messages.len();
    }
}

fn rows(world: &World) -> Vec<String> {
    let cell = |cell: &serde_json::Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    world.rows().iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | ")).collect()
}

/// What the Bot API was given to say and took, in order.
fn messages(world: &World) -> Vec<String> {
    let calls = world.telegram.calls();
    let sent = calls.iter().filter(|call| call.method == "sendMessage" && call.refused.is_none());
    let told = |call: &BotCall| {
        let text = call.parameters["text"].as_str().unwrap_or_default().replace('\n', " ");
        format!("chat {}: {text}", call.parameters["chat_id"])
    };
    sent.map(told).collect()
}

fn counted(rows: Vec<String>) -> BTreeMap<String, usize> {
    rows.into_iter().fold(BTreeMap::new(), |mut counted, row| {
        *counted.entry(row).or_default() += 1;
        counted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_pasted_as_it_is_whatever_is_in_it() {
        assert_eq!(quoted("http://127.0.0.1:1/x-y_z"), "http://127.0.0.1:1/x-y_z");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted(r#"{"a": "$HOME `x` \n"}"#), r#"'{"a": "$HOME `x` \n"}'"#);
        assert_eq!(quoted("Ann's"), r"'Ann'\''s'");
    }
}
