//! The Sheets adapter against the fake Google, over real sockets: what the port promises, and that both sides mean the same
//! by a tab's name, a range, a token and a missing cell.

use std::sync::Arc;

use docket_adapters::sheets::{After, Credentials, Deletion, GoogleSheet, SheetSettings};
use docket_domain::moment::Moment;
use docket_domain::outcome::{AppendOutcome, NotApplied};
use docket_domain::ports::Sheet as _;
use docket_domain::reference::Reference;
use docket_domain::row::{HEADER, Row};
use docket_domain::status::{Cause, Finding};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use docket_world::clock::TurnedClock;
use docket_world::sheets::{Behaviour, FailureBody, FakeSheets, FakeToken, Kind, On};
use docket_world::wire::{Backend, Gate, Side, Wire};
use docket_world::workers::role;
use serde_json::{Value, json};

const NOW_MS: i64 = 1_772_356_500_000;

/// A spreadsheet with one tab and our header, and the adapter in front of it.
struct Google {
    clock: TurnedClock,
    sheets: FakeSheets,
    adapter: GoogleSheet<TurnedClock>,
    tab: String,
    _gates: [Gate; 2],
}

async fn google(tab: &str) -> Google {
    google_by(tab, |token, url| token.service_account_json(&format!("{url}/token"))).await
}

/// One that knows no key: the writer's AWS role borrows the service account.
async fn google_without_a_key() -> Google {
    google_by("Intake", FakeToken::external_account_json).await
}

async fn google_by(tab: &str, credentials: impl Fn(&FakeToken, &str) -> String) -> Google {
    let clock = TurnedClock::at(NOW_MS);
    let wire = Wire::new(clock.clone());
    let sheets = FakeSheets::new(clock.clone(), "sheet-1");
    // Another tab stands in front: what is read from it, or written there, was addressed wrongly.
    sheets.add_tab("First", &["something", "else"]);
    sheets.add_tab(tab, &HEADER);
    let gate = wire.gate("writer", Side::Sheets, Backend::Fake(Arc::new(sheets.clone()))).await;
    let token_gate = wire.gate("writer", Side::Token, Backend::Fake(Arc::new(sheets.token()))).await;
    let credentials = credentials(&sheets.token(), &token_gate.url());
    let settings = SheetSettings {
        endpoint: gate.url(),
        spreadsheet_id: "sheet-1".into(),
        tab: tab.into(),
        credentials: Credentials::parse(&credentials, &role()).unwrap(),
        append_timeout_ms: 2_000,
        read_timeout_ms: 2_000,
    };
    let adapter = GoogleSheet::new(settings, clock.clone()).unwrap();
    Google { clock, sheets, adapter, tab: tab.into(), _gates: [gate, token_gate] }
}

impl Google {
    async fn appended(&self, rows: &[Row]) -> Vec<String> {
        match self.adapter.append(rows).await {
            AppendOutcome::Applied(place) => (0..rows.len()).map(|index| place.range_of(index)).collect(),
            other => panic!("{}: {other:?}", self.tab),
        }
    }

    fn rows(&self) -> Vec<Vec<Value>> {
        self.sheets.rows(&self.tab)
    }
}

fn row(number: i64, summary: &str) -> Row {
    let summary = Summary::clean(summary).unwrap();
    Row::of(&Submission {
        reference: Reference::derive(99, 7, number),
        request_type: "A quote".into(),
        fingerprint: Fingerprint::of("A quote", &summary, ChatId(7)),
        summary,
        chat_id: ChatId(7),
        contact: Contact::clean(""),
        confirmed_at: Moment::from_millis(NOW_MS),
        origin: String::new(),
    })
}

fn halt(cause: &str) -> NotApplied {
    NotApplied::Halt(Cause::new(cause))
}

#[tokio::test]
async fn what_is_appended_is_found_equal_where_the_answer_said() {
    let google = google("Intake").await;
    assert_eq!(google.adapter.ready(1).await, Ok(()));
    let rows = [row(1, "=1+1"), row(2, "007"), row(3, "two\nlines, and 'quotes' \u{1f600}")];
    let places = google.appended(&rows).await;
    assert_eq!(places, ["'Intake'!A2:F2", "'Intake'!A3:F3", "'Intake'!A4:F4"]);
    let found = google.adapter.look_up(&rows).await.unwrap();
    let equal = |range: &str| Finding::OneEqual { range: range.into() };
    assert_eq!(found, places.iter().map(|range| equal(range)).collect::<Vec<_>>());
    assert_eq!(google.adapter.look_up(&[row(4, "never appended")]).await, Ok(vec![Finding::None]));
    assert_eq!(google.rows()[1][3], json!("=1+1"));
}

