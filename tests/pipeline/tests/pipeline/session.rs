//! The recorded session in `infra/operator/SESSION.md` is what the command prints today.
//!
//! The words and the references are the world's own and always the same. What varies is replaced: an age by the world's, and
//! a time of the machine's clock, by which an order is kept, by the world's time. `DOCKET_RECORD=1` writes the file anew.

use std::path::Path;

use docket_adapters::clock::SystemClock;
use docket_domain::moment::Moment;
use docket_domain::ports::Clock as _;
use docket_domain::reference::Reference;
use docket_world::World;
use docket_world::sheets::{Behaviour, On};

use crate::executables::{Environment, environment_of_operator};
use crate::operator::docket;

const FILE: &str = "../../infra/operator/SESSION.md";

/// `2026-03-01 09:15:00 UTC`, in characters.
const TIME_CHARS: usize = 23;

/// One world with an operator in it.
struct Session {
    world: World,
    environment: Environment,
    /// When it began, by the clock that the command reads.
    began: Moment,
    written: String,
}

impl Session {
    fn say(&mut self, words: &str) {
        self.written.push_str(&format!("{words}\n\n"));
    }

    fn run(&mut self, line: &str) {
        let (before, because) = line.split_once(" --because ").map_or((line, None), |(a, b)| (a, Some(b)));
        let mut arguments: Vec<&str> = before.split(' ').skip(1).collect();
        if let Some(because) = because {
            arguments.extend(["--because", because.trim_matches('"')]);
        }
        // Google's fake takes no token of another time than its own.
        let shown = self.turn_to(SystemClock.now());
        let ran = docket(&self.environment, &arguments);
        self.turn_to(shown);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}");
        let printed: Vec<String> =
            ran.stdout.lines().map(|line| self.steady(line).trim_end().to_owned()).collect();
        self.written.push_str(&format!("```console\n$ {line}\n{}\n```\n\n", printed.join("\n")));
    }

    /// Turns the world's clock, and gives what it showed before.
    fn turn_to(&self, moment: Moment) -> Moment {
        let before = self.world.now();
        self.world.clock.turn(moment.millis() - before.millis());
        before
    }

    /// A line without what differs from one run to the next.
    fn steady(&self, line: &str) -> String {
        let mut steady = line.to_owned();
        let characters: Vec<(usize, char)> = line.char_indices().collect();
        for window in characters.windows(TIME_CHARS) {
            let text: String = window.iter().map(|(_, c)| *c).collect();
            let moment = text
                .strip_suffix(" UTC")
                .and_then(|text| Moment::parse(&format!("{}Z", text.replace(' ', "T"))));
            if moment.is_some_and(|moment| moment >= self.began.whole_second()) {
                let of_the_world = self.world.now().to_string().replace('T', " ").replace('Z', " UTC");
                steady = steady.replace(&text, &of_the_world);
            }
        }
        // The column of ages, in the table of reviews.
        if let Some(reference) = line.get(..17).and_then(|first| first.parse::<Reference>().ok())
            && line.get(37..45).is_some()
        {
            let listed = docket(&self.environment, &["reviews", "--json"]).json();
            let review =
                listed.as_array().unwrap().iter().find(|review| review["reference"] == reference.as_str());
            let since = review.and_then(|review| review["since"].as_str()).and_then(Moment::parse).unwrap();
            let age = docket::page::age(self.world.now().seconds_since(since));
            steady.replace_range(37..45, &format!("{age:>8}"));
        }
        steady
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_session_is_what_the_command_prints() {
    let mut world = World::start().await;
    let ann = world.customer(7_100_000_001, "Ann Miller");
    let lost = world.submit(&ann, "A quote", "New gutters, please.\nAnd a slate roof.").await;
    world.sheets.next(On::Appends, Behaviour::hangs_up());
    world.settle().await;
    world.turn_seconds(20 * 60);
    let environment = environment_of_operator(&world);
    let began = SystemClock.now();
    let mut session = Session { world, environment, began, written: String::new() };

    session.say("# A night with a review");
    session.say(
        "The alarm's mail says that a review is open. This is what the operator typed and read, recorded from the test world;\na \
         test runs the same commands and compares, so it is what the command prints today. Times are in UTC here, and in your\nown \
         zone where you sit.",
    );
    session.say("What is open?");
    session.run("docket reviews");
    session.say("One enquiry. What is known about it, and what is not?");
    session.run(&format!("docket show {lost}"));
    session.say("The append got no answer, and no row was seen since. Perhaps it is there by now:");
    session.run(&format!("docket recheck {lost}"));
    session.say(
        "It is not, and neither is it in the version history or in another tab: that was looked up in the browser. So another\n\
         append makes no second row. The version is the one that `recheck` printed: if somebody else acts first, nothing\n\
         happens.",
    );
    let version = session.world.record(&lost).await.version;
    session.run(&format!(
        "docket resolve {lost} --if-version {version} --append-again --yes --because \"not in the sheet, not in its history\""
    ));
    // The order was kept by the machine's clock, so that is when its record is due.
    let shown = session.turn_to(SystemClock.now().plus_seconds(60));
    session.world.settle().await;
    session.turn_to(shown.plus_seconds(60));
    session.say("A minute later:");
    session.run(&format!("docket show {lost}"));
    session.say("The row is there, the customer knows, and nothing is open any more:");
    session.run("docket reviews");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let written = format!("{}\n", session.written.trim_end());
    if std::env::var_os("DOCKET_RECORD").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, recorded, "DOCKET_RECORD=1 records it anew");
    session.world.is_not_checked("its order was kept by another clock");
}
