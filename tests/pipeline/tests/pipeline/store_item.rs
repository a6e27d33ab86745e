//! Attribute values, for tests that write past Docket into its tables.

use aws_sdk_dynamodb::types::AttributeValue;

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// As DynamoDB writes numbers: in words.
pub(crate) fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}
