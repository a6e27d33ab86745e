//! `docket watch`: what a frame shows, and what it does to a terminal.

use docket::page::{self, Room};
use docket::table::width;
use docket::watch::{Due, Seen, Side, Size, frame};
use docket::zone::Zone;
use docket_domain::moment::Moment;
use docket_domain::reference::Reference;
use docket_world::World;
use docket_world::wire::{Backend, Fault, Plan, Side as WireSide};
use docket_world::workers::NOBODY;

use crate::executables::Environment;
use crate::operator::{docket, environment, plain, unknown};
use crate::terminal::Terminal;

const CHAT: i64 = 7_100_000_001;
const BROAD: Size = Size { columns: 140, rows: 40 };

/// Each waits for a person: its row was never seen.
async fn in_review(world: &mut World, count: i64) -> Vec<Reference> {
    let mut references = Vec::new();
    for number in 0..count {
        let reference = world.record_by_hand(CHAT + number, "Never seen.").await;
        world.somebody_claims_the_write(&reference).await;
        world.write_meets(&reference, unknown()).await;
        references.push(reference);
    }
    world.settle().await;
    references
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_shows_what_needs_a_person_and_what_is_due() {
    let mut world = World::start().await;
    in_review(&mut world, 2).await;
    world.turn_seconds(90);
    let waiting = world.record_by_hand(CHAT + 9, "Not appended yet.").await;
    world.turn_seconds(12);
    let mut seen = Seen::default();
    seen.read(world.store(), &world.clock).await;
    let shown = frame(&seen, world.now(), &Zone::named("Europe/Berlin").unwrap(), 5, BROAD);
    insta::assert_snapshot!(plain(&shown.join("\n")), @r"
    docket watch  2026-03-01 10:22:42 CET  every 5 s, Ctrl-C ends it

    due now: append 1 (the longest for 12 s), lookup 0, acknowledge 0

    reference          reason                 age  request type          what may be ordered
    DK-9ZBH-5C4N-1N9Q  no_matching_row      1 min  A quote               docket recheck, --recorded, --append-again, --abandon
    DK-B9RB-N1R5-A185  no_matching_row      1 min  A quote               docket recheck, --recorded, --append-again, --abandon
    ");
    // Never wider or longer than the screen, however little of it there is.
    for columns in [200, 80, 75, 40] {
        for rows in [40, 6, 5, 3, 1] {
            let shown = frame(&seen, world.now(), &Zone::utc(), 5, Size { columns, rows });
            assert!(shown.len() <= rows, "{rows}: {shown:?}");
            for line in &shown {
                assert!(width(&plain(line)) <= columns, "{columns}: {}", plain(line));
            }
        }
    }
    // What does not fit is counted.
    let shown = frame(&seen, world.now(), &Zone::utc(), 5, Size { columns: 80, rows: 6 });
    assert_eq!(plain(shown.last().unwrap()), "and 2 more: docket reviews");
    world.ring_for_the_write(&[waiting]).await;
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_says_what_is_lost_since_when_and_of_when_the_rest_is() {
    let mut world = World::start().await;
    let references = in_review(&mut world, 1).await;
    let mut seen = Seen::default();
    seen.read(world.store(), &world.clock).await;
    let at = world.now();
    world.turn_seconds(65);
    let why = || Some((at.plus_seconds(5), "the table could not be read: timeout".to_owned()));
    let due = Side { seen: None::<(Moment, Vec<Due>)>, lost: why() };
    let seen = Seen { reviews: Side { seen: seen.reviews.seen, lost: why() }, due };
    let shown = plain(&frame(&seen, world.now(), &Zone::utc(), 5, BROAD).join("\n"));
    insta::assert_snapshot!(shown, @r"
    docket watch  2026-03-01 09:22:05 UTC  every 5 s, Ctrl-C ends it

    what is due: lost since 2026-03-01 09:21:05 UTC; nothing of it was seen yet; asked for again
      the table could not be read: timeout

    reviews: lost since 2026-03-01 09:21:05 UTC; what stands here is of 2026-03-01 09:21:00 UTC; asked for again
      the table could not be read: timeout
    reference          reason                 age  request type          what may be ordered
    DK-9ZBH-5C4N-1N9Q  no_matching_row      1 min  A quote               docket recheck, --recorded, --append-again, --abandon
    ");
    assert!(shown.contains(references[0].as_str()));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_reviews_fits_the_terminal_and_loses_no_order_by_it() {
    let mut world = World::start().await;
    in_review(&mut world, 2).await;
    let reviews = docket::reviews(world.store()).await.unwrap();
    let broad = plain(&page::reviews(&reviews, world.now(), Room::Below(140)));
    assert_eq!(broad, plain(&page::reviews(&reviews, world.now(), Room::Unknown)));
    let narrow = plain(&page::reviews(&reviews, world.now(), Room::Below(80)));
    assert!(narrow.lines().all(|line| width(line) <= 80), "{narrow}");
    let orders = "docket recheck, --recorded, --append-again, --abandon";
    assert_eq!(narrow.matches(orders).count(), 2, "{narrow}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wide_request_type_moves_no_column() {
    let mut world = World::start().await;
    in_review(&mut world, 2).await;
    let mut reviews = docket::reviews(world.store()).await.unwrap();
    let named = |name: &str, listed: &mut docket::Listed| {
        listed.record.as_mut().unwrap().submission.request_type = name.into();
    };
    named("見積もりのお願いをしたいのですが", &mut reviews[0]);
    named("e\u{301}t\nb", &mut reviews[1]);
    let shown = plain(&page::reviews(&reviews, world.now(), Room::Unknown));
    let before = |line: &str| width(line.split("docket recheck").next().unwrap());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines.len(), before(lines[1])), (4, before(lines[2])), "{shown}");
    assert!(lines[1].contains("見積もりのお願いを…"), "{shown}");
    assert!(lines[2].contains("e\u{301}t b  "), "{shown}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_terminal_is_it_is_printed_once_or_refused() {
    let mut world = World::start().await;
    let references = in_review(&mut world, 1).await;
    let there = environment(&world);
    let once = docket(&there, &["watch", "--once"]);
    assert_eq!((once.status, once.stderr.as_str()), (0, ""));
    assert!(
        once.stdout.contains(references[0].as_str()) && !once.stdout.contains('\u{1b}'),
        "{}",
        once.stdout
    );
    assert!(docket(&there, &["watch"]).refused(2).contains("--once"));
    let nobody = there.with("AWS_ENDPOINT_URL", NOBODY);
    assert!(docket(&nobody, &["watch", "--once"]).refused(3).contains("could not be read"));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_outlives_a_lost_table_and_gives_the_terminal_back() {
    let mut world = World::start().await;
    let references = in_review(&mut world, 1).await;
    let backend = Backend::Engine { url: world.engines.dynamodb_url().to_owned() };
    let gate = world.wire.gate("operator", WireSide::DynamoDb, backend).await;
    let there = environment(&world).with("AWS_ENDPOINT_URL", gate.url());
    for signal in ["INT", "TERM"] {
        let mut watch = Terminal::start("docket", &["watch", "--every", "2"], &there, (120, 20));
        watch.until("the review", |seen| seen.contains(references[0].as_str()));
        world.wire.set_plan(Plan::outage(WireSide::DynamoDb, Fault::Answer500Before));
        watch.until("the loss", |seen| seen.contains("reviews: lost since"));
        let until_then = watch.written().len();
        world.wire.heal();
        watch.until("the review again", |seen| {
            let newest = seen[until_then..].rsplit("\u{1b}[H").next().unwrap_or_default();
            let whole = newest.contains(references[0].as_str()) && newest.ends_with("\u{1b}[J");
            whole && !newest.contains("lost since")
        });
        watch.signal(signal);
        let (status, drawn) = watch.ended();
        assert_eq!(status.code(), Some(0), "{signal}: {drawn:?}");
        assert!(drawn.starts_with("\u{1b}[?1049h\u{1b}[?25l"), "{drawn:?}");
        assert!(drawn.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{drawn:?}");
        // Once each: what was written before stands untouched.
        assert_eq!((drawn.matches("[?1049h").count(), drawn.matches("[?1049l").count()), (1, 1));
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn colour_is_for_a_terminal_and_not_where_it_is_not_wanted() {
    let mut world = World::start().await;
    in_review(&mut world, 1).await;
    let there = environment(&world);
    let on_a_terminal = |environment: &Environment| {
        let (status, drawn) = Terminal::start("docket", &["reviews"], environment, (140, 40)).ended();
        assert!(status.success() && drawn.contains("no_matching_row"), "{drawn}");
        drawn
    };
    assert!(on_a_terminal(&there).contains("\u{1b}["));
    for without in [there.clone().with("NO_COLOR", "1"), there.clone().with("TERM", "dumb")] {
        assert!(!on_a_terminal(&without).contains('\u{1b}'));
    }
    let piped = docket(&there, &["reviews"]);
    assert!(!piped.stdout.contains('\u{1b}'), "{}", piped.stdout);
    // The frame keeps its place without colours.
    let mut plain = Terminal::start("docket", &["watch"], &there.with("NO_COLOR", "1"), (120, 20));
    plain.until("a frame", |seen| seen.ends_with("\u{1b}[J"));
    plain.signal("INT");
    let (_, drawn) = plain.ended();
    assert!(drawn.contains("\u{1b}[H") && !drawn.contains("\u{1b}[1m"), "{drawn:?}");
    world.check_rules().await;
}
