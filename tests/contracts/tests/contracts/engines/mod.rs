//! What Docket needs of DynamoDB and SQS, asked of the embedded engines.
//!
//! Every rule of the design rests on one of these answers, so a new version of an engine that answers otherwise
//! must fail here and not as a riddle in a scenario. All tests share one pair of engines, under prefixes of their
//! own, as worlds do.

mod conditions;
mod indexes;
mod limits;
mod queues;
mod transactions;

use std::net::TcpStream;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use docket_world::engines::{Engines, Item, Tables};
use tokio::sync::OnceCell;

/// The engines of all tests in this binary.
pub(crate) async fn shared() -> &'static Engines {
    static ENGINES: OnceCell<Engines> = OnceCell::const_new();
    ENGINES.get_or_init(Engines::start).await
}

/// Tables that nobody else has, and a client for them.
async fn tables(prefix: &str) -> (Client, Tables) {
    let engines = shared().await;
    (engines.dynamodb_client(), engines.tables(prefix).await)
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

async fn put(client: &Client, table: &str, attributes: &[(&str, AttributeValue)]) {
    let item = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
}

async fn get(client: &Client, table: &str, reference: &str) -> Option<Item> {
    let request = client.get_item().table_name(table).key("reference", text(reference)).consistent_read(true);
    request.send().await.unwrap().item
}

#[tokio::test]
async fn dropped_engines_answer_nobody() {
    let engines = Engines::start().await;
    let addresses = [engines.dynamodb_url(), engines.sqs_url()].map(|url| url.replace("http://", ""));
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_ok()));

    drop(engines);

    // The sockets close in the background, so give them a moment.
    let deadline = Instant::now() + Duration::from_secs(5);
    for address in &addresses {
        while TcpStream::connect(address).is_ok() {
            assert!(Instant::now() < deadline, "{address} still answers");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn engines_outlive_the_runtime_that_started_them() {
    let engines = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Engines::start())
    });
    let engines = engines.join().unwrap();

    let tables = engines.tables("after").await;

    assert_eq!(engines.all_items(&tables.submissions).await, []);
}

#[tokio::test]
async fn worlds_with_different_prefixes_do_not_see_each_other() {
    let (client, one) = tables("worlds-one").await;
    let (_, other) = tables("worlds-other").await;

    put(&client, &one.submissions, &[("reference", text("DK-1"))]).await;

    assert_eq!(shared().await.all_items(&one.submissions).await.len(), 1);
    assert_eq!(shared().await.all_items(&other.submissions).await.len(), 0);
}
