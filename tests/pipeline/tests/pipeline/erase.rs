//! A customer who asks to be forgotten: what goes, what stays, and that nothing goes by halves without being said.

use docket::Stopped;
use docket::erase::{Eraser, Gone, Terms, Whom};
use docket::zone::Zone;
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::GoogleSheet;
use docket_domain::ports::{Removed, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{By, Record, Settle, WriteEvent, WriteOrder};
use docket_domain::submission::ChatId;
use docket_world::clock::TurnedClock;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::Side;
use docket_world::workers::NOBODY;
use docket_world::{Tampering, World};
use serde_json::{Value, json};

use crate::executables::{Environment, environment_of_operator};
use crate::looking::sheet;
use crate::operator::docket;
use crate::write_side::{each, known, uncertain, world};

pub(crate) const WHY: &str = "Asked by letter.";

fn eraser(world: &World) -> Eraser<TurnedClock, TurnedClock> {
    eraser_over(world, world.engines.dynamodb_client(), sheet(world))
}

/// The command's own eraser, by these ways to the tables and the sheet.
pub(crate) fn eraser_over(
    world: &World,
    client: aws_sdk_dynamodb::Client,
    sheet: GoogleSheet<TurnedClock>,
) -> Eraser<TurnedClock, TurnedClock> {
    let (submissions, conversations) = (&world.tables.submissions, &world.tables.conversations);
    Eraser {
        submissions: DynamoSubmissions::new(client.clone(), submissions, 365),
        conversations: DynamoConversations::new(client, conversations, submissions),
        sheet,
        place: "'Intake' of the spreadsheet".into(),
        clock: world.clock.clone(),
        by: By::Operator("ann@example.org".into()),
        zone: Zone::utc(),
        says: |_| (),
    }
}

async fn erase(world: &World, whom: Whom, settle: Option<Settle>) -> Result<Vec<Gone>, Stopped> {
    erase_by(world, whom, Terms { settle, why: WHY.into(), all_rows: false }).await
}

async fn erase_by(world: &World, whom: Whom, terms: Terms) -> Result<Vec<Gone>, Stopped> {
    erase_with(&eraser(world), whom, terms).await
}

pub(crate) async fn erase_with(
    eraser: &Eraser<TurnedClock, TurnedClock>,
    whom: Whom,
    terms: Terms,
) -> Result<Vec<Gone>, Stopped> {
    let plan = eraser.plan(whom, &terms, &mut |_| {}).await?;
    let mut gone = Vec::new();
    eraser.carry_out(plan, &terms, |one| gone.push(one)).await.map(|()| gone)
}

fn of(reference: &Reference) -> Whom {
    Whom::Reference(reference.clone())
}

/// Every word that an item, a row or a conversation holds.
pub(crate) async fn everything(world: &World) -> String {
    let client = world.engines.dynamodb_client();
    let mut found = String::new();
    for table in [&world.tables.submissions, &world.tables.conversations] {
        let items = client.scan().table_name(table).consistent_read(true).send().await.unwrap();
        found.push_str(&format!("{:?}", items.items()));
    }
    found.push_str(&format!("{:?}", world.sheets.rows("Intake")));
    found
}

pub(crate) fn touched(references: &[Reference]) -> Tampering {
    Tampering { rows_of: references.to_vec(), ordered: references.to_vec() }
}

/// The world's own words for a customer: their summary, name and chat.
pub(crate) fn words(record: &Record) -> [String; 3] {
    let submission = &record.submission;
    [
        submission.summary.as_str().to_owned(),
        submission.contact.as_str().to_owned(),
        submission.chat_id.to_string(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_erased_customer_is_left_but_the_reference_and_what_became_of_it() {
    let mut world = world().await;
    let ann = world.customer(7_100_000_001, "Annabel");
    let reference = world.submit(&ann, "A quote", "Gutters at Elm Street 7.").await;
    world.settle().await;
    let others = world.record_enquiries(3).await;
    world.settle().await;
    let before = world.record(&reference).await;
    let rows: Vec<Vec<Value>> =
        world.sheets.rows("Intake").into_iter().filter(|row| row[0] != reference.as_str()).collect();
    assert!(words(&before).iter().all(|word| word.len() > 3));

    let gone = erase(&world, Whom::Chat(ChatId(7_100_000_001)), None).await.unwrap();
    assert_eq!(gone.len(), 1);
    let left = everything(&world).await;
    for word in words(&before) {
        assert!(!left.contains(&word), "{word} is left: {left}");
    }
    let after = world.record(&reference).await;
    assert_eq!((known(&after), after.write.lookups), (known(&before), before.write.lookups));
    assert_eq!(after.acknowledgement, before.acknowledgement);
    assert_eq!(after.submission.confirmed_at, before.submission.confirmed_at);
    let last = after.history.entries().last().unwrap();
    assert_eq!((last.step.as_str(), last.by.as_str()), ("erased", "operator ann@example.org"));
    assert_eq!(last.why.as_deref(), Some(WHY));
    assert!(after.finished() && after.erased_at.is_some());
    assert_eq!(world.sheets.rows("Intake"), rows, "somebody else's row was touched");

    // Again: nothing more to do, and no harm.
    let again = erase(&world, of(&reference), None).await.unwrap();
    assert_eq!(again[0].rows, Vec::<String>::new());
    world.run_minutes(10).await;
    assert_eq!((world.rows_of(&reference), world.acknowledgements(7_100_000_001).len()), (0, 1));
    for other in others {
        assert_eq!(world.rows_of(&other), 1);
    }
    world.check_rules_but_for(&touched(&[reference])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_changed_rows_go_too_and_a_row_astray_is_left_to_a_person() {
    let mut world = world().await;
    let references = world.record_enquiries(3).await;
    world.settle().await;
    let reference = &references[1];
    let record = world.record(reference).await;
    let mut changed: Vec<Value> =
        Row::of(&record.submission).cells().iter().map(|cell| json!(cell)).collect();
    world.sheets.put_row("Intake", 6, &changed);
    changed[3] = json!("changed by hand");
    world.sheets.put_row("Intake", 7, &changed);
    world.sheets.put_row("Intake", 8, &[json!(""), json!(""), json!(reference.as_str())]);
    let refused = erase(&world, of(reference), None).await.unwrap_err();
    assert!(refused.message().contains("3 rows") && refused.message().contains("--all-rows"), "{refused:?}");
    // With the one astray.
    assert_eq!(world.rows_of(reference), 4);
    let all = Terms { all_rows: true, why: WHY.into(), settle: None };
    let gone = erase_by(&world, of(reference), all).await.unwrap();
    assert_eq!(gone[0].rows.len(), 3);
    assert_eq!(gone[0].astray, ["'Intake'!C5"], "{gone:?}");
    assert_eq!(world.rows_of(&references[0]) + world.rows_of(&references[2]), 2);
    world.check_rules_but_for(&touched(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_not_settled_is_erased_only_when_told_how_to_leave_it() {
    each(
        [(None, ""), (Some(Settle::Recorded), "confirmed operator"), (Some(Settle::Abandoned), "abandoned")],
        |(settle, left)| async move {
            let mut world = world().await;
            let reference = uncertain(&mut world, 1, Behaviour::hangs_up()).await.remove(0);
            // The row may still come.
            let too_early = erase(&world, of(&reference), settle).await.unwrap_err();
            assert!(too_early.message().contains("may be under way until"), "{}", too_early.message());
            world.settle().await;
            let before = world.record(&reference).await;
            let done = erase(&world, of(&reference), settle).await;
            if settle.is_none() {
                let refused = done.unwrap_err();
                assert!(refused.message().contains("--settle abandoned"), "{}", refused.message());
                assert_eq!(world.record(&reference).await, before);
                // The world ends as it was.
                world.check_rules().await;
                return;
            }
            done.unwrap();
            let chat = before.submission.chat_id.0;
            world.run_minutes(10).await;
            let after = world.record(&reference).await;
            assert_eq!(known(&after), left);
            assert!(after.finished());
            assert_eq!(
                (world.rows_of(&reference), world.acknowledgements(chat).len()),
                (0, 0),
                "somebody was told"
            );
            world.check_rules_but_for(&touched(&[reference])).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enquiry_that_was_never_appended_and_a_message_never_sent_can_be_given_up() {
    let mut world = world().await;
    world.sheets.rename_tab("Intake", "Away");
    let reference = world.record_enquiries(1).await.remove(0);
    world.work().await;
    world.sheets.rename_tab("Away", "Intake");
    let refused = erase(&world, of(&reference), Some(Settle::Recorded)).await.unwrap_err();
    assert!(refused.message().contains("no append of it is known"), "{}", refused.message());
    erase(&world, of(&reference), Some(Settle::Abandoned)).await.unwrap();
    world.run_minutes(10).await;
    assert_eq!(
        (known(&world.record(&reference).await).as_str(), world.rows_of(&reference)),
        ("abandoned", 0)
    );

    let told = world.record_enquiries(2).await.remove(1);
    world.telegram.answer_next(500, "");
    world.telegram.answer_next(500, "");
    world.work().await;
    let chat = world.record(&told).await.submission.chat_id.0;
    let sent = world.acknowledgements(chat).len();
    erase(&world, of(&told), None).await.unwrap();
    world.run_minutes(10).await;
    let after = world.record(&told).await;
    assert_eq!(after.acknowledgement.as_ref().unwrap().state.as_str(), "abandoned");
    assert!(after.finished());
    assert_eq!(world.acknowledgements(chat).len(), sent);
    world.check_rules_but_for(&touched(&[reference, told])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_broken_off_is_said_and_repeated() {
    // The deletion's answer is lost, before or after it was carried out.
    for (behaviour, is_there) in [(Behaviour::hangs_up(), true), (Behaviour::writes_then_hangs_up(), false)] {
        let mut world = world().await;
        let reference = world.record_enquiries(1).await.remove(0);
        world.settle().await;
        world.sheets.next(On::Changes, behaviour);
        let first = erase(&world, of(&reference), None).await;
        assert_eq!(first.is_err(), is_there, "{first:?}");
        if is_there {
            // Nobody deletes what may still be deleted.
            let too_soon = erase(&world, of(&reference), None).await.unwrap_err();
            assert!(
                too_soon.message().contains("another command may be deleting its rows until"),
                "{too_soon:?}"
            );
            world.turn_seconds(60);
        }
        erase(&world, of(&reference), None).await.unwrap();
        assert_eq!(world.rows_of(&reference), 0);
        assert!(world.record(&reference).await.erased_at.is_some());
        world.check_rules_but_for(&touched(&[reference])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_that_cannot_be_read_stops_it_before_anything_goes() {
    let mut world = world().await;
    let reference = world.record_enquiries(1).await.remove(0);
    world.settle().await;
    world.sheets.rename_tab("Intake", "Away");
    let before = world.record(&reference).await;
    let stopped = erase(&world, of(&reference), None).await.unwrap_err();
    assert!(matches!(&stopped, Stopped::Refused(why) if why.contains("SHEET_NAME")), "{stopped:?}");
    world.sheets.rename_tab("Away", "Intake");
    assert_eq!((world.record(&reference).await, world.rows_of(&reference)), (before, 1));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_google_carries_out_minutes_later_takes_no_other_row() {
    let mut world = world().await;
    let references = world.record_enquiries(2).await;
    world.settle().await;
    world.sheets.next(On::Changes, Behaviour::hangs_up_and_writes_later(120_000));
    erase(&world, of(&references[0]), None).await.unwrap();
    assert_eq!((world.rows_of(&references[0]), world.rows_of(&references[1])), (0, 1));
    assert!(world.record(&references[0]).await.erased_at.is_some());
    world.check_rules_but_for(&touched(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_outlived_their_records_go_too_and_a_row_that_may_be_somebody_elses_does_not() {
    let mut world = world().await;
    let ann = world.customer(7_100_000_001, "Annabel");
    let expired = world.submit(&ann, "A quote", "Gutters at Elm Street 7.").await;
    let kept = world.submit(&ann, "A quote", "A slate roof.").await;
    world.settle().await;
    // Forgotten a year later by its time to live.
    assert_eq!(world.store().remove(&world.record(&expired).await).await, Ok(Removed::Gone));
    let gone = erase(&world, Whom::Chat(ChatId(7_100_000_001)), None).await.unwrap();
    assert_eq!(gone.iter().map(|gone| gone.rows.len()).sum::<usize>(), 2, "{gone:?}");
    assert_eq!(world.rows_of(&expired) + world.rows_of(&kept), 0);

    let other = world.record_enquiries(1).await.remove(0);
    world.settle().await;
    let mut row = world.sheets.rows("Intake")[1].clone();
    row[3] = json!("somebody else's words");
    world.sheets.put_row("Intake", 2, &row);
    let refused = erase(&world, of(&other), None).await.unwrap_err();
    assert!(refused.message().contains("something else"), "{refused:?}");
    assert_eq!(world.rows_of(&other), 1);
    world.check_rules_but_for(&touched(&[expired, kept, other])).await;
}

const ANN: i64 = 7_100_000_001;

/// Ann's chat, and a chat of somebody else's, each with one recorded enquiry.
async fn ann_and_bob() -> (World, Reference, Reference) {
    let mut world = world().await;
    let ann = world.customer(ANN, "Annabel");
    let hers = world.submit(&ann, "A quote", "Gutters at Elm Street 7.").await;
    let bob = world.customer(7_200_000_002, "Bob");
    let his = world.submit(&bob, "A quote", "A slate roof.").await;
    world.settle().await;
    (world, hers, his)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_somebody_elses_enquiry_stays_whatever_its_chat_column_says() {
    let (world, hers, his) = ann_and_bob().await;
    // Filled down by a careless hand.
    let mut row = world.sheets.rows("Intake")[2].clone();
    row[5] = json!(ANN.to_string());
    world.sheets.put_row("Intake", 3, &row);
    // One that names her and carries no reference.
    let note = [json!("by telephone"), json!(""), json!(""), json!("a note"), json!(""), json!(ANN)];
    world.sheets.put_row("Intake", 4, &note);
    let before = world.record(&his).await;
    let eraser = eraser(&world);
    let terms = Terms { why: WHY.into(), ..Terms::default() };
    let plan = eraser.plan(Whom::Chat(ChatId(ANN)), &terms, &mut |_| {}).await.unwrap();
    let page = plan.page("the sheet", &Zone::utc());
    for part in
        [format!("{his} is another customer's enquiry"), "row 4 of".into(), "carries no reference".into()]
    {
        assert!(page.contains(&part), "{part}: {page}");
    }
    assert_eq!(plan.left.len(), 2);
    let mut gone = Vec::new();
    eraser.carry_out(plan, &terms, |one| gone.push(one.reference)).await.unwrap();
    assert_eq!(gone, std::slice::from_ref(&hers));
    assert_eq!((world.rows_of(&hers), world.rows_of(&his), world.record(&his).await), (0, 1, before));
    assert_eq!(world.sheets.rows("Intake").len(), 3, "the note stays");
    world.check_rules_but_for(&touched(&[hers, his])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_this_release_cannot_read_keeps_its_row_and_is_named() {
    let (world, hers, his) = ann_and_bob().await;
    let damaged = world.damage_record(&hers, "write_state").await;
    let eraser = eraser(&world);
    let terms = Terms { why: WHY.into(), ..Terms::default() };
    let plan = eraser.plan(Whom::Chat(ChatId(ANN)), &terms, &mut |_| {}).await.unwrap();
    assert!(plan.left.iter().any(|left| left.contains("1 records cannot be read")), "{:?}", plan.left);
    assert!(plan.left.iter().any(|left| left.contains(hers.as_str())), "{:?}", plan.left);
    eraser.carry_out(plan, &terms, |_| ()).await.unwrap();
    assert_eq!(world.rows_of(&hers), 1);
    world.repair_record(&hers, "write_state", damaged).await;
    world.check_rules_but_for(&touched(&[his])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_between_the_look_and_the_yes_is_not_deleted() {
    let (world, hers, his) = ann_and_bob().await;
    let eraser = eraser(&world);
    let terms = Terms { why: WHY.into(), ..Terms::default() };
    let plan = eraser.plan(Whom::Chat(ChatId(ANN)), &terms, &mut |_| {}).await.unwrap();
    // A colleague sorts the first column alone: her reference stands before his words.
    let mut rows = world.sheets.rows("Intake");
    let first = rows[1][0].clone();
    rows[1][0] = rows[2][0].clone();
    rows[2][0] = first;
    world.sheets.put_row("Intake", 2, &rows[1]);
    world.sheets.put_row("Intake", 3, &rows[2]);
    let stopped = eraser.carry_out(plan, &terms, |_| ()).await.unwrap_err();
    assert!(stopped.message().contains("is not what was shown"), "{stopped:?}");
    assert_eq!(world.sheets.rows("Intake"), rows);
    assert_eq!(world.record(&hers).await.erased_at, None);
    // Asked anew, it says what stands there.
    world.turn_seconds(300);
    let stopped = erase(&world, Whom::Chat(ChatId(ANN)), None).await.unwrap_err();
    assert!(stopped.message().contains("one row that says something else"), "{stopped:?}");
    world.check_rules_but_for(&touched(&[hers, his])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_hears_that_a_row_is_recorded_which_was_just_deleted() {
    let mut world = world().await;
    world.telegram.answer_next(500, "");
    let reference = world.record_enquiries(1).await.remove(0);
    // Written, and not announced yet.
    world.poll_writer().await;
    let before = world.record(&reference).await;
    assert_eq!(before.acknowledgement.as_ref().unwrap().state.as_str(), "pending");
    // The command dies over the deletion, and the acknowledger comes.
    world.sheets.next(On::Changes, Behaviour::writes_then_hangs_up());
    let hands = eraser(&world);
    let terms = Terms { why: WHY.into(), ..Terms::default() };
    let plan = hands.plan(of(&reference), &terms, &mut |_| {}).await.unwrap();
    let killed = async {
        while world.rows_of(&reference) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = killed => {}
        done = hands.carry_out(plan, &terms, |_| ()) => panic!("not killed: {done:?}"),
    }
    world.settle().await;
    let left = world.record(&reference).await;
    assert_eq!(world.acknowledgements(left.submission.chat_id.0), Vec::<String>::new());
    let begun = left.history.entries().iter().find(|entry| entry.step == "erasure_begun").unwrap();
    assert_eq!((begun.by.as_str(), begun.why.as_deref()), ("operator ann@example.org", Some(WHY)));
    world.turn_seconds(300);
    erase(&world, of(&reference), None).await.unwrap();
    world.check_rules_but_for(&touched(&[reference])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_was_not_found_is_said_and_not_called_deleted() {
    let (world, hers, _) = ann_and_bob().await;
    // Moved to another tab by whoever answers enquiries.
    world.sheets.delete_row("Intake", 2);
    let gone = erase(&world, of(&hers), None).await.unwrap();
    assert_eq!(gone[0].rows, Vec::<String>::new());
    assert!(gone[0].left[0].contains("no row of it was found"), "{gone:?}");
    let record = world.record(&hers).await;
    assert_eq!(record.erased_rows, Some(0));
    let page = docket::page::record(&record, &Zone::utc());
    assert!(page.contains("no row was found") && !page.contains("was deleted"), "{page}");
    world.check_rules_but_for(&touched(&[hers])).await;
}

/// Erases one enquiry with a deletion that Google carries out late, while somebody does this to the sheet before.
async fn erased_late(world: &World, hers: &Reference, meanwhile: impl FnOnce()) -> Result<(), Stopped> {
    world.sheets.next(On::Changes, Behaviour::hangs_up_and_writes_later(170_000));
    let eraser = eraser(world);
    let terms = Terms { why: WHY.into(), ..Terms::default() };
    let plan = eraser.plan(of(hers), &terms, &mut |_| {}).await.unwrap();
    let (began, before) = (world.now(), world.wire.count(Side::Sheets, "batch_update"));
    let beside = async {
        while world.wire.count(Side::Sheets, "batch_update") == before {
            tokio::task::yield_now().await;
        }
        meanwhile();
    };
    let (done, ()) = tokio::join!(eraser.carry_out(plan, &terms, |_| ()), beside);
    assert!(world.now().seconds_since(began) >= 180, "it looked until nothing could come any more");
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_deletion_that_takes_a_row_inserted_meanwhile_takes_nobodys_and_is_repeated() {
    let (world, hers, his) = ann_and_bob().await;
    let stopped = erased_late(&world, &hers, || world.sheets.insert_row("Intake", 2)).await.unwrap_err();
    assert!(stopped.message().contains("is still there three minutes after"), "{stopped:?}");
    assert_eq!((world.rows_of(&hers), world.rows_of(&his), world.sheets.rows("Intake").len()), (1, 1, 3));
    world.turn_seconds(60);
    erase(&world, of(&hers), None).await.unwrap();
    assert_eq!((world.rows_of(&hers), world.rows_of(&his)), (0, 1));
    world.check_rules_but_for(&touched(&[hers, his])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_deletion_that_takes_somebody_elses_row_names_whose() {
    let mut world = world().await;
    let references = world.record_enquiries(4).await;
    world.settle().await;
    // A colleague deletes the row above ours, and the one below moves into its place.
    let stopped =
        erased_late(&world, &references[1], || world.sheets.delete_row("Intake", 2)).await.unwrap_err();
    let rows: Vec<usize> = references.iter().map(|reference| world.rows_of(reference)).collect();
    assert_eq!(rows, [0, 1, 0, 1], "{stopped:?}");
    for missing in [&references[0], &references[2]] {
        assert!(stopped.message().contains(missing.as_str()), "{stopped:?}");
    }
    assert!(stopped.message().contains("restore it from there"), "{stopped:?}");
    world.check_rules_but_for(&touched(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_enquiries_of_one_chat_are_erased_within_what_google_takes_a_minute() {
    let mut world = world().await;
    let ann = world.customer(ANN, "Annabel");
    let mut references = Vec::new();
    for number in 1..=12 {
        references.push(world.submit(&ann, "A quote", &format!("Gutter {number}.")).await);
    }
    world.settle().await;
    world.turn_seconds(600);
    world.sheets.enforce_quota(true);
    let gone = erase(&world, Whom::Chat(ChatId(ANN)), None).await.unwrap();
    assert_eq!((gone.len(), world.sheets.rows("Intake").len()), (12, 1));
    assert!(world.sheets.most_reads_in_any_minute() <= 60, "{}", world.sheets.most_reads_in_any_minute());
    world.check_rules_but_for(&touched(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_had_a_customer_told_goes_too() {
    let mut world = world().await;
    world.sheets.set_cell_characters(100);
    let reference = world.record_words(&[&"x".repeat(101)]).await.remove(0);
    world.work().await;
    let seen = world.record(&reference).await;
    let abandon = WriteEvent::Ordered(WriteOrder::Abandon { why: "Of Annabel's.".into() });
    let next = seen.write_after(&abandon, world.now(), &By::Operator("ann".into())).unwrap();
    let next = next.with_words("Sorry, Annabel.".into(), world.now()).unwrap();
    world.store().apply(&seen, &next, world.now()).await.unwrap();
    world.run_minutes(5).await;
    erase(&world, of(&reference), None).await.unwrap();
    let left = everything(&world).await;
    assert!(!left.contains("Annabel") && left.contains("erased"), "{left}");
    let after = world.record(&reference).await;
    assert_eq!(after.acknowledgement.unwrap().state.as_str(), "confirmed");
    world.check_rules_but_for(&touched(&[reference])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_again_does_not_bring_an_erased_customer_back() {
    let mut world = world().await;
    let ann = world.customer(7_100_000_001, "Annabel");
    let reference = world.submit(&ann, "A quote", "Gutters at Elm Street 7.").await;
    world.settle().await;
    let heard = world.heard.clone();
    erase(&world, Whom::Chat(ChatId(7_100_000_001)), None).await.unwrap();
    let after = world.record(&reference).await;
    for (update, _) in heard {
        world.deliver(&update).await;
    }
    world.settle().await;
    assert_eq!(world.record(&reference).await, after);
    assert_eq!(world.rows_of(&reference), 0);
    world.check_rules_but_for(&touched(&[reference])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_shows_first_and_erases_when_told_to() {
    let mut world = world().await;
    let references = world.record_enquiries(2).await;
    world.settle().await;
    let following = world.clock.follow_real_time();
    let environment = environment_of_operator(&world);
    let name = references[0].as_str();
    let asked = ["erase", "--reference", name, "--because", WHY];
    let shown = docket(&environment, &asked);
    assert_eq!((shown.status, shown.stdout.as_str()), (1, ""));
    for part in [name, "one row that says the same, at 'Intake'!A2:F2", "nothing was erased"] {
        assert!(shown.stderr.contains(part), "{part}: {}", shown.stderr);
    }
    assert_eq!(world.rows_of(&references[0]), 1);
    for (arguments, status, says) in [
        (vec!["erase", "--because", "x"], 2, "--reference"),
        (vec!["erase", "--reference", name], 2, "--because"),
        (vec!["erase", "--reference", "DK-1", "--because", "x"], 2, "reference"),
        (vec!["erase", "--reference", "DK-8M4T-K2QX-7RZ9", "--because", "x"], 1, "no submission"),
    ] {
        let ran = docket(&environment, &arguments);
        assert_eq!(ran.status, status, "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let yes = [&asked[..], &["--yes", "--json"]].concat();
    let no_google = environment.clone().with("SHEETS_ENDPOINT", NOBODY);
    assert_eq!(docket(&no_google, &yes).status, 3);
    let ran = docket(&environment, &yes);
    assert!(
        ran.stderr.contains("one row that says the same"),
        "what will go is shown all the same: {}",
        ran.stderr
    );
    assert_eq!(ran.status, 0);
    let done: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(done[0]["left"], json!([]));
    assert_eq!(done[0]["reference"], name);
    assert_eq!(done[0]["rows"].as_array().unwrap().len(), 1);
    let page = docket(&environment, &["show", name]);
    assert!(page.stdout.contains("Its customer was erased at"), "{}", page.stdout);
    let audit = docket(&environment, &["audit"]);
    assert!(audit.stdout.contains("Everything fits."), "{}", audit.stdout);
    following.abort();
    world.check_rules_but_for(&touched(&references)).await;
}

#[test]
fn whose_it_is_and_how_a_write_is_left_are_told_to_whoever_asks_or_forgets() {
    let nowhere = Environment::default();
    let nobody = docket(&nowhere, &["erase", "--because", WHY]);
    let said = nobody.refused(2);
    assert!(said.contains("--reference <REFERENCE>|--chat <ID>"), "{said}");
    let both =
        docket(&nowhere, &["erase", "--reference", "DK-8M4T-K2QX-7RZ9", "--chat", "7", "--because", WHY]);
    assert!(both.refused(2).contains("cannot be used with"), "{}", both.stderr);
    let help = docket(&nowhere, &["erase", "--help"]).stdout;
    assert!(
        help.contains("abandoned: It is given up: nothing more is written, and nobody is told"),
        "{help}"
    );
}
