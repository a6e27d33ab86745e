//! What a look at the sheet means, line by line, and when it is taken.
//!
//! Every scenario begins with an append of which nobody knows what became of it. What the sheet then shows, to whom it
//! shows it, and what people do to it meanwhile is what the scenarios differ in.

use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::row::HEADER;
use docket_domain::status::{Finding, WriteEvent, WriteState};
use docket_world::World;
use docket_world::sheets::{Behaviour, FailureBody, On};
use serde_json::{Value, json};

use crate::write_side::*;

/// What a person does to the sheet.
type Act = fn(&World);

/// What a recheck does with what it sees.
fn seen(world: &World, finding: Finding) -> WriteEvent {
    WriteEvent::LookedUp { finding, started_at: world.now(), settle_seconds: 300 }
}

/// The row of the only record, as it was written.
fn written(world: &World) -> Vec<Value> {
    world.rows()[0].clone()
}

fn set_cell(world: &World, column: usize, cell: Value) {
    let mut row = written(world);
    row[column] = cell;
    world.sheets.put_row("Intake", 2, &row);
}

// ---- One row -----------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_says_the_same_confirms_whatever_became_of_line_ends_and_trailing_blanks() {
    let edits: [(&str, Act); 5] = [
        ("as it was written", |_| {}),
        ("with CRLF", |world| set_cell(world, 3, json!("First line,\r\nsecond line."))),
        ("with CR", |world| set_cell(world, 3, json!("First line,\rsecond line."))),
        ("with blanks at the end of lines", |world| {
            set_cell(world, 3, json!("First line, \t\nsecond line.  \n"));
        }),
        ("with blanks behind every cell", |world| {
            let row: Vec<Value> =
                written(world).iter().map(|cell| json!(format!("{} ", cell.as_str().unwrap()))).collect();
            world.sheets.put_row("Intake", 2, &row);
        }),
    ];
    each(edits.map(|(name, edit)| Named { name: name.into(), count: 1, is: edit }), |case| async move {
        let mut world = world().await;
        let references = world.record_words(&["First line,\nsecond line."]).await;
        world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
        world.work().await;
        (case.is)(&world);
        a_minute_later(&mut world).await;
        all_are(&world, &references, "confirmed read_back").await;
        assert!(world.record(&references[0]).await.finished());
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_differs_in_any_column_is_a_persons_matter() {
    let others = [json!("other"), json!(""), json!(7), json!(true)];
    let mut cases = Vec::new();
    for (column, name) in HEADER.into_iter().enumerate() {
        // Every kind of cell once, in turn, and another text in every column.
        for other in [&others[0], &others[1 + column % 3]] {
            cases.push(Named { name: format!("{name} is {other}"), count: 1, is: (column, other.clone()) });
        }
    }
    each(cases, |Named { is: (column, other), .. }| async move {
        let mut world = world().await;
        let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
        let original = written(&world);
        set_cell(&world, column, other);
        world.settle().await;
        // Without its reference it is not our row at all.
        let reason = if column == 0 { "no_matching_row" } else { "row_differs" };
        all_are(&world, &references, &format!("uncertain, review {reason}")).await;
        assert_eq!(appends(&world), 1);
        nobody_is_told(&world, &references).await;
        world.check_rules().await;

        // A person puts it right and has it looked at again.
        world.sheets.put_row("Intake", 2, &original);
        world
            .apply(&references[0], &seen(&world, Finding::OneEqual { range: "'Intake'!A2:F2".into() }))
            .await;
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_cut_from_the_end_of_a_row_are_a_difference_and_not_a_failure() {
    each(1..6_usize, |kept| async move {
        let mut world = world().await;
        let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
        let row = written(&world);
        world.sheets.put_row("Intake", 2, &row[..kept]);
        a_minute_later(&mut world).await;
        all_are(&world, &references, "uncertain, review row_differs").await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_rows_with_one_reference_are_a_persons_matter_until_one_is_left() {
    each([2, 3, 40], |rows| async move {
        let mut world = world().await;
        let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
        let row = written(&world);
        for copy in 1..rows {
            world.sheets.put_row("Intake", 2 + 3 * copy, &row);
        }
        a_minute_later(&mut world).await;
        all_are(&world, &references, "uncertain, review several_rows").await;
        world.run_minutes(10).await;
        all_are(&world, &references, "uncertain, review several_rows").await;
        assert_eq!(world.rows().len(), rows, "nothing is deleted, nothing is added");
        world.check_rules_but_for(&rows_touched(&references)).await;

        for copy in (1..rows).rev() {
            world.sheets.delete_row("Intake", 2 + 3 * copy);
        }
        world
            .apply(&references[0], &seen(&world, Finding::OneEqual { range: "'Intake'!A2:F2".into() }))
            .await;
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

// ---- Several records in one look ---------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn one_look_that_shows_something_else_of_each_record_settles_each_for_itself() {
    let mut world = world().await;
    let references = uncertain(&mut world, 5, Behaviour::writes_then_hangs_up()).await;
    let [equal, differs, several, gone, moved] = references.as_slice() else { panic!("five records") };
    let place = |world: &World, reference: &Reference| {
        world.rows().iter().position(|row| row[0] == json!(reference)).map(|place| place + 2)
    };
    let rows = world.rows();
    let mut other = rows[1].clone();
    other[3] = json!("Somebody wrote this over it.");
    world.sheets.put_row("Intake", place(&world, differs).unwrap(), &other);
    world.sheets.put_row("Intake", 9, &rows[2]);
    world.sheets.delete_row("Intake", place(&world, gone).unwrap());
    // To another place, with rows of people around it.
    let before = place(&world, moved).unwrap();
    world.sheets.delete_row("Intake", before);
    world.sheets.put_row("Intake", 20, &rows[4]);
    world.sheets.put_row("Intake", 21, &[json!("DK-0000-0000-0000"), json!("a person's own")]);
    world.sheets.sort_by_column("Intake", "A");
    let found = |reference| world.rows_of(reference);
    assert_eq!(references.iter().map(found).collect::<Vec<_>>(), [1, 1, 2, 0, 1]);
    let rows_before = world.rows();

    a_minute_later(&mut world).await;
    assert_eq!(world.recorder().sum(Metric::Lookups), 1.0, "one look for all of them");
    for (reference, wanted) in [
        (equal, "confirmed read_back"),
        (differs, "uncertain, review row_differs"),
        (several, "uncertain, review several_rows"),
        (gone, "uncertain"),
        (moved, "confirmed read_back"),
    ] {
        all_are(&world, std::slice::from_ref(reference), wanted).await;
        // The evidence names the row where it is now.
        if let WriteState::Confirmed { evidence } = &world.record(reference).await.write.state {
            let row = place(&world, reference).unwrap();
            assert_eq!(evidence.to_string(), format!("read_back 'Intake'!A{row}:F{row}"));
        }
    }
    world.settle().await;
    for (reference, wanted) in [
        (equal, "confirmed read_back"),
        (differs, "uncertain, review row_differs"),
        (several, "uncertain, review several_rows"),
        (gone, "uncertain, review no_matching_row"),
        (moved, "confirmed read_back"),
    ] {
        all_are(&world, std::slice::from_ref(reference), wanted).await;
        let told = world.acknowledgements(world.record(reference).await.submission.chat_id.0).len();
        assert_eq!(told, usize::from(wanted == "confirmed read_back"), "{wanted}");
    }
    assert_eq!(appends(&world), 1);
    assert_eq!(world.rows(), rows_before, "nothing is put right by a machine");
    world.check_rules_but_for(&rows_touched(&references)).await;
}

// ---- No row ------------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_row_is_looked_for_after_one_three_and_six_minutes_and_then_by_a_person() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        let references = uncertain(&mut world, count, Behaviour::hangs_up()).await;
        for (minute, lookups, wanted) in [
            (1, 1, "uncertain"),
            (2, 1, "uncertain"),
            (3, 2, "uncertain"),
            (4, 2, "uncertain"),
            (5, 2, "uncertain"),
            (6, 3, "uncertain, review no_matching_row"),
            (7, 3, "uncertain, review no_matching_row"),
        ] {
            a_minute_later(&mut world).await;
            // A ring more, or two, changes nothing.
            world.ring_for_the_write(&references).await;
            world.work().await;
            all_are(&world, &references, wanted).await;
            for reference in &references {
                assert_eq!(world.record(reference).await.write.lookups, lookups, "minute {minute}");
            }
        }
        assert_eq!(world.recorder().sum(Metric::Lookups), 3.0);
        assert_eq!(appends(&world), 1);
        nobody_is_told(&world, &references).await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_appears_after_the_review_is_settled_by_a_recheck() {
    let mut world = world().await;
    // Missed by three reads: exactly those of the three lookups.
    let late = Behaviour::writes_then_hangs_up().visible_after_reads(3);
    let references = uncertain(&mut world, 1, late).await;
    world.settle().await;
    all_are(&world, &references, "uncertain, review no_matching_row").await;
    assert_eq!(world.rows_of(&references[0]), 1, "it was there all the time");

    // One more empty look changes nothing about the review.
    let before = world.record(&references[0]).await.reviews();
    world.apply(&references[0], &seen(&world, Finding::None)).await;
    assert_eq!(world.record(&references[0]).await.reviews(), before);

    world.apply(&references[0], &seen(&world, Finding::OneEqual { range: "'Intake'!A2:F2".into() })).await;
    each_is_written_once(&mut world, &references).await;
    assert_eq!(appends(&world), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_readers_see_late_is_found_and_never_written_again() {
    let cases = [
        ("after 60 s", Behaviour::writes_then_hangs_up().visible_after_ms(60_000), 1),
        ("after 61 s", Behaviour::writes_then_hangs_up().visible_after_ms(61_000), 2),
        ("after 200 s", Behaviour::writes_then_hangs_up().visible_after_ms(200_000), 3),
        ("after one read", Behaviour::writes_then_hangs_up().visible_after_reads(1), 2),
        ("after two reads", Behaviour::writes_then_hangs_up().visible_after_reads(2), 3),
        ("applied 100 s later", Behaviour::hangs_up_and_writes_later(100_000), 2),
        ("applied as late as Google works", Behaviour::hangs_up_and_writes_later(180_000), 2),
        ("applied 59 s after a 503", Behaviour::fails_and_writes_later(503, FailureBody::Empty, 59_000), 1),
    ];
    each(
        alone_and_in_company(cases.map(|(name, late, lookups)| (name, (late, lookups)))),
        |Named { count, is: (late, lookups), .. }| async move {
            let mut world = world().await;
            let references = uncertain(&mut world, count, late).await;
            world.settle().await;
            all_are(&world, &references, "confirmed read_back").await;
            for reference in &references {
                assert_eq!(world.record(reference).await.write.lookups, lookups);
            }
            assert_eq!(appends(&world), 1);
            each_is_written_once(&mut world, &references).await;
            world.check_rules().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_timed_out_and_is_applied_100_seconds_later_is_one_row() {
    let mut world = impatient_world().await;
    let references = uncertain(&mut world, 5, Behaviour::never_answers_and_writes_later(100_000)).await;
    a_minute_later(&mut world).await;
    assert_eq!(world.rows().len(), 0);
    all_are(&world, &references, "uncertain").await;
    each_is_written_once(&mut world, &references).await;
    all_are(&world, &references, "confirmed read_back").await;
    assert_eq!(appends(&world), 1);
    world.check_rules().await;
}

// ---- A sheet that cannot be read ---------------------------------------------------------------------------------------

/// Why a look showed nothing that can be relied on.
#[derive(Clone)]
enum Unreadable {
    Answers(Behaviour),
    Waits(Behaviour),
    Header(Vec<&'static str>),
}

fn unreadable() -> Vec<(&'static str, Unreadable)> {
    use Unreadable::{Answers, Header, Waits};
    let json = |body: &Value| {
        let header = ("content-type".to_owned(), "application/json".to_owned());
        Answers(Behaviour::answers(200, vec![header], &body.to_string()))
    };
    let header =
        json!([["reference"], ["confirmed_at"], ["request_type"], ["summary"], ["contact"], ["chat_id"]]);
    let blocks = |header: &Value, range: &str, column: Option<Value>| {
        let mut read = json!({"range": range, "majorDimension": "COLUMNS"});
        if let Some(column) = column {
            read["values"] = json!([column]);
        }
        let header = json!({"range": "Intake!A1:F1", "majorDimension": "COLUMNS", "values": header});
        json(&json!({"spreadsheetId": "x", "valueRanges": [header, read]}))
    };
    vec![
        ("400", Answers(Behaviour::fails(400, FailureBody::Json))),
        ("403", Answers(Behaviour::permission_denied())),
        ("404", Answers(Behaviour::not_found())),
        ("429", Answers(Behaviour::quota_exhausted())),
        ("401", Answers(Behaviour::unauthenticated())),
        ("500", Answers(Behaviour::fails(500, FailureBody::Json))),
        ("502 with a page", Answers(Behaviour::fails(502, FailureBody::Html))),
        ("200 with a page", Answers(Behaviour::writes_then_answers_html())),
        ("200 without a body", Answers(Behaviour::writes_then_answers_empty())),
        ("200 {}", Answers(Behaviour::writes_then_answers_empty_object())),
        ("an answer cut to half", Answers(Behaviour::serves_body_cut_to(200))),
        ("half an answer", Answers(Behaviour::writes_then_sends_half(200))),
        ("hung up", Answers(Behaviour::hangs_up())),
        ("no answer", Waits(Behaviour::never_answers())),
        ("a column without values", blocks(&header, "Intake!A1:A1000", None)),
        ("a column that lacks its header", blocks(&header, "Intake!A1:A1000", Some(json!(["DK-1"])))),
        ("a column clipped at its top", blocks(&header, "Intake!A2:A1000", Some(json!(["reference"])))),
        ("a column clipped at its end", blocks(&header, "Intake!A1", Some(json!(["reference", "DK-1"])))),
        ("another column", blocks(&header, "Intake!B1:B1000", Some(json!(["reference"])))),
        ("another tab", blocks(&header, "Other!A1:A1000", Some(json!(["reference"])))),
        ("no header", blocks(&json!([]), "Intake!A1:A1000", Some(json!(["reference"])))),
        (
            "columns swapped",
            Header(vec!["reference", "confirmed_at", "summary", "request_type", "contact", "chat_id"]),
        ),
        (
            "a column renamed",
            Header(vec!["id", "confirmed_at", "request_type", "summary", "contact", "chat_id"]),
        ),
        (
            "a column inserted",
            Header(vec!["", "reference", "confirmed_at", "request_type", "summary", "contact"]),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_failed_teaches_nothing_however_often_it_fails() {
    let cases = alone_and_in_company(unreadable());
    each(cases, |Named { count, is, .. }| async move {
        let mut world =
            if matches!(is, Unreadable::Waits(_)) { impatient_world().await } else { world().await };
        let references = uncertain(&mut world, count, Behaviour::writes_then_hangs_up()).await;
        match is {
            Unreadable::Answers(behaviour) | Unreadable::Waits(behaviour) => {
                world.sheets.from_now_on(On::Reads, behaviour);
            }
            Unreadable::Header(header) => world.sheets.set_header("Intake", &header),
        }
        // Past the settle time, when an empty look would be a review.
        for minutes in [1, 1, 5] {
            minutes_later(&mut world, minutes).await;
            all_are(&world, &references, "uncertain").await;
            for reference in &references {
                let record = world.record(reference).await;
                let in_seconds = record.due().unwrap().1.seconds_since(world.now());
                assert!((1..=61).contains(&in_seconds), "due in {in_seconds} s");
            }
        }
        nobody_is_told(&world, &references).await;
        world.check_rules().await;

        world.sheets.heal();
        world.sheets.set_header("Intake", &HEADER);
        each_is_written_once(&mut world, &references).await;
        all_are(&world, &references, "confirmed read_back").await;
        assert_eq!(appends(&world), 1);
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_row_behind_an_unreadable_sheet_is_a_review_only_once_the_sheet_was_read() {
    let mut world = world().await;
    let references = uncertain(&mut world, 1, Behaviour::hangs_up()).await;
    world.sheets.from_now_on(On::Reads, Behaviour::fails(503, FailureBody::Html));
    minutes_later(&mut world, 60).await;
    all_are(&world, &references, "uncertain").await;
    world.sheets.heal();
    a_minute_later(&mut world).await;
    all_are(&world, &references, "uncertain, review no_matching_row").await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_without_a_readable_sheet_makes_it_a_persons_matter_that_a_recheck_settles() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        let references = uncertain(&mut world, count, Behaviour::writes_then_hangs_up()).await;
        world.sheets.rename_tab("Intake", "Archive");
        for minutes in [1, 60, 600, 24 * 60 - 662] {
            minutes_later(&mut world, minutes).await;
            all_are_renamed(&world, &references, "uncertain").await;
        }
        minutes_later(&mut world, 2).await;
        all_are_renamed(&world, &references, "uncertain, review sheet_unreadable").await;
        world.sheets.rename_tab("Archive", "Intake");
        world.check_rules().await;
        for (row, reference) in (2..).zip(&references) {
            world
                .apply(
                    reference,
                    &seen(&world, Finding::OneEqual { range: format!("'Intake'!A{row}:F{row}") }),
                )
                .await;
        }
        each_is_written_once(&mut world, &references).await;
        assert_eq!(appends(&world), 1);
        world.check_rules().await;
    })
    .await;
}

/// As [`all_are`], while there is no tab of our name to show.
async fn all_are_renamed(world: &World, references: &[Reference], wanted: &str) {
    for reference in references {
        assert_eq!(known(&world.record(reference).await), wanted, "{reference}");
    }
}

// ---- People work in the sheet ------------------------------------------------------------------------------------------

/// Rows of other people, in every shape that a cell can have.
fn foreign_row(number: usize, ours: &Reference) -> Vec<Value> {
    let reference = ours.as_str();
    match number % 14 {
        0 => vec![json!(number)],
        1 => vec![json!(true), json!(false), json!(0.5)],
        2 => vec![json!(null), json!("x"), json!(null), json!(7)],
        3 => vec![],
        4 => (0..20).map(|column| json!(format!("{number}/{column}"))).collect(),
        5 => vec![json!("DK-0000-0000-0000"), json!("2026-03-01T09:15:00Z"), json!("A quote"), json!("x")],
        6 => vec![json!("x"), json!(reference)],
        7 => vec![json!(reference.to_lowercase())],
        8 => vec![json!(format!("{reference}X")), json!("one letter more")],
        9 => vec![json!(reference.replace('-', ""))],
        10 => vec![json!("#REF!"), json!("=1+1"), json!("#ERROR!")],
        11 => vec![json!(format!("see {reference}")), json!("a note")],
        12 => vec![json!(""), json!(""), json!(""), json!(""), json!(""), json!(-1_002_000_000_001_i64)],
        _ => vec![json!("reference"), json!("confirmed_at"), json!("request_type")],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_rows_of_other_people_do_not_disturb_a_look() {
    each([true, false], |written| async move {
        let mut world = world().await;
        let behaviour = if written { Behaviour::writes_then_hangs_up() } else { Behaviour::hangs_up() };
        let references = uncertain(&mut world, 1, behaviour).await;
        for number in 3..1_003 {
            world.sheets.put_row("Intake", number, &foreign_row(number, &references[0]));
        }
        world.sheets.fill_with_blank_formula("Intake", 1_010, "A");
        world.settle().await;
        let wanted = if written { "confirmed read_back" } else { "uncertain, review no_matching_row" };
        all_are(&world, &references, wanted).await;
        assert_eq!(appends(&world), 1);
        world.check_rules_but_for(&rows_touched(&references)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_of_forty_thousand_rows_that_takes_two_seconds_is_read_like_any_other() {
    let mut world = world().await;
    let references = uncertain(&mut world, 2, Behaviour::writes_then_hangs_up()).await;
    for number in 4..40_004 {
        let cells = [format!("R-{number}"), "2026-01-02T03:04:05Z".into(), "other".into()];
        world.sheets.put_row("Intake", number, &cells.map(Value::from));
    }
    // One of ours ends up far below.
    let row = world.sheets.rows("Intake")[1].clone();
    world.sheets.put_row("Intake", 39_999, &row);
    world.sheets.delete_row("Intake", 2);
    world.sheets.from_now_on(On::Reads, Behaviour::serves().taking_ms(2_000));
    a_minute_later(&mut world).await;
    all_are(&world, &references, "confirmed read_back").await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_may_sort_insert_and_delete_between_the_append_and_the_look() {
    let acts: [(&str, Act); 6] = [
        ("sort by the summary", |world| world.sheets.sort_by_column("Intake", "D")),
        ("sort by the reference", |world| world.sheets.sort_by_column("Intake", "A")),
        ("insert rows above", |world| {
            world.sheets.insert_row("Intake", 2);
            world.sheets.insert_row("Intake", 4);
            world.sheets.insert_row("Intake", 4);
        }),
        ("delete the row of another team", |world| world.sheets.delete_row("Intake", 2)),
        ("type below", |world| world.sheets.type_into_next_empty_row("Intake", &["=1+1", "1/2", "x"])),
        ("add a tab", |world| world.sheets.add_tab("Another", &["reference"])),
    ];
    each(acts.map(|(name, act)| Named { name: name.into(), count: 4, is: act }), |case| async move {
        let mut world = world().await;
        world.sheets.put_row("Intake", 2, &["Z-1", "x", "x", "m", "x", "x"].map(Value::from));
        let references = uncertain(&mut world, case.count, Behaviour::writes_then_hangs_up()).await;
        (case.is)(&world);
        a_minute_later(&mut world).await;
        all_are(&world, &references, "confirmed read_back").await;
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_was_deleted_by_hand_is_not_written_again() {
    let mut world = world().await;
    let references = uncertain(&mut world, 3, Behaviour::writes_then_hangs_up()).await;
    world.sheets.delete_row("Intake", 3);
    world.settle().await;
    all_are(&world, &[references[0].clone(), references[2].clone()], "confirmed read_back").await;
    all_are(&world, &references[1..2], "uncertain, review no_matching_row").await;
    assert_eq!((appends(&world), world.rows().len()), (1, 2));
    world.check_rules().await;

    // And one that was confirmed before stays confirmed, and nobody writes it again.
    world.sheets.delete_row("Intake", 2);
    world.ring_for_the_write(&references).await;
    world.run_minutes(10).await;
    all_are(&world, &references[..1], "confirmed read_back").await;
    assert_eq!((appends(&world), world.rows().len()), (1, 1));
    world.check_rules_but_for(&rows_touched(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_moves_while_it_is_looked_at_is_looked_at_again() {
    let mut world = world().await;
    let references = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
    world.turn_seconds(60);
    world.sweep().await;
    // The column has been read; before the row is, somebody inserts one above.
    world.sheets.next(On::Reads, Behaviour::serves());
    world.sheets.next(On::Reads, Behaviour::serves().held());
    let sheets = world.sheets.clone();
    let insert = async {
        while sheets.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        sheets.insert_row("Intake", 2);
        sheets.put_row("Intake", 2, &["someone", "else's", "row", "now", "stands", "here"].map(Value::from));
        sheets.let_go();
    };
    tokio::join!(world.work(), insert);
    all_are(&world, &references, "uncertain").await;
    let record = world.record(&references[0]).await;
    assert_eq!(record.history.entries().last().unwrap().why.as_deref(), Some("unreadable: row_moved"));
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}