#[tokio::test]
async fn a_tab_is_reached_by_any_name_it_can_have() {
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
        "'quoted'",
        "A!B",
        "a+b&c=d",
        "..",
    ] {
        let google = google(tab).await;
        let first = row(1, "words");
        let places = google.appended(std::slice::from_ref(&first)).await;
        let quoted = tab.replace('\'', "''");
        assert_eq!(places, [format!("'{quoted}'!A2:F2")]);
        let found = google.adapter.look_up(&[first]).await.unwrap();
        assert!(matches!(&found[0], Finding::OneEqual { .. }), "{tab}: {found:?}");
        assert_eq!((google.rows().len(), google.sheets.rows("First").len()), (2, 1), "{tab}");
    }
}

#[tokio::test]
async fn another_header_stops_the_sheet_until_it_is_mended() {
    let google = google("Intake").await;
    let swapped = ["reference", "confirmed_at", "summary", "request_type", "contact", "chat_id"];
    google.sheets.set_header("Intake", &swapped);
    let refused = google.adapter.ready(1).await.unwrap_err();
    assert!(matches!(&refused, NotApplied::Halt(_)), "{refused:?}");
    let outcome = google.adapter.append(&[row(1, "words")]).await;
    assert_eq!(outcome, AppendOutcome::NotApplied(refused));
    assert!(matches!(google.adapter.look_up(&[row(1, "words")]).await, Err(NotApplied::Halt(_))));
    assert_eq!(google.sheets.write_requests().len(), 0);
    google.sheets.set_header("Intake", &HEADER);
    google.appended(&[row(1, "words")]).await;

    // Renamed away, and an empty column pushed in.
    google.sheets.rename_tab("Intake", "Outtake");
    let outcome = google.adapter.append(&[row(2, "words")]).await;
    assert!(matches!(outcome, AppendOutcome::NotApplied(NotApplied::Halt(_))), "{outcome:?}");
    google.sheets.rename_tab("Outtake", "Intake");
    google.sheets.insert_column("Intake", "A");
    let outcome = google.adapter.append(&[row(2, "words")]).await;
    assert!(matches!(outcome, AppendOutcome::NotApplied(NotApplied::Halt(_))), "{outcome:?}");
    assert!(matches!(google.adapter.look_up(&[row(1, "words")]).await, Err(NotApplied::Halt(_))));
}

#[tokio::test]
async fn a_revoked_token_is_replaced_and_a_refused_key_halts() {
    let google = google("Intake").await;
    google.appended(&[row(1, "words")]).await;
    google.sheets.token().revoke_all();
    google.appended(&[row(2, "words")]).await;
    assert_eq!((google.rows().len(), google.sheets.token().requests().len()), (3, 2));
    // 401 whatever the token: once more with a fresh one, then no more.
    google.sheets.from_now_on(On::Appends, Behaviour::unauthenticated());
    let before = google.sheets.write_requests().len();
    let outcome = google.adapter.append(&[row(3, "words")]).await;
    assert_eq!(outcome, AppendOutcome::NotApplied(halt("unauthenticated")));
    assert_eq!(google.sheets.write_requests().len(), before + 2);
    google.sheets.heal();
    google.sheets.token().from_now_on(Behaviour::invalid_grant());
    let outcome = google.adapter.append(&[row(3, "words")]).await;
    assert_eq!(outcome, AppendOutcome::NotApplied(halt("credentials_refused")));
    google.sheets.heal();
    google.appended(&[row(3, "words")]).await;
    assert_eq!(google.rows().len(), 4);
}

/// The kinds of requests for tokens so far.
fn asked(google: &Google) -> Vec<Kind> {
    google.sheets.token().requests().iter().map(|seen| seen.kind).collect()
}

#[tokio::test]
async fn an_aws_role_opens_the_sheet_without_a_key_and_keeps_what_it_borrowed_for_an_hour() {
    let google = google_without_a_key().await;
    for number in 1..=3 {
        google.appended(&[row(number, "words")]).await;
    }
    assert_eq!(asked(&google), [Kind::Federation, Kind::Impersonation]);
    // A minute before its end it is not used any more; the next request for one is signed with the new date.
    google.clock.turn(3_539_000);
    google.appended(&[row(4, "words")]).await;
    assert_eq!(asked(&google).len(), 2);
    google.clock.turn(1_000);
    google.appended(&[row(5, "words")]).await;
    assert_eq!(asked(&google)[2..], [Kind::Federation, Kind::Impersonation]);
    // Revoked meanwhile: both steps again, and the row goes once.
    google.sheets.token().revoke_all();
    google.appended(&[row(6, "words")]).await;
    assert_eq!((asked(&google).len(), google.rows().len()), (6, 7));
}

