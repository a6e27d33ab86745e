//! The main path: what every enquiry goes through when nothing goes wrong.

use docket_domain::status::{AckState, Evidence, WriteState};
use docket_world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_enquiry_is_in_the_sheet_once_and_its_customer_hears_of_it() {
    let mut world = World::start().await;
    let ann = world.customer(7_100_000_001, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    world.work().await;

    let row: Vec<String> = world.rows()[0].iter().map(|cell| cell.as_str().unwrap().to_owned()).collect();
    assert_eq!(
        row,
        [reference.as_str(), "2026-03-01T09:15:00Z", "A quote", "New gutters, please.", "Ann", "7100000001"]
    );
    assert_eq!(world.acknowledgements(7_100_000_001), [format!("Your enquiry {reference} is recorded.")]);
    let record = world.record(&reference).await;
    let range = "'Intake'!A2:F2".to_owned();
    assert_eq!(record.write.state, WriteState::Confirmed { evidence: Evidence::AppendAnswer { range } });
    assert!(matches!(
        record.acknowledgement.as_ref().unwrap().state,
        AckState::Confirmed { message_id: Some(_) }
    ));
    assert!(record.finished());
    assert_eq!(world.telegram.silent_refusals(), Vec::<String>::new());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_enquiries_of_one_chat_with_the_same_words_are_two_rows_and_two_messages() {
    let mut world = World::start().await;
    let ann = world.customer(7_100_000_001, "Ann");
    let first = world.submit(&ann, "A quote", "The same words.").await;
    let second = world.submit(&ann, "A quote", "The same words.").await;
    world.settle().await;

    assert_ne!(first, second);
    assert_eq!((world.rows_of(&first), world.rows_of(&second), world.rows().len()), (1, 1, 2));
    assert_eq!(world.acknowledgements(7_100_000_001).len(), 2);
    world.check_rules().await;
}
