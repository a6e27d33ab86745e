//! What a person may order about a review: each of the eight reasons, brought about by its own fault, with each order.
//!
//! Which order closes which review is written down here once more, from the design's table, so that neither the command nor
//! the domain can drift from it.

use docket::Stopped;
use docket::orders::many::{Which, exit_status, order_many};
use docket::orders::{Desk, Done, Kind, Order, Sheet, Terms, recheck};
use docket::zone::Zone;
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::sheets::GoogleSheet;
use docket_domain::ports::Submissions as _;
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckState, By, Conflict, ConflictEvent, Finding, Record, ReviewReason, WriteReview, WriteState,
};
use docket_domain::submission::{Fingerprint, Summary};
use docket_world::clock::TurnedClock;
use docket_world::sheets::{Behaviour, On};
use docket_world::workers::{NOBODY, SPREADSHEET_ID};
use docket_world::{Tampering, World};
use serde_json::{Value, json};

use crate::executables::{Environment, environment_of_operator};
use crate::looking::sheet;
use crate::operator::{Ran, docket, shows_no_secret};
use crate::write_side::{appends, each, known, uncertain, world};

const WHY: &str = "I looked into it myself.";

type OurDesk = Desk<DynamoSubmissions, GoogleSheet<TurnedClock>, TurnedClock>;

fn desk(world: &World) -> OurDesk {
    desk_of(world, "ann@example.org")
}

fn desk_of(world: &World, who: &str) -> OurDesk {
    let sheet = sheet(world);
    let account = sheet.account().to_owned();
    let settle_seconds = world.settings().timing.settle_seconds;
    let place = "'Intake' of the spreadsheet".to_owned();
    Desk {
        submissions: world.store().clone(),
        sheet: Some(Sheet { sheet, place, account, settle_seconds }),
        clock: world.clock.clone(),
        by: By::Operator(who.into()),
        zone: Zone::utc(),
    }
}

async fn order(world: &World, reference: &Reference, kind: Kind, terms: Terms) -> Result<Done, Stopped> {
    let order = Order { kind, why: WHY.into(), tell: None };
    desk(world).order(reference, &order, terms, |_| true).await
}

/// The design's table.
fn allowed(reason: ReviewReason) -> Vec<Kind> {
    use WriteReview as W;
    match reason {
        ReviewReason::Write(W::NoMatchingRow | W::MisplacedRow | W::SheetUnreadable) => {
            vec![Kind::Recorded, Kind::AppendAgain, Kind::Abandon]
        }
        ReviewReason::Write(W::SeveralRows | W::RowDiffers) => vec![Kind::Recorded, Kind::Abandon],
        ReviewReason::Write(W::WriteRefused) => vec![Kind::AppendAgain, Kind::Abandon],
        ReviewReason::AckUncertain => vec![Kind::Seen, Kind::SendAgain, Kind::Leave],
        ReviewReason::Conflict => vec![Kind::KeepFirst],
    }
}

/// A world in which one enquiry waits for a person, for this reason.
pub(crate) async fn in_review(reason: ReviewReason) -> (World, Reference) {
    use WriteReview as W;
    let mut world = world().await;
    let reference = match reason {
        ReviewReason::Write(W::NoMatchingRow) => {
            let references = uncertain(&mut world, 1, Behaviour::hangs_up()).await;
            world.settle().await;
            references[0].clone()
        }
        ReviewReason::Write(W::SeveralRows) => {
            let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
            let row = world.sheets.rows("Intake")[1].clone();
            world.sheets.put_row("Intake", 3, &row);
            world.settle().await;
            references[0].clone()
        }
        ReviewReason::Write(W::RowDiffers) => {
            let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
            let mut row = world.sheets.rows("Intake")[1].clone();
            row[3] = json!("other words");
            world.sheets.put_row("Intake", 2, &row);
            world.settle().await;
            references[0].clone()
        }
        ReviewReason::Write(W::MisplacedRow) => {
            let references = world.record_enquiries(1).await;
            world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!D3:I3"));
            world.work().await;
            references[0].clone()
        }
        ReviewReason::Write(W::WriteRefused) => {
            world.sheets.set_cell_characters(100);
            let references = world.record_words(&[&"x".repeat(101)]).await;
            world.work().await;
            world.sheets.set_cell_characters(50_000);
            references[0].clone()
        }
        ReviewReason::Write(W::SheetUnreadable) => {
            let references = uncertain(&mut world, 1, Behaviour::hangs_up()).await;
            world.sheets.rename_tab("Intake", "Archive");
            world.turn_seconds(24 * 3_600 + 60);
            world.sweep().await;
            world.work().await;
            world.sheets.rename_tab("Archive", "Intake");
            references[0].clone()
        }
        ReviewReason::AckUncertain => {
            let references = world.record_enquiries(1).await;
            world.telegram.answer_next(500, "");
            world.work().await;
            references[0].clone()
        }
        ReviewReason::Conflict => {
            let references = world.record_enquiries(1).await;
            world.settle().await;
            let seen = world.record(&references[0]).await;
            let summary = Summary::clean("Something else.").unwrap();
            let conflict = Conflict {
                at: world.now(),
                request_type: "A question".into(),
                fingerprint: Fingerprint::of("A question", &summary, seen.submission.chat_id),
                summary,
            };
            let next =
                seen.conflict_after(&ConflictEvent::Arrived(conflict), world.now(), &By::Webhook).unwrap();
            world.store().apply(&seen, &next, world.now()).await.unwrap();
            references[0].clone()
        }
    };
    let reviews = world.record(&reference).await.reviews();
    assert_eq!(reviews.iter().map(|review| review.reason).collect::<Vec<_>>(), [reason]);
    (world, reference)
}

