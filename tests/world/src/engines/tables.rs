//! The two tables, made as the contract page says, and a look at everything in them.
//!
//! Owns their keys, indexes and TTL settings in the world. Both indexes project keys only, on purpose: an index
//! read is a hint at which records to look at, and code that reads more from it than that fails here.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};

use super::Engines;

/// A stored item, attribute by attribute.
pub type Item = HashMap<String, AttributeValue>;

/// The names of one world's tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Key `reference`; indexes `due` and `reviews`.
    pub submissions: String,
    /// Key `chat_id`.
    pub conversations: String,
}

impl Engines {
    /// Creates the tables of one world, empty.
    ///
    /// # Panics
    /// When the engine refuses, for example because a world with this prefix exists.
    pub async fn tables(&self, prefix: &str) -> Tables {
        let client = self.dynamodb_client();
        let tables = Tables {
            submissions: format!("{prefix}-submissions"),
            conversations: format!("{prefix}-conversations"),
        };
        client
            .create_table()
            .table_name(&tables.submissions)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute("reference", ScalarAttributeType::S))
            .attribute_definitions(attribute("due_shard", ScalarAttributeType::S))
            .attribute_definitions(attribute("due_at", ScalarAttributeType::N))
            .attribute_definitions(attribute("review", ScalarAttributeType::S))
            .attribute_definitions(attribute("review_since", ScalarAttributeType::N))
            .key_schema(key("reference", KeyType::Hash))
            .global_secondary_indexes(index("due", "due_shard", "due_at"))
            .global_secondary_indexes(index("reviews", "review", "review_since"))
            .send()
            .await
            .expect("the submissions table is created");
        client
            .create_table()
            .table_name(&tables.conversations)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute("chat_id", ScalarAttributeType::N))
            .key_schema(key("chat_id", KeyType::Hash))
            .send()
            .await
            .expect("the conversations table is created");
        for table in [&tables.submissions, &tables.conversations] {
            expire_by_ttl(&client, table).await;
        }
        tables
    }

    /// Every item of a table, in no order, for checks that look at the whole world.
    ///
    /// # Panics
    /// When the table cannot be read: a check must not pass on half of it.
    pub async fn all_items(&self, table: &str) -> Vec<Item> {
        self.dynamodb_client()
            .scan()
            .table_name(table)
            .consistent_read(true)
            .into_paginator()
            .items()
            .send()
            .collect::<Result<_, _>>()
            .await
            .expect("the table can be read to its end")
    }
}

async fn expire_by_ttl(client: &Client, table: &str) {
    let setting = TimeToLiveSpecification::builder()
        .attribute_name("expires_at")
        .enabled(true)
        .build()
        .expect("both fields are set");
    client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(setting)
        .send()
        .await
        .expect("TTL is enabled");
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(kind)
        .build()
        .expect("both fields are set")
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("both fields are set")
}

fn index(name: &str, partition: &str, sort: &str) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .key_schema(key(partition, KeyType::Hash))
        .key_schema(key(sort, KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
        .build()
        .expect("name and keys are set")
}
