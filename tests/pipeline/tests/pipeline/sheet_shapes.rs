//! Sheets as people have them: tabs of any name, rows of any shape, words that look like something else.

use docket_domain::status::{Evidence, WriteState};
use docket_world::sheets::{Behaviour, On};
use serde_json::{Value, json};

use crate::write_side::{
    ALONE_AND_IN_COMPANY, all_are, append_calls, each_is_written_once, uncertain, world, world_with,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_of_any_name_is_written_to_and_read_back_and_never_taken_for_a_cell() {
    for tab in [
        "CRM26",
        "R1C1",
        "RC",
        "D001",
        "Q1 Report",
        "Adv/Ent1",
        "50% #1?",
        "a:append",
        "Été 🌞",
        "Jon's",
        "a!b",
    ] {
        let mut world = world_with(|settings| settings.tab = tab.into()).await;
        let mut references = uncertain(&mut world, 2, Behaviour::writes_then_hangs_up()).await;
        references.extend(world.record_enquiries(2).await);
        each_is_written_once(&mut world, &references).await;
        for call in append_calls(&world) {
            assert!(call.request.path.ends_with("%27%21A1:append"), "{tab}: {}", call.request.path);
            assert!(call.request.query.contains("valueInputOption=RAW"), "{tab}");
            assert!(call.request.query.contains("insertDataOption=INSERT_ROWS"), "{tab}");
        }
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_last_row_with_empty_cells_does_not_pull_the_next_ones_to_its_end() {
    for count in ALONE_AND_IN_COMPANY {
        let mut world = world().await;
        let drifting = ["R-1", "2026-01-02T03:04:05Z", "", "text", "Ann", ""].map(|cell| json!(cell));
        world.sheets.put_row("Intake", 2, &drifting);
        let references = world.record_enquiries(count).await;
        world.work().await;
        all_are(&world, &references, "confirmed append_answer").await;
        let rows = world.sheets.rows("Intake");
        assert_eq!(rows.len(), 2 + count);
        assert!(rows[1].iter().zip(&drifting).all(|(cell, before)| cell == before), "{:?}", rows[1]);
        for (row, reference) in rows[2..].iter().zip(&references) {
            assert_eq!((row.len(), row[0].as_str()), (6, Some(reference.as_str())));
        }
        for (number, reference) in (3..).zip(&references) {
            let evidence = world.record(reference).await.write.state;
            let range = format!("'Intake'!A{number}:F{number}");
            assert!(
                matches!(&evidence, WriteState::Confirmed { evidence: Evidence::AppendAnswer { range: named } } if *named == range),
                "{evidence:?}"
            );
        }
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_look_like_formulas_numbers_or_dates_are_six_strings_to_the_letter() {
    let mut world = world().await;
    let words = [
        "=HYPERLINK(\"http://x.test\",\"y\")",
        "=1+1",
        "+49 30 0000",
        "-5 apples",
        "@all",
        "'quoted'",
        "007",
        "1/2",
        "2026-03-01",
        "TRUE",
        "1e5",
        "12345678901234567890",
        "٣٤",
        "l1\nl2\tend \"q\"",
    ];
    let references = world.record_words(&words).await;
    each_is_written_once(&mut world, &references).await;
    for (row, words) in world.rows().iter().zip(words) {
        assert!(row.len() == 6 && row.iter().all(Value::is_string), "{row:?}");
        assert_eq!(row[3], words);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_customer_types_or_is_called_stands_there_to_the_letter_and_is_found_equal_again() {
    let long = "👩‍👩‍👧".repeat(300);
    let mut world = world().await;
    let mut expected = Vec::new();
    let mut references = Vec::new();
    for (chat_id, (typed, kept, called)) in (7_300_000_000..).zip([
        (
            "=HYPERLINK(\"http://x.test\",\"y\")",
            "=HYPERLINK(\"http://x.test\",\"y\")",
            "=HYPERLINK(\"http://x.test\",\"y\")",
        ),
        ("\t=1", "=1", "\t=1"),
        ("@all", "@all", "@all"),
        ("'quoted'", "'quoted'", "'quoted'"),
        ("-5 apples", "-5 apples", "+49 30 0000"),
        ("+49 30 0000", "+49 30 0000", "-5 apples"),
        ("0049300000", "0049300000", "007"),
        ("l1\nl2\r\nl3\u{2028}l4\tend \"q\" ", "l1\nl2\nl3\u{2028}l4\tend \"q\"", "TRUE"),
        (&long, &long, "1e5"),
    ]) {
        // Its append's answer is lost, so the row is read back and compared.
        world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
        let customer = world.customer(chat_id, called);
        references.push(world.submit(&customer, "A quote", typed).await);
        world.settle().await;
        expected.push((kept.to_owned(), called.trim().to_owned(), chat_id.to_string()));
    }
    all_are(&world, &references, "confirmed read_back").await;
    for (row, (summary, contact, chat_id)) in world.rows().iter().zip(expected) {
        assert_eq!(row[3..], [json!(summary), json!(contact), json!(chat_id)]);
    }
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}
