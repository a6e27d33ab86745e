//! Times on a page are the operator's own, with their zone; what a script reads stays in UTC.

use docket_adapters::clock::SystemClock;
use docket_domain::moment::Moment;
use docket_domain::ports::Clock as _;
use docket_world::World;
use docket_world::sheets::Behaviour;
use serde_json::{Value, json};

use crate::executables::environment_of_operator;
use crate::manners::settings;
use crate::operator::{docket, environment, unknown};
use crate::write_side::{uncertain, world};

const CHAT: i64 = 7_100_000_001;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_in_the_time_of_the_operators_zone_also_over_the_night_in_which_clocks_are_put_forward() {
    let world = World::start().await;
    let night = Moment::parse("2026-03-29T00:59:59.900Z").unwrap();
    world.clock.turn(night.millis() - world.now().millis());
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.clock.turn(1_100);
    world.somebody_claims_the_write(&reference).await;
    world.write_meets(&reference, unknown()).await;
    let there = environment(&world);
    let show = ["show", reference.as_str()];

    let page = docket(&there.clone().with("TZ", "Europe/Berlin"), &show).stdout;
    for line in [
        "Was it confirmed and recorded?      Yes: confirmed by the customer at 2026-03-29 01:59:59 CET, and kept.",
        "Is its row known to exist?          Not known: the append of 2026-03-29 03:00:01 CEST ended without a usable answer: no answer came in time (timeout).",
        "What still needs attention?         Nobody: a machine looks at it (lookup) at 2026-03-29 03:01:01 CEST.",
        "history, in the time of Europe/Berlin",
        "  2026-03-29 01:59:59 CET   webhook       recorded",
        "  2026-03-29 03:00:01 CEST  writer        claimed  pending → attempting",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }

    // A zone as POSIX writes it has no name.
    let page = docket(&there.clone().with("TZ", "<-03>3"), &show).stdout;
    assert!(page.contains("at 2026-03-28 21:59:59 -03, and kept."), "{page}");
    assert!(page.contains("history, in the time of this machine's own zone"), "{page}");

    for of_nowhere in ["Nowhere/Land", "/etc/passwd"] {
        let ran = docket(&there.clone().with("TZ", of_nowhere), &show);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let heading = "history, in the time of UTC (the time zone of TZ or of this machine is not known)";
        assert!(ran.stdout.contains(heading), "{}", ran.stdout);
        assert!(ran.stdout.contains("at 2026-03-29 00:59:59 UTC, and kept."), "{}", ran.stdout);
    }

    let scripts =
        |zone: &str| docket(&there.clone().with("TZ", zone), &[&show[..], &["--json"]].concat()).json();
    assert_eq!(scripts("Europe/Berlin"), scripts("UTC"));
    assert_eq!(scripts("Europe/Berlin")["history"][1]["at"], "2026-03-29T01:00:01Z");
    world.check_rules().await;
}

/// The night of an enquiry in review, told in the operator's own time wherever a person reads it.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_and_what_is_shown_before_a_yes_are_in_the_operators_time_too() {
    let mut world = world().await;
    let told = world.record_enquiries(1).await.remove(0);
    world.settle().await;
    let reference = uncertain(&mut world, 1, Behaviour::hangs_up()).await.remove(0);
    let there = environment_of_operator(&world).with("TZ", "Europe/Berlin");
    let because = ["--because", "a test"];
    let run = |before: &[&str], options: &[&str]| docket(&there, &[before, options, &because].concat());

    // Its row may still come.
    let early = run(&["erase", "--reference", reference.as_str(), "--yes"], &[]);
    let said = early.refused(1);
    assert!(said.contains("may be under way until 2026-03-01 10:16:02 CET; erase it afterwards"), "{said}");
    world.settle().await;
    let following = world.clock.follow_real_time();

    let resolve = ["resolve", reference.as_str()];
    let asked = run(&resolve, &["--append-again"]);
    let said = asked.refused(1);
    for fact in
        ["  in review since 2026-03-01 10:", "  the last append was at 2026-03-01 10:15:01 CET and ended"]
    {
        assert!(said.lines().any(|line| line.starts_with(fact)), "{fact}: {said}");
    }
    assert!(!said.contains("2026-03-01T") && !said.contains("UTC"), "{said}");
    // Also where what is done would be printed as JSON: standard error is a person's.
    let asked = run(&resolve, &["--append-again", "--json"]);
    assert!(asked.refused(1).contains("at 2026-03-01 10:15:01 CET and ended"), "{}", asked.stderr);

    let late = run(&resolve, &["--abandon", "--if-version", "1"]);
    let said = late.refused(1);
    assert!(said.contains("CET looked_up by ") && !said.contains("2026-03-01T"), "{said}");

    let planned = run(&["erase", "--reference", told.as_str()], &[]);
    let said = planned.refused(1);
    assert!(said.contains(&format!("  {told}  of 2026-03-01 10:15:00 CET, ")), "{said}");
    following.abort();
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_telegram_remembers_is_told_in_the_operators_time_and_to_a_script_in_utc() {
    let world = World::start().await;
    let there = settings(&world).with("TZ", "<-03>3");
    let at = SystemClock.now().whole_second();
    let here = docket::zone::Zone::named("America/Sao_Paulo").unwrap().shown(at);
    let info = json!({"ok": true, "result": {
        "url": "",
        "pending_update_count": 0,
        "last_error_date": at.seconds(),
        "last_error_message": "Connection refused",
    }});
    let asked = |arguments: &[&str]| {
        world.telegram.answer_next(200, &info.to_string());
        docket(&there, arguments)
    };
    let page = asked(&["webhook", "info"]).stdout;
    assert!(page.contains(&format!("last error       {here} Connection refused")), "{page}");
    assert!(
        page.contains(&format!("wrong: Telegram's last error, at {here}: Connection refused; ")),
        "{page}"
    );
    assert!(!page.contains("UTC") && !page.contains('Z'), "{page}");
    let json: Value = serde_json::from_str(&asked(&["webhook", "info", "--json"]).stdout).unwrap();
    assert_eq!(json["last_error_at"], at.to_string());
    assert!(json["wrong"][1].as_str().unwrap().contains(&format!("last error, at {at}: ")), "{json}");
    world.check_rules().await;
}