#[tokio::test]
async fn each_step_to_a_borrowed_token_fails_by_its_own_name_and_nothing_is_appended() {
    let google = google_without_a_key().await;
    let again = |cause: &str| NotApplied::TryAgain(Cause::new(cause));
    for (on, behaviour, expected) in [
        (On::Federations, Behaviour::rejected_by_the_attribute_condition(), halt("federation_refused")),
        (On::Impersonations, Behaviour::lending_denied(), halt("impersonation_refused")),
        (On::Federations, Behaviour::fails(503, FailureBody::Json), again("federation_http_503")),
        (On::Impersonations, Behaviour::fails(500, FailureBody::Html), again("impersonation_http_500")),
        (On::Federations, Behaviour::hangs_up(), again("federation_cut")),
        (On::Impersonations, Behaviour::hangs_up(), again("impersonation_cut")),
        (On::Federations, Behaviour::serves_body_cut_to(20), again("federation_unreadable_answer")),
        (On::Impersonations, Behaviour::serves_body_cut_to(20), again("impersonation_unreadable_answer")),
        (
            On::Federations,
            Behaviour::quota_exhausted(),
            NotApplied::Busy { cause: Cause::new("federation_http_429"), retry_after_seconds: None },
        ),
        (
            On::Impersonations,
            Behaviour::quota_exhausted(),
            NotApplied::Busy { cause: Cause::new("impersonation_http_429"), retry_after_seconds: None },
        ),
    ] {
        google.sheets.next(on, behaviour);
        let outcome = google.adapter.append(&[row(1, "words")]).await;
        assert_eq!(outcome, AppendOutcome::NotApplied(expected.clone()));
        assert_eq!(google.adapter.ready(1).await, Ok(()), "after {expected:?}");
        google.sheets.token().revoke_all();
        google.clock.turn(3_600_000);
    }
    assert_eq!((google.sheets.write_requests().len(), google.rows().len()), (0, 1));
}

#[tokio::test]
async fn two_hundred_rows_are_one_request_and_a_hundred_are_found_in_one_look() {
    let google = google("Intake").await;
    let rows: Vec<Row> = (0..200).map(|number| row(number, "the same words")).collect();
    let places = google.appended(&rows).await;
    assert_eq!((google.sheets.write_requests().len(), google.rows().len()), (1, 201));
    assert_eq!(places.last().map(String::as_str), Some("'Intake'!A201:F201"));
    let reads = google.sheets.read_requests().len();
    let found = google.adapter.look_up(&rows[100..]).await.unwrap();
    let expected: Vec<Finding> =
        places[100..].iter().map(|range| Finding::OneEqual { range: range.clone() }).collect();
    assert_eq!(found, expected);
    let looked = google.sheets.read_requests().len() - reads;
    assert!(looked <= 3, "{looked} requests for one look");
}

#[tokio::test]
async fn what_people_did_to_the_rows_is_told_apart() {
    let google = google("Intake").await;
    let rows: Vec<Row> = (1..=5).map(|number| row(number, &format!("words {number}"))).collect();
    google.appended(&rows).await;
    // The first stays, the second is changed, the third copied, the fourth deleted; the fifth became shorter words.
    let mut changed = google.rows()[2].clone();
    changed[3] = json!("other words");
    google.sheets.put_row("Intake", 3, &changed);
    google.sheets.put_row("Intake", 7, &google.rows()[3].clone());
    google.sheets.delete_row("Intake", 5);
    google.sheets.sort_by_column("Intake", "D");
    let found = google.adapter.look_up(&rows).await.unwrap();
    assert!(matches!(&found[0], Finding::OneEqual { .. }), "{found:?}");
    assert!(matches!(&found[1], Finding::OneDiffers { .. }), "{found:?}");
    assert_eq!(found[2], Finding::Several { rows: 2 });
    assert_eq!(found[3], Finding::None);
    assert!(matches!(&found[4], Finding::OneEqual { .. }), "{found:?}");
}