fn told(world: &World, record: &Record) -> usize {
    world.acknowledgements(record.submission.chat_id.0).len()
}

fn touched(reference: &Reference) -> Tampering {
    Tampering { rows_of: vec![reference.clone()], ordered: vec![reference.clone()] }
}

/// Nothing is appended again while the row lies where it does not belong; then a person deletes it.
async fn clears_the_misplaced_row_away(world: &World, reference: &Reference) {
    let before = world.record(reference).await;
    let refused = order(world, reference, Kind::AppendAgain, Terms::default()).await;
    let Err(Stopped::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("astray at 'Intake'!D3") && why.contains("one row too many"), "{why}");
    assert_eq!(world.record(reference).await, before);
    world.sheets.delete_row("Intake", 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_closes_the_reviews_it_is_there_for_and_is_refused_for_all_others() {
    let pairs = ReviewReason::ALL.into_iter().flat_map(|reason| Kind::ALL.map(|kind| (reason, kind)));
    each(pairs, |(reason, kind)| async move {
        let (mut world, reference) = in_review(reason).await;
        if (reason, kind) == (ReviewReason::Write(WriteReview::MisplacedRow), Kind::AppendAgain) {
            clears_the_misplaced_row_away(&world, &reference).await;
        }
        let before = world.record(&reference).await;
        let (rows, messages) = (world.rows_of(&reference), told(&world, &before));
        let terms = Terms { without_row: true, ..Terms::default() };
        let done = order(&world, &reference, kind, terms).await;
        if !allowed(reason).contains(&kind) {
            let Err(Stopped::Refused(why)) = done else { panic!("{done:?}") };
            assert!(why.contains(kind.option()) && why.contains(reason.as_str()), "{why}");
            assert_eq!(world.record(&reference).await, before, "a refused order changed something");
            world.settle().await;
            assert_eq!((world.rows_of(&reference), told(&world, &before)), (rows, messages));
            world.check_rules_but_for(&touched(&reference)).await;
            return;
        }
        let done = done.unwrap();
        let after = world.record(&reference).await;
        assert_eq!((&done.record, done.changed), (&after, true));
        assert_eq!(after.reviews(), []);
        assert_eq!((after.version, &after.submission), (before.version + 1, &before.submission));
        let last = after.history.entries().last().unwrap().clone();
        assert_eq!((last.by.as_str(), last.why.as_deref()), ("operator ann@example.org", Some(WHY)));

        world.settle().await;
        let end = world.record(&reference).await;
        assert!(end.finished(), "{end:?}");
        let ack = |record: &Record| record.acknowledgement.as_ref().map(|ack| ack.state.as_str());
        let (more_rows, more_messages) = match kind {
            Kind::Recorded => {
                assert_eq!((known(&end).as_str(), ack(&end)), ("confirmed operator", Some("confirmed")));
                (0, 1)
            }
            Kind::AppendAgain => {
                assert_eq!((known(&end).as_str(), ack(&end)), ("confirmed append_answer", Some("confirmed")));
                (1, 1)
            }
            Kind::Abandon => {
                assert_eq!((known(&end).as_str(), ack(&end)), ("abandoned", None));
                (0, 0)
            }
            Kind::Seen => {
                let state = &end.acknowledgement.as_ref().unwrap().state;
                assert_eq!(*state, AckState::Confirmed { message_id: None });
                (0, 0)
            }
            Kind::SendAgain => {
                assert_eq!(ack(&end), Some("confirmed"));
                (0, 1)
            }
            Kind::Leave => {
                assert_eq!(ack(&end), Some("abandoned"));
                (0, 0)
            }
            Kind::KeepFirst => {
                assert_eq!((end.conflicts.len(), end.submission.summary.as_str()), (1, "Enquiry 1."));
                (0, 0)
            }
        };
        // The misplaced row is a person's to clear away; it carries the reference somewhere else.
        assert_eq!(world.rows_of(&reference), rows + more_rows);
        assert_eq!(told(&world, &end), messages + more_messages);
        world.check_rules_but_for(&touched(&reference)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_wants_a_row_to_be_there_or_a_persons_word_for_it() {
    for reason in [WriteReview::NoMatchingRow, WriteReview::SheetUnreadable] {
        let (world, reference) = in_review(ReviewReason::Write(reason)).await;
        let before = world.record(&reference).await;
        let refused = order(&world, &reference, Kind::Recorded, Terms::default()).await.unwrap_err();
        assert!(matches!(&refused, Stopped::Refused(why) if why.contains("--without-row")), "{refused:?}");
        world.sheets.rename_tab("Intake", "Away");
        let refused = order(&world, &reference, Kind::Recorded, Terms::default()).await.unwrap_err();
        assert!(
            matches!(&refused, Stopped::Refused(why) if why.contains("SHEET_NAME names no tab")),
            "{refused:?}"
        );
        world.sheets.rename_tab("Away", "Intake");
        assert_eq!(world.record(&reference).await, before);
        // Put there by hand, anyhow it looks.
        world.sheets.put_row("Intake", 9, &[json!(reference.as_str()), json!("by hand")]);
        let done = order(&world, &reference, Kind::Recorded, Terms::default()).await.unwrap();
        let found = done.found.map(|look| look.finding);
        assert!(matches!(found, Some(Finding::OneDiffers { .. })), "{found:?}");
        assert_eq!(known(&world.record(&reference).await), "confirmed operator");
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_appended_again_while_a_row_may_be_there_or_nobody_says_yes() {
    let (mut world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    let before = world.record(&reference).await;
    let again = Order { kind: Kind::AppendAgain, why: WHY.into(), tell: None };
    // A person who reads what is known and does not agree.
    let mut shown = String::new();
    let refused = desk(&world)
        .order(&reference, &again, Terms::default(), |facts| {
            shown = facts.page(&Zone::utc());
            false
        })
        .await;
    assert!(matches!(refused, Err(Stopped::Refused(_))), "{refused:?}");
    for fact in
        [reference.as_str(), "appended perhaps", "no row with this reference", "the last append was at"]
    {
        assert!(shown.contains(fact), "{fact} is not said: {shown}");
    }
    // A sheet that cannot be read.
    world.sheets.rename_tab("Intake", "Away");
    let refused = order(&world, &reference, Kind::AppendAgain, Terms::default()).await;
    assert!(
        matches!(&refused, Err(Stopped::Refused(why)) if why.contains("nothing was learned")),
        "{refused:?}"
    );
    world.sheets.rename_tab("Away", "Intake");
    world.sheets.next(On::Reads, Behaviour::answers(503, vec![], "<html>"));
    let refused = order(&world, &reference, Kind::AppendAgain, Terms::default()).await;
    assert!(matches!(refused, Err(Stopped::Unreachable(_))), "{refused:?}");
    // A row that came late, equal, changed, or twice.
    let row: Vec<_> =
        docket_domain::row::Row::of(&before.submission).cells().iter().map(|cell| json!(cell)).collect();
    let mut other = row.clone();
    other[3] = json!("other words");
    for rows in [vec![row.clone()], vec![other], vec![row.clone(), row.clone()]] {
        for (number, row) in (5..).zip(&rows) {
            world.sheets.put_row("Intake", number, row);
        }
        let refused = order(&world, &reference, Kind::AppendAgain, Terms::default()).await;
        let Err(Stopped::Refused(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("one row too many"), "{why}");
        for number in (5..5 + rows.len()).rev() {
            world.sheets.delete_row("Intake", number);
        }
    }
    assert_eq!(world.record(&reference).await, before);
    world.settle().await;
    assert_eq!(appends(&world), 1);
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_up_while_nobody_can_look_unless_by_an_operators_own_word() {
    use WriteReview as W;
    for reason in [W::NoMatchingRow, W::SeveralRows, W::RowDiffers, W::WriteRefused] {
        let (mut world, reference) = in_review(ReviewReason::Write(reason)).await;
        let before = world.record(&reference).await;
        world.sheets.from_now_on(On::Reads, Behaviour::answers(503, vec![], "<html>"));
        let order = Order { kind: Kind::Abandon, why: WHY.into(), tell: Some("It was not recorded.".into()) };
        let stopped = desk(&world).order(&reference, &order, Terms::default(), |_| true).await.unwrap_err();
        assert!(
            matches!(&stopped, Stopped::Unreachable(why) if why.contains("nothing was learned")),
            "{stopped:?}"
        );
        let which = Which { reason: ReviewReason::Write(reason), older_than_seconds: 0 };
        let many = order_many(&desk(&world), which, &order, false, false).await.unwrap();
        assert_eq!((many.len(), exit_status(&many)), (1, 3), "{many:?}");
        assert_eq!(world.record(&reference).await, before, "{reason:?}");
        // What was seen, or not, stands beside what was closed.
        let own_word = order_many(&desk(&world), which, &order, true, false).await.unwrap();
        let page = docket::page::outcomes(&own_word, &Zone::utc());
        assert!(
            page.contains("closed: In 'Intake' of the spreadsheet: not known, it cannot be read"),
            "{page}"
        );
        world.sheets.heal();
        world.settle().await;
        assert_eq!(known(&world.record(&reference).await), "abandoned");
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_comes_after_the_order_and_before_its_append_is_the_only_one() {
    use WriteReview as W;
    for reason in [W::NoMatchingRow, W::MisplacedRow, W::SheetUnreadable, W::WriteRefused] {
        for (copies, changed, wanted) in [
            (1, false, "confirmed read_back"),
            (1, true, "uncertain, review row_differs"),
            (2, false, "uncertain, review several_rows"),
        ] {
            let (mut world, reference) = in_review(ReviewReason::Write(reason)).await;
            if reason == W::MisplacedRow {
                clears_the_misplaced_row_away(&world, &reference).await;
            }
            order(&world, &reference, Kind::AppendAgain, Terms::default()).await.unwrap();
            let submission = world.record(&reference).await.submission;
            let mut row: Vec<_> =
                docket_domain::row::Row::of(&submission).cells().iter().map(|cell| json!(cell)).collect();
            if changed {
                row[3] = json!("other words");
            }
            for copy in 0..copies {
                world.sheets.put_row("Intake", 5 + copy, &row);
            }
            world.settle().await;
            assert_eq!(known(&world.record(&reference).await), wanted, "{reason:?}");
            assert_eq!((appends(&world), world.rows_of(&reference)), (1, copies), "{reason:?}");
            let record = world.record(&reference).await;
            assert_eq!(told(&world, &record), usize::from(wanted.starts_with("confirmed")));
            world.check_rules_but_for(&touched(&reference)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_ordered_again_waits_while_the_sheet_cannot_be_looked_at() {
    let (mut world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    order(&world, &reference, Kind::AppendAgain, Terms::default()).await.unwrap();
    world.sheets.from_now_on(On::Reads, Behaviour::answers(503, vec![], "<html>"));
    // Longer than it would take to use up the tries of a write, if looks were tries.
    world.run_minutes(120).await;
    let record = world.record(&reference).await;
    assert_eq!((known(&record).as_str(), record.write.attempts), ("pending http_503", 0));
    assert!(record.write.lookups > 100, "{}", record.write.lookups);
    assert_eq!(appends(&world), 1);
    world.sheets.heal();
    world.settle().await;
    assert_eq!(known(&world.record(&reference).await), "confirmed append_answer");
    assert_eq!(world.rows_of(&reference), 1);
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_went_astray_and_whose_answer_was_lost_is_found_before_another_append() {
    let mut world = world().await;
    let reference = uncertain(&mut world, 1, Behaviour::hangs_up()).await.remove(0);
    let record = world.record(&reference).await;
    let mut row = vec![json!(""); 7];
    row.extend(docket_domain::row::Row::of(&record.submission).cells().iter().map(|cell| json!(cell)));
    world.sheets.put_row("Intake", 4, &row);
    world.settle().await;
    let before = world.record(&reference).await;
    assert_eq!(before.reviews()[0].reason, ReviewReason::Write(WriteReview::NoMatchingRow));
    let refused = order(&world, &reference, Kind::AppendAgain, Terms::default()).await;
    let Err(Stopped::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("astray at 'Intake'!H4"), "{why}");
    assert_eq!(world.record(&reference).await, before);
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misplaced_row_that_was_put_into_its_column_somehow_holds_up_nobody_any_more() {
    let (mut world, reference) = in_review(ReviewReason::Write(WriteReview::MisplacedRow)).await;
    let waiting = world.record_enquiries(2).await.remove(1);
    world.work().await;
    assert_eq!(known(&world.record(&waiting).await), "pending misplaced_row_in_review");
    world.sheets.delete_row("Intake", 3);
    world.sheets.put_row("Intake", 2, &[json!(reference.as_str()), json!("pasted by hand")]);
    let done = recheck(&desk(&world), &reference).await.unwrap();
    assert_eq!(done.record.reviews()[0].reason, ReviewReason::Write(WriteReview::RowDiffers));
    world.run_minutes(5).await;
    assert_eq!(known(&world.record(&waiting).await), "confirmed append_answer");
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_after_all_is_not_given_up() {
    use WriteReview as W;
    for reason in [W::NoMatchingRow, W::MisplacedRow, W::WriteRefused, W::SheetUnreadable] {
        let (mut world, reference) = in_review(ReviewReason::Write(reason)).await;
        let before = world.record(&reference).await;
        put_by_hand(&world, 9, &before);
        let refused = order(&world, &reference, Kind::Abandon, Terms::default()).await;
        let Err(Stopped::Refused(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("'Intake'!A9:F9") && why.contains("docket recheck"), "{why}");
        assert_eq!(world.record(&reference).await, before);
        // Nor does an operator with a refused write that they entered themselves stand before closed doors.
        let done = recheck(&desk(&world), &reference).await.unwrap();
        assert_eq!(known(&done.record), "confirmed read_back", "{reason:?}");
        world.settle().await;
        assert_eq!(told(&world, &done.record), 1);
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

fn put_by_hand(world: &World, number: usize, record: &Record) {
    let row: Vec<_> =
        docket_domain::row::Row::of(&record.submission).cells().iter().map(|cell| json!(cell)).collect();
    world.sheets.put_row("Intake", number, &row);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recheck_of_a_refused_write_changes_nothing_unless_its_row_was_entered_by_hand() {
    let (world, reference) = in_review(ReviewReason::Write(WriteReview::WriteRefused)).await;
    let before = world.record(&reference).await;
    world.sheets.put_row("Intake", 9, &[json!(reference.as_str()), json!("shortened, by hand")]);
    for seen in ["something else", "no row"] {
        let done = recheck(&desk(&world), &reference).await.unwrap();
        let found = done.found.unwrap().sentence();
        assert!(found.contains(seen) && !done.changed, "{found}");
        assert_eq!(world.record(&reference).await, before);
        world.sheets.delete_row("Intake", 9);
    }
    world.check_rules_but_for(&touched(&reference)).await;
}

const SORRY: &str = "We could not take this one.\nPlease send it again, in fewer words.";

async fn given_up_and_told(world: &World, reference: &Reference) -> Done {
    let order = Order { kind: Kind::Abandon, why: WHY.into(), tell: Some(SORRY.into()) };
    desk(world).order(reference, &order, Terms::default(), |_| true).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_given_up_may_be_told_so_once_in_the_operators_words() {
    let reasons = ReviewReason::ALL.into_iter().filter(|reason| matches!(reason, ReviewReason::Write(_)));
    each(reasons, |reason| async move {
        let (mut world, reference) = in_review(reason).await;
        let done = given_up_and_told(&world, &reference).await;
        assert!(done.said.contains("The customer will be told so"), "{}", done.said);
        let rows = world.rows_of(&reference);
        world.settle().await;
        world.run_minutes(5).await;
        let end = world.record(&reference).await;
        let told = world.acknowledgements(end.submission.chat_id.0);
        assert_eq!(told, [format!("{reference}: {SORRY}")]);
        assert_eq!(known(&end), "abandoned");
        assert_eq!(end.acknowledgement.as_ref().unwrap().state.as_str(), "confirmed");
        assert!(end.finished());
        assert_eq!(world.rows_of(&reference), rows);
        world.check_rules_but_for(&touched(&reference)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_were_perhaps_sent_are_a_persons_matter_like_any_message() {
    for (kind, state, messages) in
        [(Kind::Seen, "confirmed", 0), (Kind::SendAgain, "confirmed", 1), (Kind::Leave, "abandoned", 0)]
    {
        let (mut world, reference) = in_review(ReviewReason::Write(WriteReview::WriteRefused)).await;
        world.telegram.answer_next(500, "");
        given_up_and_told(&world, &reference).await;
        world.settle().await;
        world.run_minutes(5).await;
        let lost = world.record(&reference).await;
        assert_eq!(
            lost.reviews().iter().map(|open| open.reason).collect::<Vec<_>>(),
            [ReviewReason::AckUncertain]
        );
        assert_eq!(told(&world, &lost), 0);
        order(&world, &reference, kind, Terms::default()).await.unwrap();
        world.settle().await;
        let end = world.record(&reference).await;
        assert_eq!(
            (end.acknowledgement.as_ref().unwrap().state.as_str(), told(&world, &end)),
            (state, messages)
        );
        assert_eq!(known(&end), "abandoned");
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn history_keeps_what_an_order_saw_in_the_sheet() {
    let (world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    let done = order(&world, &reference, Kind::Abandon, Terms::default()).await.unwrap();
    let last = done.record.history.entries().last().unwrap();
    assert_eq!(last.why.as_deref(), Some(WHY));
    let seen = "In 'Intake' of the spreadsheet: no row with this reference.";
    assert_eq!(last.evidence.as_deref(), Some(seen));
    assert_eq!(world.record(&reference).await, done.record);
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_operators_one_wins_and_the_other_hears_what_changed() {
    let orders = [
        (ReviewReason::Write(WriteReview::NoMatchingRow), Kind::Abandon, Kind::AppendAgain),
        (ReviewReason::Write(WriteReview::NoMatchingRow), Kind::AppendAgain, Kind::AppendAgain),
        (ReviewReason::AckUncertain, Kind::SendAgain, Kind::SendAgain),
        (ReviewReason::AckUncertain, Kind::Leave, Kind::SendAgain),
    ];
    for (reason, first, second) in orders {
        let (mut world, reference) = in_review(reason).await;
        let seen = world.record(&reference).await;
        let terms = Terms { seen_version: Some(seen.version), ..Terms::default() };
        order(&world, &reference, first, terms).await.unwrap();
        // The second one has read the same page, and gives the order a moment later.
        let late = Order { kind: second, why: "I too.".into(), tell: None };
        let told_off = desk_of(&world, "bob@example.org").order(&reference, &late, terms, |_| true).await;
        let Err(Stopped::Refused(why)) = told_off else { panic!("{told_off:?}") };
        assert!(why.contains("nothing was changed") && why.contains("ann@example.org"), "{why}");
        world.settle().await;
        assert!(appends(&world) <= 2);
        assert!(world.rows_of(&reference) <= 1);
        assert!(told(&world, &seen) <= 1);
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recheck_settles_what_the_sheet_settles_and_leaves_the_rest_open() {
    use WriteReview as W;
    let reasons = [W::NoMatchingRow, W::SeveralRows, W::RowDiffers, W::MisplacedRow, W::SheetUnreadable];
    for reason in reasons {
        let (mut world, reference) = in_review(ReviewReason::Write(reason)).await;
        let desk = desk(&world);
        let still = recheck(&desk, &reference).await.unwrap();
        assert_eq!(still.record.reviews().len(), 1, "{reason:?}: {}", still.said);
        // As a person leaves it when all is put right.
        let submission = still.record.submission.clone();
        let row: Vec<_> =
            docket_domain::row::Row::of(&submission).cells().iter().map(|cell| json!(cell)).collect();
        for number in (2..=world.sheets.rows("Intake").len()).rev() {
            world.sheets.delete_row("Intake", number);
        }
        world.sheets.put_row("Intake", 2, &row);
        let done = recheck(&desk, &reference).await.unwrap();
        assert_eq!(known(&done.record), "confirmed read_back", "{reason:?}");
        assert_eq!(done.record.history.entries().last().unwrap().by, "operator ann@example.org");
        world.settle().await;
        assert_eq!((appends(&world), told(&world, &done.record)), (1, 1), "{reason:?}");
        world.check_rules_but_for(&touched(&reference)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recheck_of_a_recorded_enquiry_tells_what_became_of_its_row_and_changes_nothing() {
    let mut world = world().await;
    let references = world.record_enquiries(1).await;
    world.settle().await;
    let before = world.record(&references[0]).await;
    let row = world.sheets.rows("Intake")[1].clone();
    let said = async |world: &World| recheck(&desk(world), &references[0]).await.unwrap().said;
    assert!(said(&world).await.contains("As the record says"));
    world.sheets.put_row("Intake", 7, &row);
    assert!(said(&world).await.contains("duplicate"));
    world.sheets.delete_row("Intake", 7);
    world.sheets.delete_row("Intake", 2);
    assert!(said(&world).await.contains("Confirmed earlier, now missing"));
    world.sheets.rename_tab("Intake", "Away");
    let unreadable = recheck(&desk(&world), &references[0]).await;
    assert!(
        matches!(&unreadable, Err(Stopped::Refused(why)) if why.contains("nothing was learned")),
        "{unreadable:?}"
    );
    world.sheets.rename_tab("Away", "Intake");
    assert_eq!(world.record(&references[0]).await, before);
    world.run_minutes(5).await;
    assert_eq!((appends(&world), world.rows_of(&references[0])), (1, 0), "it was written again");
    assert!(matches!(world.record(&references[0]).await.write.state, WriteState::Confirmed { .. }));
    world.check_rules_but_for(&touched(&references[0])).await;
}

// ---- The command itself --------------------------------------------------------------------------------------------------

/// All that the orders read, and nothing that they do not.
fn environment(world: &World) -> Environment {
    environment_of_operator(world).without("BOT_TOKEN").without("WEBHOOK_SECRET").without("TELEGRAM_BOT")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_rechecks_and_resolves_and_says_what_it_found() {
    let (world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    // The command's clock is the real one, and Google looks at the time of an assertion.
    let following = world.clock.follow_real_time();
    let environment = environment(&world);
    let name = reference.as_str();
    let looked = docket(&environment, &["recheck", name, "--json"]).json();
    assert_eq!(
        (&looked["changed"], &looked["found"]),
        (
            &json!(true),
            &json!({"kind": "no_row", "place": format!("'Intake' of the spreadsheet {SPREADSHEET_ID}"), "astray": []})
        )
    );
    assert_eq!(looked["record"]["write"]["review"]["reason"], "no_matching_row");

    // Nobody is there to say yes.
    let because = ["--because", "not in the sheet"];
    let again = [&["resolve", name, "--append-again"], &because[..]].concat();
    let refused = docket(&environment, &again);
    assert_eq!(refused.status, 1);
    for fact in ["appended perhaps", "no row with this reference", "needs a yes"] {
        assert!(refused.stderr.contains(fact), "{}", refused.stderr);
    }
    let version = world.record(&reference).await.version;
    let earlier = (version - 1).to_string();
    let other = docket(&environment, &[&again[..], &["--yes", "--if-version", &earlier]].concat());
    assert!(other.refused(1).contains("not the one you saw"), "{}", other.stderr);
    assert_eq!(world.record(&reference).await.version, version);

    let now = version.to_string();
    let done = docket(&environment, &[&again[..], &["--yes", "--if-version", &now, "--json"]].concat());
    assert_eq!(done.status, 0, "{}", done.stderr);
    let done = done.json();
    assert_eq!((&done["changed"], &done["record"]["write"]["state"]), (&json!(true), &json!("pending")));
    let last = done["record"]["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["step"], &last["why"]), (&json!("ordered_append_again"), &json!("not in the sheet")));
    // Without an AWS that knows people, the end of the key names them.
    assert!(last["by"].as_str().unwrap().starts_with("operator with the key …"), "{last}");
    let nothing_open = docket(&environment, &[&again[..], &["--yes"]].concat());
    assert!(nothing_open.refused(1).contains("has no open review"), "{}", nothing_open.stderr);
    following.abort();
    world.check_rules_but_for(&touched(&reference)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_reviews_are_listed_first_and_closed_when_asked_to() {
    let mut world = world().await;
    let references = world.record_enquiries(3).await;
    for _ in &references {
        world.telegram.answer_next(500, "");
    }
    world.work().await;
    let environment = environment(&world);
    let many = ["resolve", "--reason", "ack_uncertain", "--leave", "--because", "rung up"];
    let listed = docket(&environment, &[&many[..], &["--json"]].concat()).json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    assert!(listed.as_array().unwrap().iter().all(|line| line["done"].is_null()), "{listed}");
    let page = docket(&environment, &many);
    assert!(page.stdout.contains("Nothing was changed: --apply"), "{}", page.stdout);
    // Opened long ago by the command's own clock, which is the real one.
    let none = docket(&environment, &[&many[..], &["--older-than", "99999d", "--apply"]].concat());
    assert!(none.stdout.contains("No such reviews"), "{}", none.stdout);
    for reference in &references {
        assert_eq!(world.record(reference).await.reviews().len(), 1);
    }
    let closed =
        docket(&environment, &[&many[..], &["--older-than", "1h", "--apply", "--json"]].concat()).json();
    assert!(closed.as_array().unwrap().iter().all(|line| line["done"] == true), "{closed}");
    for reference in &references {
        assert!(world.record(reference).await.finished());
    }
    let wrong = docket(&environment, &["resolve", "--reason", "conflict", "--leave", "--because", "x"]);
    assert!(wrong.refused(1).contains("closes no conflict"), "{}", wrong.stderr);
    let again =
        docket(&environment, &["resolve", "--reason", "no_matching_row", "--append-again", "--because", "x"]);
    assert!(again.refused(1).contains("one reference at a time"), "{}", again.stderr);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_lost_rows_are_closed_with_one_look_and_not_past_a_side_that_is_gone() {
    let mut world = world().await;
    let references = uncertain(&mut world, 5, Behaviour::hangs_up()).await;
    world.settle().await;
    let following = world.clock.follow_real_time();
    let environment = environment(&world);
    let reason = "no_matching_row";
    let recorded =
        ["resolve", "--reason", reason, "--recorded", "--because", "on paper", "--apply", "--json"];
    let of = |ran: &Ran| serde_json::from_str::<Value>(&ran.stdout).unwrap();
    let refused = docket(&environment, &recorded);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    let lines = of(&refused);
    assert!(lines.as_array().unwrap().iter().all(|line| line["done"] == false), "{lines}");
    let no_google = environment.clone().with("SHEETS_ENDPOINT", NOBODY);
    let gone = docket(&no_google, &recorded);
    assert_eq!(gone.status, 3, "{}", gone.stderr);
    let tried: Vec<bool> = of(&gone).as_array().unwrap().iter().map(|line| !line["done"].is_null()).collect();
    assert_eq!(tried, [true, false, false, false, false]);
    let before = world.sheets.requests().len();
    let closed = docket(&environment, &[&recorded[..], &["--without-row"]].concat());
    assert_eq!(closed.status, 0, "{}{}", closed.stdout, closed.stderr);
    following.abort();
    // A token, and the reference column.
    assert!(world.sheets.requests().len() - before <= 2, "{:?}", world.sheets.requests());
    for reference in &references {
        assert_eq!(known(&world.record(reference).await), "confirmed operator");
    }
    world.check_rules_but_for(&Tampering { rows_of: references.clone(), ordered: references }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_order_is_one_clear_line_with_its_status() {
    let (world, reference) = in_review(ReviewReason::AckUncertain).await;
    let (environment, name) = (environment(&world), reference.as_str());
    let before = world.record(&reference).await;
    for (arguments, status, says) in [
        (vec!["resolve", name, "--leave"], 2, "--because"),
        (vec!["resolve", name, "--because", "x"], 2, "--recorded|--append-again"),
        (vec!["resolve", name, "--leave", "--seen", "--because", "x"], 2, "cannot be used with"),
        (vec!["resolve", "--leave", "--because", "x"], 2, "REFERENCE"),
        (vec!["resolve", name, "--leave", "--because", " "], 2, "say why"),
        (vec!["resolve", name, "--leave", "--because", "two\nlines"], 2, "in one line"),
        (vec!["resolve", name, "--leave", "--because", "x", "--without-row"], 2, "--recorded"),
        (vec!["resolve", name, "--leave", "--because", "x", "--yes"], 2, "--append-again"),
        (vec!["resolve", name, "--leave", "--because", "x", "--apply"], 2, "--reason"),
        (vec!["resolve", name, "--leave", "--because", "x", "--tell", "Sorry."], 2, "--abandon"),
        (vec!["resolve", name, "--abandon", "--because", "x", "--tell", " "], 2, "visible"),
        (vec!["resolve", name, "--abandon", "--because", "x", "--tell", "a\u{202e}b"], 2, "visible"),
        (vec!["resolve", name, "--abandon", "--because", "a\u{202e}b"], 2, "invisible"),
        (vec!["resolve", "--reason", "none", "--leave", "--because", "x"], 2, "one of no_matching_row"),
        (vec!["resolve", "DK-1", "--leave", "--because", "x"], 2, "reference"),
        (vec!["recheck", "DK-1"], 2, "reference"),
        (vec!["resolve", "DK-8M4T-K2QX-7RZ9", "--leave", "--because", "x"], 1, "no submission"),
        (vec!["recheck", "DK-8M4T-K2QX-7RZ9"], 1, "no submission"),
        (vec!["resolve", name, "--keep-first", "--because", "x"], 1, "--seen, --send-again, --leave"),
    ] {
        let ran = docket(&environment, &arguments);
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{arguments:?}: {}", ran.stderr);
        shows_no_secret(&ran);
    }
    let leave = ["resolve", name, "--leave", "--because", "x"];
    let no_table = environment.clone().with("AWS_ENDPOINT_URL_DYNAMODB", NOBODY);
    docket(&no_table, &leave).refused(3);
    let following = world.clock.follow_real_time();
    let no_sheet = environment.clone().with("SHEETS_ENDPOINT", NOBODY);
    assert!(docket(&no_sheet, &["recheck", name]).refused(3).contains("nothing was learned"));
    following.abort();
    let no_key = environment.clone().without("GOOGLE_CREDENTIALS");
    assert!(docket(&no_key, &["recheck", name]).refused(2).contains("GOOGLE_CREDENTIALS"));
    assert_eq!(world.record(&reference).await, before);
    // What concerns no row needs no sheet.
    assert_eq!(docket(&no_key.without("SPREADSHEET_ID").without("SHEET_NAME"), &leave).status, 0);
    world.check_rules().await;
}
