//! The command line.

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::Environment;
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::telegram::Webhook;
use docket_domain::limits::SUMMARY_UTF16_UNITS_MAX;
use docket_domain::moment::Moment;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;
use docket_domain::status::{ReviewReason, Settle};
use docket_domain::submission::ChatId;

use crate::erase::{self, Whom};
use crate::find::{self, Format, Wanted};
use crate::interrupt::until_interrupted;
use crate::orders::many::Which;
use crate::orders::{self, Facts, Kind, Order, Terms};
use crate::page::Room;
use crate::reach::{self, Chosen, usage};
use crate::scan::{self, Progress};
use crate::stats::Stats;
use crate::visible::visible;
use crate::zone::Zone;
use crate::{Stopped, audit, canary, doctor, json, page, sheet, watch, webhook};

/// What is known about an enquiry, and what needs a person.
#[derive(Debug, Parser)]
#[command(
    name = "docket",
    version,
    after_help = "Exit status: 0 done, 1 refused or not found, 2 usage, 3 the other side could not be reached, 130 interrupted by Ctrl-C.\nSettings are read from the environment, or with --stack NAME from that stack's output Settings. What the AWS SDK reads itself (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL …) is the environment's; a profile with single sign-on: eval \"$(aws configure export-credentials --format env)\" first."
)]
pub struct Cli {
    /// Take the settings from this stack's outputs, in place of the environment's.
    #[arg(long, global = true, help_heading = "Which deployment", value_name = "NAME")]
    stack: Option<String>,
    /// The AWS region.
    #[arg(long, global = true, help_heading = "Which deployment")]
    region: Option<String>,
    /// The profile in AWS's own configuration files; it goes before keys in the environment.
    #[arg(long, global = true, help_heading = "Which deployment")]
    profile: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything that is known about one enquiry.
    #[command(after_help = "Example: docket show DK-8M4T-K2QX-7RZ9")]
    Show {
        /// As the customer was told it; case, dashes, O for 0 and I for 1 do not matter.
        reference: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What needs a person, oldest first.
    #[command(after_help = "Example: docket reviews")]
    Reviews {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What needs a person and what is due, drawn anew until Ctrl-C. Changes nothing.
    #[command(
        after_help = "Examples:\n  docket watch --every 10\n  docket watch --once\nWhere standard output is no terminal only --once is taken. Ctrl-C ends it with status 0."
    )]
    Watch {
        /// Seconds between two readings, 2 to 3600.
        #[arg(long, value_name = "SECONDS", default_value_t = watch::EVERY_SECONDS, value_parser = clap::value_parser!(u64).range(2..=3_600))]
        every: u64,
        /// Print it once, and end.
        #[arg(long)]
        once: bool,
        /// With --once: print JSON.
        #[arg(long, requires = "once")]
        json: bool,
    },
    /// One more look at the sheet, and what it proves. A row that is there settles the review; nothing is ever written to the
    /// sheet.
    #[command(after_help = "Example: docket recheck DK-8M4T-K2QX-7RZ9")]
    Recheck {
        /// As the customer was told it.
        reference: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Close a review.
    #[command(
        after_help = "Examples:\n  docket resolve DK-8M4T-K2QX-7RZ9 --recorded --because \"I deleted the copy\"\n  docket resolve DK-8M4T-K2QX-7RZ9 --append-again --because \"not in the sheet, not in its history\"\n  docket resolve DK-8M4T-K2QX-7RZ9 --abandon --because \"too long for a cell\" --tell \"Please send it again, in fewer words.\"\n  docket resolve --reason ack_uncertain --older-than 1d --leave --because \"they have been rung up\" --apply"
    )]
    Resolve(Resolve),
    /// Enquiries by chat, words or age. Reads the whole table, at a gentle pace.
    #[command(after_help = "Example: docket find --text gutters --since 30d")]
    Find {
        /// Of this chat.
        #[arg(long, allow_negative_numbers = true)]
        chat: Option<i64>,
        /// With these words in summary, contact or request type, whatever their case.
        #[arg(long)]
        text: Option<String>,
        /// Confirmed within this time: 30m, 12h, 2d.
        #[arg(long, value_name = "AGE", value_parser = age)]
        since: Option<u64>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// How many enquiries are in which state, and how long the last day's took. Reads the whole table.
    #[command(after_help = "Example: docket stats --json")]
    Stats {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The whole sheet beside the whole table: rows that are gone, changed, doubled, or of nobody. Changes nothing; exit status
    /// 1 if something does not fit.
    #[command(after_help = "Example: docket audit --csv > oddities.csv")]
    Audit {
        /// Print JSON.
        #[arg(long, conflicts_with = "csv")]
        json: bool,
        /// Print what does not fit as CSV.
        #[arg(long)]
        csv: bool,
    },
    /// Every enquiry, to standard output.
    #[command(after_help = "Example: docket export --format csv > enquiries.csv")]
    Export {
        #[arg(long, value_enum)]
        format: Format,
        /// Go on behind this reference, as an interrupted export has named it.
        #[arg(long, value_name = "REFERENCE")]
        after: Option<String>,
    },
    /// Forget a customer who asks for it: their rows, their words and contact, what they are writing. References and states stay.
    /// Shows first what will go; safe to repeat.
    #[command(
        after_help = "Examples:\n  docket erase --reference DK-8M4T-K2QX-7RZ9 --because \"asked by letter\"\n  docket erase --chat 7100000001 --because \"asked by letter\" --yes"
    )]
    Erase(Erase),
    /// Whether the deployment is set up well: every check with its cure; exit status 1 if one is not ok.
    #[command(after_help = "Example: docket doctor --stack docket")]
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// A marked enquiry through the whole deployment, from a signed webhook call to a message in the operator's chat.
    #[command(after_help = "Example: docket canary --wait 300\n\
