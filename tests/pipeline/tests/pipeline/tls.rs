//! The executables as they speak to Google, Telegram and AWS in earnest: over TLS.
//!
//! An authority of the test's own stands for the public ones. The executables find it the way they find those: in the
//! machine's certificate store.

use std::collections::HashMap;

use docket_domain::status::{AckState, WriteState};
use docket_world::World;
use docket_world::runtime_api::Invoked;
use docket_world::tls::{Authority, Front};
use docket_world::wire::Side;
use serde_json::json;

use crate::binaries::{rehearsal, ring_for, says_what_it_may};
use crate::executables::{Environment, environment_of};
use crate::stage::{Process, Stage};

const CHAT: i64 = 7_130_000_001;
const ADDRESS: &str = "127.0.0.1";

/// Every side that each function speaks to.
const SIDES: [(&str, &[Side]); 4] = [
    ("webhook", &[Side::DynamoDb, Side::Sqs]),
    ("writer", &[Side::DynamoDb, Side::Sqs, Side::Token, Side::Sheets]),
    ("acknowledger", &[Side::DynamoDb, Side::Telegram]),
    ("sweeper", &[Side::DynamoDb, Side::Sqs]),
];

/// A front before each side of each function, by the address behind it.
struct Fronts(HashMap<String, (&'static str, Side, Front)>);

impl Fronts {
    async fn open(world: &World, authority: &Authority, name: &str) -> Self {
        let mut fronts = HashMap::new();
        for (function, sides) in SIDES {
            for &side in sides {
                let plain = world.url(function, side);
                let front = authority.front(name, &plain).await;
                fronts.insert(plain, (function, side, front));
            }
        }
        Self(fronts)
    }

    /// The same settings, with every plain address replaced by that of its front.
    fn instead(&self, environment: &Environment) -> Environment {
        environment.pairs().iter().fold(Environment::default(), |changed, (name, value)| {
            let value = self
                .0
                .iter()
                .fold(value.clone(), |value, (plain, (_, _, front))| value.replace(plain, &front.url()));
            changed.with(name, value)
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_story_goes_over_tls_and_google_and_telegram_are_spoken_to_in_http_1_only() {
    let authority = Authority::new();
    let world = World::start().await;
    let fronts = Fronts::open(&world, &authority, ADDRESS).await;
    // An assertion names the address to which it is sent.
    let tokens = &fronts.0[&world.url("writer", Side::Token)].2;
    let key = world.sheets.token().service_account_json(&format!("{}/token", tokens.url()));
    let mut stage = Stage::set_in(world, |function, environment| {
        let environment = fronts
            .instead(&rehearsal(function, environment))
            .with("SSL_CERT_FILE", authority.file().to_string_lossy());
        if function == "writer" { environment.with("GOOGLE_CREDENTIALS", &key) } else { environment }
    })
    .await;
    let ann = stage.world.customer(CHAT, "Ann");
    let reference = stage.submit(&ann, "Over a safe line, please.").await;
    assert_eq!(stage.poll_writer().await.done, 1);
    assert_eq!(stage.poll_acknowledger().await.done, 1);
    stage.sweep().await;
    assert!(stage.world.record(&reference).await.finished());
    assert_eq!(stage.world.rows_of(&reference), 1);
    assert_eq!(stage.world.acknowledgements(CHAT), [format!("Your enquiry {reference} is recorded.")]);
    stage.world.check_rules().await;
    for (name, process) in stage.processes() {
        says_what_it_may(name, process);
    }

    for (function, side, front) in fronts.0.values() {
        let seen = front.seen();
        // The sweeper found everything rung for already.
        let spoken_to = !(*function == "sweeper" && *side == Side::Sqs);
        assert_eq!((seen.completed > 0, seen.broken), (spoken_to, 0), "{function} to {side:?}: {seen:?}");
        if matches!(side, Side::Token | Side::Sheets | Side::Telegram) {
            // With HTTP/2 a client may send a request twice.
            assert!(!seen.offered.contains(&"h2".to_owned()), "{function} to {side:?}: {seen:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_else_in_googles_or_telegrams_place_is_told_nothing() {
    let (trusted, unknown) = (Authority::new(), Authority::new());
    // A certificate of an authority that nobody trusts, and a good one that names another.
    for (authority, name) in [(&unknown, ADDRESS), (&trusted, "elsewhere.example")] {
        let stage = Stage::set(rehearsal).await;
        let fronts = Fronts::open(&stage.world, authority, name).await;
        let start = async |function| {
            let plain = rehearsal(function, environment_of(function, &stage.world));
            let environment = plain.pairs().iter().fold(plain.clone(), |kept, (setting, value)| {
                // AWS itself can be trusted here.
                let of_aws = setting.starts_with("AWS_") || setting.ends_with("_QUEUE_URL");
                let only = Environment::default().with(setting, value);
                if of_aws { kept } else { kept.with(setting, fronts.instead(&only).pairs()[0].1.clone()) }
            });
            let file = trusted.file();
            Process::start(function, environment.with("SSL_CERT_FILE", file.to_string_lossy())).await
        };
        let nothing_failed = Invoked::Answered(json!({"batchItemFailures": []}));

        let reference = stage.world.record_by_hand(CHAT, "For nobody else's eyes.").await;
        let writer = start("writer").await;
        assert_eq!(writer.invoke(&ring_for(&reference)).await, nothing_failed);
        let state = stage.world.record(&reference).await.write.state;
        let WriteState::Pending { cause: Some(cause), .. } = &state else { panic!("{name}: {state:?}") };
        assert_eq!(cause.0, "token_tls", "{name}");
        assert_eq!(
            stage.world.wire.count(Side::Token, "token") + stage.world.wire.count(Side::Sheets, "append"),
            0
        );

        // Written by a writer that reaches the right one; then the message.
        let good =
            Process::start("writer", rehearsal("writer", environment_of("writer", &stage.world))).await;
        let other = stage.world.record_by_hand(CHAT + 1, "For nobody else's eyes.").await;
        assert_eq!(good.invoke(&ring_for(&other)).await, nothing_failed);
        let acknowledger = start("acknowledger").await;
        assert_eq!(acknowledger.invoke(&ring_for(&other)).await, nothing_failed);
        let state = stage.world.record(&other).await.acknowledgement.unwrap().state;
        let AckState::Pending { cause: Some(cause), .. } = &state else { panic!("{name}: {state:?}") };
        assert_eq!(cause.0, "tls", "{name}");
        assert_eq!(stage.world.acknowledgements(CHAT + 1), Vec::<String>::new());

        for (function, side, front) in fronts.0.values() {
            let asked =
                matches!((*function, side), ("writer", Side::Token) | ("acknowledger", Side::Telegram));
            let seen = front.seen();
            assert_eq!((seen.completed, seen.broken > 0), (0, asked), "{function} to {side:?}: {seen:?}");
        }
        stage.world.check_rules().await;
        for (name, process) in [("writer", &writer), ("acknowledger", &acknowledger)] {
            says_what_it_may(name, process);
        }
    }
}