#[tokio::test]
async fn exactly_the_row_that_was_found_is_deleted_wherever_it_stands() {
    for (tab, ours) in [("Intake", 1), ("Jon's 50% #1", 2), ("CRM26", 3)] {
        let google = google(tab).await;
        let rows: Vec<Row> = (1..=3).map(|number| row(number, &format!("words {number}"))).collect();
        google.appended(&rows).await;
        let before = google.rows();
        let place = google.adapter.place(&rows[ours - 1]).await.unwrap();
        let quoted = tab.replace('\'', "''");
        assert_eq!(place.range(), format!("'{quoted}'!A{0}:F{0}", ours + 1));
        let untouched = After { gone: false, others_are_there: true, missing: vec![] };
        assert_eq!(google.adapter.look_after(&place).await, Ok(untouched));
        assert_eq!(google.adapter.delete(&place).await, Deletion::Answered);
        let all_well = After { gone: true, others_are_there: true, missing: vec![] };
        assert_eq!(google.adapter.look_after(&place).await, Ok(all_well.clone()));
        let mut expected = before;
        expected.remove(ours);
        assert_eq!((google.rows(), google.sheets.rows("First").len()), (expected, 1));
        // The next enquiry in its place is nobody's loss.
        google.appended(&[row(4, "words 4")]).await;
        assert_eq!(google.adapter.look_after(&place).await, Ok(all_well));
        // Another row that goes is.
        google.sheets.delete_row(tab, 2);
        assert_eq!(google.adapter.look_after(&place).await.map(|after| after.others_are_there), Ok(false));
    }
}

#[tokio::test]
async fn a_row_that_is_not_exactly_one_and_equal_has_no_place() {
    let google = google("Intake").await;
    let ours = row(1, "words");
    assert_eq!(google.adapter.place(&ours).await, Err(Finding::None));
    google.appended(&[ours.clone(), row(2, "words")]).await;
    let equal = google.rows()[1].clone();
    let mut changed = equal.clone();
    changed[4] = json!("Ann");
    google.sheets.put_row("Intake", 2, &changed);
    assert_eq!(
        google.adapter.place(&ours).await,
        Err(Finding::OneDiffers { range: "'Intake'!A2:F2".into() })
    );
    google.sheets.put_row("Intake", 2, &equal);
    google.sheets.put_row("Intake", 4, &equal);
    assert_eq!(google.adapter.place(&ours).await, Err(Finding::Several { rows: 2 }));
    google.sheets.delete_row("Intake", 4);
    assert!(google.adapter.place(&ours).await.is_ok());
    google.sheets.next(On::Reads, Behaviour::fails(500, FailureBody::Json));
    assert!(matches!(google.adapter.place(&ours).await, Err(Finding::Unreadable(_))));
    google.sheets.insert_column("Intake", "A");
    assert!(matches!(google.adapter.place(&ours).await, Err(Finding::Unreadable(_))));
}

#[tokio::test]
async fn a_deletion_is_sent_once_and_its_answer_is_not_believed() {
    let google = google("Intake").await;
    let ours = row(1, "words");
    let only_row_left = Behaviour::answers(
        400,
        vec![("content-type".into(), "application/json; charset=UTF-8".into())],
        r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid requests[0].deleteDimension: Sorry, it is not possible to delete all non-frozen rows."}}"#,
    );
    let unknown = |cause: &str| Deletion::Unknown(Cause::new(cause));
    for (behaviour, expected, gone) in [
        (Behaviour::writes_then_hangs_up(), unknown("cut"), true),
        (Behaviour::writes_then_fails(503, FailureBody::Html), unknown("http_503"), true),
        (Behaviour::writes_then_answers_empty(), Deletion::Answered, true),
        (Behaviour::hangs_up(), unknown("cut"), false),
        (Behaviour::fails(408, FailureBody::Html), unknown("http_408"), false),
        (Behaviour::permission_denied(), Deletion::NotApplied(halt("permission_denied")), false),
        (only_row_left, Deletion::NotApplied(halt("only_row_left")), false),
    ] {
        if google.rows().len() == 1 {
            google.appended(std::slice::from_ref(&ours)).await;
        }
        let place = google.adapter.place(&ours).await.unwrap();
        let sent = || google.sheets.requests().iter().filter(|seen| seen.kind == Kind::BatchUpdate).count();
        let before = sent();
        google.sheets.next(On::Changes, behaviour);
        assert_eq!(google.adapter.delete(&place).await, expected);
        assert_eq!(sent() - before, 1);
        let after = After { gone, others_are_there: true, missing: vec![] };
        assert_eq!(google.adapter.look_after(&place).await, Ok(after), "{expected:?}");
    }
}