It needs OPERATOR_CHAT, the id of a private chat that has started the bot, beside WEBHOOK_URL, WEBHOOK_SECRET, TELEGRAM_BOT, \
both tables and the sheet's settings. It takes its row and its record away again when every step went well; otherwise it \
removes nothing and says what is left. A chat with an unfinished enquiry is left alone.\n\
Exit status: 0 the whole way works, 1 a step failed, 2 usage, 3 a side could not be reached.")]
    Canary {
        /// Seconds to wait for the row and the message, 1 to 3600.
        #[arg(long, value_name = "SECONDS", default_value_t = canary::WAIT_SECONDS, value_parser = clap::value_parser!(u64).range(1..=3_600))]
        wait: u64,
        /// Leave the row and the record.
        #[arg(long)]
        keep: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// A script that completes this command in a shell.
    #[command(
        after_help = "Example: docket completions bash > ~/.local/share/bash-completion/completions/docket"
    )]
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Where Telegram calls.
    #[command(subcommand, after_help = "Example: docket webhook info")]
    Webhook(WebhookCommand),
    /// The spreadsheet's tab.
    #[command(subcommand, after_help = "Example: docket sheet init")]
    Sheet(SheetCommand),
}

/// What is ordered, for which reviews.
#[derive(Debug, Args)]
struct Resolve {
    /// As the customer was told it; or --reason, for many.
    #[arg(required_unless_present = "reason", conflicts_with = "reason")]
    reference: Option<String>,
    #[command(flatten)]
    order: OrderArguments,
    /// Why, for whoever reads the history.
    #[arg(long, value_name = "WORDS", value_parser = because)]
    because: String,
    /// With --abandon: what the customer is told, with the reference in front of it.
    #[arg(long, value_name = "WORDS", value_parser = words)]
    tell: Option<String>,
    /// With --recorded: although no row is seen in its place. With --abandon: although the sheet cannot be read.
    #[arg(long)]
    without_row: bool,
    /// Only if the record still is in the version that docket show named.
    #[arg(long, value_name = "VERSION", conflicts_with = "reason")]
    if_version: Option<u64>,
    /// With --append-again: do not ask.
    #[arg(long)]
    yes: bool,
    /// All open reviews of this reason. Lists them only, without --apply.
    #[arg(long, value_parser = reason)]
    reason: Option<ReviewReason>,
    /// With --reason: open for so long at least: 30m, 12h, 2d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
    /// With --reason: not only list them.
    #[arg(long)]
    apply: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Who is forgotten, and how.
#[derive(Debug, Args)]
struct Erase {
    #[command(flatten)]
    whose: Whose,
    /// How a write that evidence has not settled is to be left.
    #[arg(long, value_enum)]
    settle: Option<SettleAs>,
    /// Also copies, and rows that say something else than the record. They may be somebody else's: look first.
    #[arg(long)]
    all_rows: bool,
    /// Why, for whoever reads the history. Not the person's name.
    #[arg(long, value_name = "WORDS", value_parser = because)]
    because: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// One enquiry.
    #[arg(long)]
    reference: Option<String>,
    /// All enquiries of this chat, and what is being written there. Reads the whole table.
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    chat: Option<i64>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SettleAs {
    /// It is in the sheet, by your own word.
    Recorded,
    /// It is given up: nothing more is written, and nobody is told.
    Abandoned,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct OrderArguments {
    /// The row is there, or you put it there; recorded elsewhere: with --without-row.
    #[arg(long)]
    recorded: bool,
    /// Append it once more. Refused while a row has this reference.
    #[arg(long)]
    append_again: bool,
    /// Write nothing. Nobody is told, unless by --tell.
    #[arg(long)]
    abandon: bool,
    /// The customer has the message.
    #[arg(long)]
    seen: bool,
    /// Send the message once more.
    #[arg(long)]
    send_again: bool,
    /// Leave the message as it is, perhaps sent.
    #[arg(long)]
    leave: bool,
    /// The first content stands.
    #[arg(long)]
    keep_first: bool,
}

impl OrderArguments {
    fn kind(&self) -> Option<Kind> {
        [
            (self.recorded, Kind::Recorded),
            (self.append_again, Kind::AppendAgain),
            (self.abandon, Kind::Abandon),
            (self.seen, Kind::Seen),
            (self.send_again, Kind::SendAgain),
            (self.leave, Kind::Leave),
            (self.keep_first, Kind::KeepFirst),
        ]
        .into_iter()
        .find_map(|(given, kind)| given.then_some(kind))
    }
}

/// A record keeps sixty steps of its history: one reason must not fill it.
fn because(text: &str) -> Result<String, String> {
    const CHARS_MAX: usize = 300;
    let text = text.trim();
    if text.is_empty() {
        return Err("say why".into());
    }
    let plain = visible(text) == text && !text.chars().any(char::is_control);
    if !plain || text.chars().count() > CHARS_MAX {
        return Err(format!("at most {CHARS_MAX} characters in one line, none of them invisible"));
    }
    Ok(text.to_owned())
}

/// A message of Telegram's, with room for the reference. Line feeds are the sender's to choose.
fn words(text: &str) -> Result<String, String> {
    let text = text.trim();
    let units = text.encode_utf16().count();
    if text.is_empty() || visible(text) != text {
        return Err("say it in visible characters".into());
    }
    if units > SUMMARY_UTF16_UNITS_MAX {
        return Err(format!("{units} UTF-16 units, and at most {SUMMARY_UTF16_UNITS_MAX} are sent"));
    }
    Ok(text.to_owned())
}

fn reason(text: &str) -> Result<ReviewReason, String> {
    let known = ReviewReason::ALL.into_iter().find(|reason| reason.as_str() == text);
    known.ok_or_else(|| format!("one of {}", ReviewReason::ALL.map(ReviewReason::as_str).join(", ")))
}

/// Older than anything that is kept.
const AGE_SECONDS_MAX: u64 = 100 * 366 * 86_400;

/// `30m`, `12h`, `2d`, in seconds.
fn age(text: &str) -> Result<u64, String> {
    let malformed = || "a number with m, h or d behind it".to_owned();
    let (number, seconds) = match text.char_indices().last() {
        Some((end, 'm')) => (&text[..end], 60),
        Some((end, 'h')) => (&text[..end], 3_600),
        Some((end, 'd')) => (&text[..end], 86_400),
        Some(_) | None => return Err(malformed()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds)).ok_or_else(malformed)
}

#[derive(Debug, Subcommand)]
enum WebhookCommand {
    /// Tell Telegram where to call, with the secret, and make sure that it remembers it so.
    #[command(after_help = "Example: docket webhook set --max-connections 20")]
    Set {
        /// Connections that Telegram may hold at once, 1 to 100.
        #[arg(long, default_value_t = webhook::MAX_CONNECTIONS, value_parser = clap::value_parser!(u64).range(1..=100))]
        max_connections: u64,
        /// Do not wait for a function that may still hold the secret of before.
        #[arg(long)]
        now: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What Telegram remembers; exit status 1 if that is wrong.
    #[command(after_help = "Example: docket webhook info --json")]
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell Telegram to call nobody; updates wait for a day.
    #[command(after_help = "Example: docket webhook delete")]
    Delete {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
enum SheetCommand {
    /// Make the tab and its header where they are missing. What stands there already is never touched.
    #[command(after_help = "Example: docket sheet init")]
    Init {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What a command printed, and its exit status: not 0 where it found something wrong.
#[derive(Debug)]
pub struct Printed {
    pub text: String,
    pub exit_status: u8,
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        Self { text, exit_status: 0 }
    }
}

/// Runs one command. What it prints on standard output.
///
/// # Errors
/// Why it was not done.
pub async fn run(cli: Cli, environment: &Environment) -> Result<Printed, Stopped> {
    if let Command::Completions { shell } = cli.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "docket", &mut script);
        return Ok(String::from_utf8_lossy(&script).into_owned().into());
    }
    let chosen = Chosen { stack: cli.stack, region: cli.region, profile: cli.profile };
    let environment = &reach::chosen(environment.clone(), &chosen).await?;
    match cli.command {
        Command::Completions { .. } => Ok(String::new().into()),
        Command::Show { reference, json: as_json } => {
            let reference = Reference::from_person(&reference).map_err(usage)?;
            let record = crate::show(&reach::submissions(environment).await?, &reference).await?;
            Ok(if as_json { pretty(&json::record(&record)) } else { page::record(&record, &zone()) }.into())
        }
        Command::Reviews { json: as_json } => {
            let listed = crate::reviews(&reach::submissions(environment).await?).await?;
            let now = SystemClock.now();
            let room = watch::size().map_or(Room::Unknown, |size| Room::Below(size.columns));
            Ok(if as_json { pretty(&json::reviews(&listed)) } else { page::reviews(&listed, now, room) }
                .into())
        }
        Command::Watch { every, once, json } => watched(environment, every, once, json).await,
        Command::Recheck { reference, json: as_json } => {
            let reference = Reference::from_person(&reference).map_err(usage)?;
            let done = orders::recheck(&reach::desk(environment, true, zone()).await?, &reference).await?;
            Ok(if as_json { pretty(&json::done(&done)) } else { page::done(&done, &zone()) }.into())
        }
        Command::Resolve(resolve) => resolved(resolve, environment).await,
        Command::Erase(erase) => erased(erase, environment).await,
        Command::Find { chat, text, since, json: as_json } => {
            let now = SystemClock.now();
            let since = since.map(|age| {
                Moment::from_seconds(now.seconds() - i64::try_from(age.min(AGE_SECONDS_MAX)).unwrap_or(0))
            });
            let wanted = Wanted { chat: chat.map(ChatId), text, since };
            found(&reach::submissions(environment).await?, &wanted, as_json).await.map(Printed::from)
        }
        Command::Stats { json: as_json } => {
            let submissions = reach::submissions(environment).await?;
            let mut stats = Stats::at(SystemClock.now());
            whole(
                "stats",
                scan::records(&submissions, &SystemClock, &mut None, &mut shown(), |read| {
                    match read {
                        Ok(record) => stats.count(&record),
                        Err(_) => stats.unread(),
                    }
                    true
                }),
            )
            .await?;
            Ok(if as_json { pretty(&stats.json()) } else { stats.page() }.into())
        }
        Command::Audit { json: as_json, csv } => {
            let retention_days = environment.retention_days().map_err(usage)?;
            let submissions = reach::submissions(environment).await?;
            let environment = reach::with_parameters(environment, &["GOOGLE_CREDENTIALS"]).await?;
            let sheet = reach::sheet(&environment).await?;
            let auditing = audit::audit(&submissions, &sheet, &SystemClock, retention_days, shown());
            let report = whole("audit", auditing).await?;
            let text = match (as_json, csv) {
                (true, _) => pretty(&report.json()),
                (false, true) => report.csv(),
                (false, false) => report.page(),
            };
            Ok(Printed { text, exit_status: u8::from(!report.oddities.is_empty()) })
        }
        Command::Export { format, after } => {
            // A wrong one would be taken for a place in the table, and leave a hole that nobody sees.
            let after = after.map(|after| Reference::from_person(&after)).transpose().map_err(usage)?;
            let after = after.map(|after| after.to_string());
            exported(&reach::submissions(environment).await?, format, after).await.map(Printed::from)
        }
        Command::Doctor { json: as_json } => {
            let report = doctor::examine(environment, SystemClock.now(), &zone_of(as_json)).await;
            let text = if as_json { pretty(&report.json()) } else { report.page() };
            Ok(Printed { text, exit_status: u8::from(!report.all_well()) })
        }
        Command::Canary { wait, keep, json: as_json } => {
            let report = reach::canary(environment, wait, keep).await?.run().await?;
            let text = if as_json { pretty(&report.json()) } else { report.page() };
            Ok(Printed { text, exit_status: report.exit_status() })
        }
        Command::Webhook(command) => of_webhook(command, environment).await,
        Command::Sheet(SheetCommand::Init { json: as_json }) => {
            let environment = reach::with_parameters(environment, &["GOOGLE_CREDENTIALS"]).await?;
            let ready = sheet::init(&reach::sheet(&environment).await?).await?;
            Ok(if as_json { pretty(&ready.json()) } else { ready.page() }.into())
        }
    }
}

async fn watched(
    environment: &Environment,
    every: u64,
    once: bool,
    as_json: bool,
) -> Result<Printed, Stopped> {
    use std::io::IsTerminal as _;
    if !once && !std::io::stdout().is_terminal() {
        return Err(usage("standard output is no terminal, and watch draws on one: --once prints it once"));
    }
    let submissions = reach::submissions(environment).await?;
    if once {
        let (seen, now) = watch::once(&submissions, &SystemClock).await?;
        let text = if as_json {
            pretty(&watch::json(&seen, now))
        } else {
            watch::page_of(&seen, now, &zone(), every)
        };
        return Ok(text.into());
    }
    watch::live(&submissions, &SystemClock, &zone(), every).await;
    Ok(String::new().into())
}

async fn resolved(resolve: Resolve, environment: &Environment) -> Result<Printed, Stopped> {
    let Some(kind) = resolve.order.kind() else { return Err(usage("no order was given")) };
    if resolve.without_row && !matches!(kind, Kind::Recorded | Kind::Abandon) {
        return Err(usage("--without-row goes with --recorded or --abandon"));
    }
    if resolve.yes && kind != Kind::AppendAgain {
        return Err(usage("--yes goes with --append-again"));
    }
    // Said here, since clap waives what is required by one option where another one excludes it.
    if resolve.reason.is_none() && (resolve.apply || resolve.older_than.is_some()) {
        return Err(usage("--apply and --older-than go with --reason"));
    }
    if resolve.tell.is_some() && kind != Kind::Abandon {
        return Err(usage("--tell goes with --abandon"));
    }
    let order = Order { kind, why: resolve.because, tell: resolve.tell };
    let Some(reference) = resolve.reference else {
        let Some(reason) = resolve.reason else { return Err(usage("a reference, or --reason")) };
        let which = Which { reason, older_than_seconds: resolve.older_than.unwrap_or(0) };
        // What was refused stands in what is printed.
        let desk = reach::desk(environment, order.concerns_the_sheet(), zone_of(resolve.json)).await?;
        let outcomes =
            orders::many::order_many(&desk, which, &order, resolve.without_row, !resolve.apply).await?;
        let text = if resolve.json {
            pretty(&json::outcomes(&outcomes))
        } else {
            page::outcomes(&outcomes, &zone())
        };
        return Ok(Printed { text, exit_status: orders::many::exit_status(&outcomes) });
    };
    let reference = Reference::from_person(&reference).map_err(usage)?;
    let terms = Terms { seen_version: resolve.if_version, without_row: resolve.without_row };
    let desk = reach::desk(environment, order.concerns_the_sheet(), zone()).await?;
    let agrees =
        |facts: &Facts<'_>| resolve.yes || confirmed(&facts.page(&zone()), "Append it again? Type yes: ");
    let done = desk.order(&reference, &order, terms, agrees).await?;
    Ok(if resolve.json { pretty(&json::done(&done)) } else { page::done(&done, &zone()) }.into())
}

async fn erased(erase: Erase, environment: &Environment) -> Result<Printed, Stopped> {
    let whom = match (&erase.whose.reference, erase.whose.chat) {
        (Some(reference), _) => Whom::Reference(Reference::from_person(reference).map_err(usage)?),
        (None, Some(chat)) => Whom::Chat(ChatId(chat)),
        (None, None) => return Err(usage("--reference or --chat")),
    };
    let settle = erase.settle.map(|settle| match settle {
        SettleAs::Recorded => Settle::Recorded,
        SettleAs::Abandoned => Settle::Abandoned,
    });
    let terms = erase::Terms { settle, why: erase.because, all_rows: erase.all_rows };
    let eraser = reach::eraser(environment, zone()).await?;
    let plan = eraser.plan(whom, &terms, &mut shown()).await?;
    let shown = plan.page(&eraser.place, &eraser.zone);
    if erase.yes {
        anstream::eprintln!("{shown}");
    } else if !confirmed(&shown, "Erase it? Type yes: ") {
        return Err(Stopped::Refused("nothing was erased: it needs a yes (or --yes)".into()));
    }
    let mut leaves_something = !plan.left.is_empty();
    let mut gone = Vec::new();
    if let Err(stopped) = eraser.carry_out(plan, &terms, |one| gone.push(one)).await {
        // What went before it broke off; a repeat does not find it any more.
        for one in &gone {
            anstream::eprintln!("{}", one.page());
        }
        return Err(stopped);
    }
    leaves_something |= gone.iter().any(|one| !one.left.is_empty());
    let text = if erase.json { pretty(&json::erased(&gone)) } else { erase::page(&gone) };
    Ok(Printed { text, exit_status: u8::from(leaves_something) })
}

async fn found(submissions: &DynamoSubmissions, wanted: &Wanted, as_json: bool) -> Result<String, Stopped> {
    let (mut fitting, mut unread) = (Vec::new(), 0);
    whole(
        "find",
        scan::records(submissions, &SystemClock, &mut None, &mut shown(), |read| {
            match read {
                Ok(record) if wanted.fits(&record) => fitting.push(record),
                Ok(_) => {}
                Err(_) => unread += 1,
            }
            true
        }),
    )
    .await?;
    if as_json && unread > 0 {
        anstream::eprintln!("docket: {unread} records cannot be read by this release and were not searched");
    }
    Ok(if as_json {
        pretty(&fitting.iter().map(json::record).collect())
    } else {
        find::page(&mut fitting, unread, &zone())
    })
}

/// Standard output, and why it takes no more.
struct Lines<W> {
    out: W,
    broken: Option<std::io::Error>,
}

impl<W: std::io::Write> Lines<W> {
    /// Whether it took the line.
    fn take(&mut self, line: &str) -> bool {
        self.broken = self.broken.take().or_else(|| writeln!(self.out, "{line}").err());
        self.broken.is_none()
    }

    fn ended(mut self) -> Option<std::io::Error> {
        self.broken.take().or_else(|| self.out.flush().err())
    }
}

/// Line by line: an export may be larger than memory. Where it was broken off is said, and whoever reads the lines of one page
/// twice can tell them by their reference.
async fn exported(
    submissions: &DynamoSubmissions,
    format: Format,
    after: Option<String>,
) -> Result<String, Stopped> {
    let mut lines = Lines { out: std::io::stdout().lock(), broken: None };
    let mut position = after;
    let begun = position.is_some() || format.head().is_none_or(|head| lines.take(&head));
    let done = if begun {
        until_interrupted(scan::records(submissions, &SystemClock, &mut position, &mut shown(), |read| {
            match read {
                Ok(record) => lines.take(&format.line(&record)),
                Err(unread) => {
                    anstream::eprintln!("docket: {}", Format::unread(&unread));
                    true
                }
            }
        }))
        .await
    } else {
        Some(Ok(()))
    };
    let broken = lines.ended();
    let go_on = |why: String| match &position {
        Some(position) => format!("{why}; go on with --after {position}"),
        None => format!("{why}; nothing was exported yet"),
    };
    match (done, broken) {
        // Whoever reads it has seen enough.
        (_, Some(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(String::new()),
        (_, Some(error)) => Err(Stopped::Refused(go_on(format!(
            "the export is not whole, its last line may be cut: standard output takes no more ({error}): make room"
        )))),
        (Some(Ok(())), None) => Ok(String::new()),
        (Some(Err(Stopped::Unreachable(why))), None) => Err(Stopped::Unreachable(go_on(why))),
        (Some(Err(stopped)), None) => Err(stopped),
        (None, None) => Err(Stopped::Interrupted(go_on("interrupted".into()))),
    }
}

/// Work over the whole table, of which a part says nothing.
async fn whole<T>(command: &str, work: impl Future<Output = Result<T, Stopped>>) -> Result<T, Stopped> {
    until_interrupted(work).await.unwrap_or_else(|| {
        Err(Stopped::Interrupted(format!(
            "interrupted before the whole was read, and a part says nothing: docket {command} begins anew"
        )))
    })
}

/// Progress on standard error, where a person looks at it.
fn shown() -> impl FnMut(Progress) {
    use std::io::IsTerminal as _;
    let watched = std::io::stderr().is_terminal();
    move |progress| {
        if watched {
            let of = progress.all.map(|all| format!(" of {all}")).unwrap_or_default();
            anstream::eprint!("\r{} {}{of} ", progress.of, progress.done);
        }
    }
}

/// Asks on a terminal; nobody agrees where there is none.
fn confirmed(facts: &str, question: &str) -> bool {
    use std::io::IsTerminal as _;
    anstream::eprintln!("{facts}");
    if !std::io::stdin().is_terminal() {
        return false;
    }
    anstream::eprint!("{question}");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}

async fn of_webhook(command: WebhookCommand, environment: &Environment) -> Result<Printed, Stopped> {
    match command {
        WebhookCommand::Set { max_connections, now, json: as_json } => {
            let used = ["BOT_TOKEN", "WEBHOOK_SECRET"];
            let (environment, put_at) =
                reach::with_dated_parameters(environment, &used, "WEBHOOK_SECRET").await?;
            let secret = environment.webhook_secret().map_err(usage)?;
            let url = environment.webhook_url().map_err(usage)?;
            let wanted = Webhook { url, secret, max_connections };
            let bot = reach::bot(&environment)?;
            if let Some(put_at) = put_at.filter(|_| !now) {
                webhook::is_taken_up(&bot, &wanted.url, put_at, SystemClock.now(), &zone()).await?;
            }
            let set = webhook::set(&bot, &wanted).await?;
            Ok(if as_json { pretty(&set.json()) } else { set.page() }.into())
        }
        WebhookCommand::Info { json: as_json } => {
            let environment = reach::with_parameters(environment, &["BOT_TOKEN"]).await?;
            let url = environment.webhook_url().map_err(usage)?;
            let (bot, zone) = (reach::bot(&environment)?, zone_of(as_json));
            let remembered = webhook::info(&bot, &url, SystemClock.now(), &zone).await?;
            let text = if as_json { pretty(&remembered.json()) } else { remembered.page(&zone) };
            Ok(Printed { text, exit_status: u8::from(!remembered.wrong.is_empty()) })
        }
        WebhookCommand::Delete { json: as_json } => {
            let environment = reach::with_parameters(environment, &["BOT_TOKEN"]).await?;
            reach::bot(&environment)?.delete_webhook().await?;
            Ok(if as_json {
                pretty(&serde_json::json!({"deleted": true}))
            } else {
                "Telegram calls nobody now. It keeps what customers write for a day.".to_owned()
            }
            .into())
        }
    }
}

fn zone() -> Zone {
    Zone::of_this_machine()
}

/// Of sentences that stand on a page or in JSON.
fn zone_of(as_json: bool) -> Zone {
    if as_json { Zone::of_scripts() } else { zone() }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::orders_for;

    const PAGES: [&str; 2] = [include_str!("../../../README.md"), include_str!("../../runbook.md")];

    /// The words of a command line, as a shell would take it apart: double quotes, and a comment behind.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for letter in line.chars().chain([' ']) {
            match letter {
                '"' => quoted = !quoted,
                '#' | '>' if !quoted && word.is_empty() => break,
                ' ' if !quoted => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                }
                _ => word.push(letter),
            }
        }
        words
    }

    #[test]
    fn every_command_that_a_page_tells_to_paste_is_one_of_ours() {
        let mut pasted = 0;
        for page in PAGES {
            for block in page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
                for line in block.lines() {
                    let words = words(line.trim());
                    // Behind variables for this one command.
                    let mut words = words.iter().map(String::as_str).skip_while(|word| word.contains('='));
                    let first = words.next();
                    let is_ours =
                        first == Some("docket") || (first == Some("cargo") && words.next() == Some("docket"));
                    if is_ours {
                        let parsed = Cli::try_parse_from(["docket"].into_iter().chain(words));
                        assert!(
                            parsed.is_ok(),
                            "{line}: {}",
                            parsed.err().map(|e| e.to_string()).unwrap_or_default()
                        );
                        pasted += 1;
                    }
                }
            }
        }
        assert!(pasted > 40, "{pasted}");
    }

    #[test]
    fn the_help_of_every_command_has_an_example_that_it_takes() {
        let mut open = vec![("docket".to_owned(), Cli::command())];
        let mut seen = 0;
        while let Some((name, command)) = open.pop() {
            let below =
                command.get_subcommands().map(|sub| (format!("{name} {}", sub.get_name()), sub.clone()));
            open.extend(below);
            if name == "docket" {
                continue;
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help
                .lines()
                .map(|line| line.strip_prefix("Example: ").unwrap_or(line).trim())
                .filter(|line| line.starts_with(&name))
                .collect();
            assert!(help.starts_with("Example") && !examples.is_empty(), "{name}: {help}");
            for example in examples {
                let parsed = Cli::try_parse_from(words(example));
                assert!(
                    parsed.is_ok(),
                    "{example}: {}",
                    parsed.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
            seen += 1;
        }
        assert!(seen >= 18, "{seen}");
    }

    #[test]
    fn the_runbook_says_of_each_review_what_may_be_ordered_and_nothing_else() {
        let options = Kind::ALL.map(Kind::option);
        for reason in ReviewReason::ALL {
            let heading = format!("\n### `{}`\n", reason.as_str());
            let entry =
                PAGES[1].split(&heading).nth(1).unwrap_or_else(|| panic!("no entry for {}", reason.as_str()));
            let entry = entry.split("\n##").next().unwrap_or_default();
            for part in ["- **Known**: ", "- **Not known**: ", "- **Until morning**: ", "- **Look**: "] {
                assert!(entry.contains(part), "{}: {part}", reason.as_str());
            }
            let pasted: String = entry.split("```").skip(1).step_by(2).collect();
            let told: Vec<&str> = ["docket recheck"]
                .into_iter()
                .chain(options)
                .filter(|order| pasted.contains(*order))
                .collect();
            assert_eq!(told, orders_for(reason), "{}", reason.as_str());
        }
    }
}
