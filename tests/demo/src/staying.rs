//! The world goes on after the story, for whoever wants to try the operator's command on it.
//!
//! Its clock is the machine's from here on, and its functions run as Lambda would run them, only oftener: an order given in
//! another terminal is carried out within seconds, and the row and the message that come of it are printed here.

use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

use anstream::println;
use anstyle::{AnsiColor, Style};
use docket_adapters::clock::SystemClock;
use docket_domain::ports::Clock as _;
use docket_domain::reference::Reference;
use docket_domain::status::{ReviewReason, WriteReview};
use docket_world::World;
use docket_world::telegram::BotCall;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::settings::Settings;

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
///
/// # Errors
/// The settings cannot be handed over.
pub(crate) async fn stay(world: &mut World) -> std::io::Result<()> {
    let door = world.webhook_door("operator").await;
    // Heard before the settings are written: whoever ends this finds them gone.
    let interrupted = interrupted();
    let settings = Settings::of(world, &door.url())?;
    let following = world.clock.follow_real_time();
    println!(
        "\n{TITLE}The world stays up{TITLE:#}: its functions run every two seconds, by the machine's clock."
    );
    println!(
        "In a terminal of its own, in this folder, take its settings from a file that is there as long as it is:\n"
    );
    println!("{}", settings.taken_by());
    println!("\nand try, watching this one:\n");
    for line in what_to_try(world).await {
        println!("{line}");
    }
    println!("\nCtrl-C ends it.");
    let mut seen = Seen::of(world);
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
    // Before anything is said: whoever closed the terminal hears nothing, and the file goes all the same.
    drop(settings);
    println!("\nThe world is gone.");
    Ok(())
}

/// Ctrl-C, and the other ways in which somebody asks a process to end; heard from the moment of this call. Where no handler
/// can be set, a signal ends this process as it ends any other.
fn interrupted() -> impl Future<Output = ()> {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut heard: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    std::future::poll_fn(move |context| {
        if heard.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
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
