//! `docket audit` over a sheet and a table of a deployment that has run for years: it finds what does not fit, within bounds
//! of memory. The reading alone takes two minutes for a hundred thousand, by its own gentle pace, so that many are for whoever
//! asks (`cargo test --workspace --test pipeline -- --ignored large_audit`); every run takes what fewer need, and reckons.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use docket_domain::reference::Reference;
use docket_world::World;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::executables::environment_of_operator;
use crate::operator::{left_by, started};

/// What the command held at most, in KiB, when it audited so many rows and records and found the four that do not fit.
async fn peak_of_an_audit(count: usize) -> u64 {
    let mut world = World::start().await;
    let pattern =
        world.record_by_hand(7_100_000_001, &"Two hundred letters or so of a customer. ".repeat(5)).await;
    world.ring_for_the_write(std::slice::from_ref(&pattern)).await;
    world.settle().await;
    let item = world.items().await.into_iter().next().unwrap();
    let row = world.sheets.rows("Intake")[1].clone();
    let references: Vec<Reference> =
        (1..).take(count).map(|number| Reference::derive(1, 1, number)).collect();

    let client = world.engines.dynamodb_client();
    let put = |reference: &Reference| {
        let mut item = item.clone();
        item.insert("reference".into(), AttributeValue::S(reference.to_string()));
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let table = &world.tables.submissions;
    let (client, put) = (&client, &put);
    stream::iter(references.chunks(25))
        .for_each_concurrent(4, |chunk| async move {
            let put: Vec<WriteRequest> = chunk.iter().map(put).collect();
            let written = client.batch_write_item().request_items(table, put).send().await.unwrap();
            assert!(written.unprocessed_items().is_none_or(|left| left.is_empty()));
        })
        .await;
    let row_of = |reference: &str| {
        let mut row = row.clone();
        row[0] = json!(reference);
        row
    };
    for (number, reference) in references.iter().enumerate() {
        world.sheets.put_row("Intake", number + 3, &row_of(reference.as_str()));
    }
    // One gone, one changed, one doubled, one of nobody.
    let (changed, doubled) = (&references[count / 2], &references[count - 1]);
    let mut other = row_of(changed.as_str());
    other[3] = json!("other words");
    world.sheets.put_row("Intake", count / 2 + 3, &other);
    world.sheets.put_row("Intake", count + 3, &row_of(doubled.as_str()));
    let nobodys = "DK-8M4T-K2QX-7RZ9";
    let mut of_nobody = row_of(nobodys);
    of_nobody[1] = json!("2099-01-01T00:00:00Z");
    world.sheets.put_row("Intake", count + 4, &of_nobody);
    world.sheets.delete_row("Intake", 3);

    let following = world.clock.follow_real_time();
    let mut running = started(&environment_of_operator(&world), &["audit", "--json"]);
    let (mut peak, end) = (0, Instant::now() + Duration::from_secs(900));
    while running.lives() {
        peak = running.peak_memory_kib().unwrap_or(peak);
        assert!(Instant::now() < end, "{:?}", running.stderr());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ran = left_by(running.ended(Duration::from_secs(5)));
    following.abort();
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["records"], &report["rows"]), (&json!(count + 1), &json!(count + 2)));
    let found: BTreeMap<&str, &str> = report["oddities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|odd| (odd["kind"].as_str().unwrap(), odd["reference"].as_str().unwrap()))
        .collect();
    let planted = BTreeMap::from([
        ("row_gone", references[0].as_str()),
        ("row_differs", changed.as_str()),
        ("copies", doubled.as_str()),
        ("no_record", nobodys),
    ]);
    assert_eq!(found, planted);
    assert_eq!(report["equal"], json!(count + 1 - 3));
    world.is_not_checked("its records and rows are copies of one");
    peak
}

const KIB_MAX: u64 = 256 * 1_024;

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_takes_little_more_memory_for_five_times_as_many() {
    let few = peak_of_an_audit(1_000).await;
    let many = peak_of_an_audit(5_000).await;
    // What 4,000 more took, for the 95,000 that are missing.
    let of_a_hundred_thousand = many + many.saturating_sub(few) * 24;
    assert!(few > 0 && of_a_hundred_thousand < KIB_MAX, "{few} KiB for 1,000, {many} KiB for 5,000");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "four minutes"]
async fn an_audit_of_a_hundred_thousand_stays_below_256_mib() {
    let peak = peak_of_an_audit(100_000).await;
    assert!((1..KIB_MAX).contains(&peak), "{peak} KiB");
}
