//! Typed values in and out of an item: text, whole numbers, moments, maps.
//!
//! Strict, because a record that is half there must be noticed and not guessed. What is wrong is told by the
//! attribute's name alone: an item's contents are a customer's words.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::moment::Moment;
use docket_domain::ports::StoreError;
use docket_domain::status::Cause;

/// A stored item, attribute by attribute.
pub(super) type Item = HashMap<String, AttributeValue>;

/// Why an item cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault}:{attribute}")]
pub(super) struct Damaged {
    /// `missing`, `malformed`, or `contradiction`: it does not go with the rest of the item.
    pub(super) fault: &'static str,
    pub(super) attribute: &'static str,
}

impl Damaged {
    pub(super) fn missing(attribute: &'static str) -> Self {
        Self { fault: "missing", attribute }
    }

    pub(super) fn malformed(attribute: &'static str) -> Self {
        Self { fault: "malformed", attribute }
    }

    pub(super) fn contradiction(attribute: &'static str) -> Self {
        Self { fault: "contradiction", attribute }
    }
}

impl From<Damaged> for StoreError {
    fn from(damaged: Damaged) -> Self {
        Self::Unreadable(Cause::new(damaged.to_string()))
    }
}

pub(super) fn put(item: &mut Item, attribute: &str, value: AttributeValue) {
    item.insert(attribute.to_owned(), value);
}

pub(super) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// A whole number. There is no other way to write one here: no number ever passes through a float.
pub(super) fn number(value: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

/// RFC 3339, to the millisecond.
pub(super) fn moment(value: Moment) -> AttributeValue {
    text(value.to_string())
}

/// Epoch seconds, rounded up: what waits for this moment never starts early.
pub(super) fn seconds_up(value: Moment) -> AttributeValue {
    number(value.up_to_second().seconds())
}

pub(super) fn map<const N: usize>(fields: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The whole number in `value`, in the form that DynamoDB gives back: digits without leading zeros, sign only when
/// negative. Anything else (`1.0`, `-0`, `00042`, `1E+2`) was not written by us.
pub(super) fn integer<T: FromStr + Display>(value: &AttributeValue) -> Option<T> {
    let digits = value.as_n().ok()?;
    digits.parse().ok().filter(|parsed: &T| parsed.to_string() == *digits)
}

/// An item, or a map inside of one, being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'a> {
    fields: &'a Item,
    /// The attribute that is a map and holds these fields: what is wrong is told by its name.
    within: Option<&'static str>,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(item: &'a Item) -> Self {
        Self { fields: item, within: None }
    }

    /// The name under which a fault of `field` is told.
    fn name(&self, field: &'static str) -> &'static str {
        self.within.unwrap_or(field)
    }

    fn read<T>(
        &self,
        field: &'static str,
        as_type: impl FnOnce(&'a AttributeValue) -> Option<T>,
    ) -> Result<Option<T>, Damaged> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        as_type(value).map(Some).ok_or(Damaged::malformed(self.name(field)))
    }

    fn required<T>(&self, field: &'static str, value: Option<T>) -> Result<T, Damaged> {
        value.ok_or(Damaged::missing(self.name(field)))
    }

    pub(super) fn text(&self, field: &'static str) -> Result<&'a str, Damaged> {
        self.required(field, self.text_if_there(field)?)
    }

    pub(super) fn text_if_there(&self, field: &'static str) -> Result<Option<&'a str>, Damaged> {
        self.read(field, |value| value.as_s().ok().map(String::as_str))
    }

    pub(super) fn integer<T: FromStr + Display>(&self, field: &'static str) -> Result<T, Damaged> {
        self.required(field, self.integer_if_there(field)?)
    }

    pub(super) fn integer_if_there<T: FromStr + Display>(
        &self,
        field: &'static str,
    ) -> Result<Option<T>, Damaged> {
        self.read(field, integer)
    }

    /// Written as RFC 3339.
    pub(super) fn moment(&self, field: &'static str) -> Result<Moment, Damaged> {
        Moment::parse(self.text(field)?).ok_or(Damaged::malformed(self.name(field)))
    }

    pub(super) fn moment_if_there(&self, field: &'static str) -> Result<Option<Moment>, Damaged> {
        self.text_if_there(field)?
            .map(|text| Moment::parse(text).ok_or(Damaged::malformed(self.name(field))))
            .transpose()
    }

    /// Written as epoch seconds.
    pub(super) fn seconds(&self, field: &'static str) -> Result<Moment, Damaged> {
        let seconds: i64 = self.integer(field)?;
        let moment = Moment::from_seconds(seconds);
        // A moment is clamped to what can be written: one outside of it is not a moment of ours.
        if moment.seconds() == seconds { Ok(moment) } else { Err(Damaged::malformed(self.name(field))) }
    }

    pub(super) fn map(&self, field: &'static str) -> Result<Attributes<'a>, Damaged> {
        self.required(field, self.map_if_there(field)?)
    }

    pub(super) fn map_if_there(&self, field: &'static str) -> Result<Option<Attributes<'a>>, Damaged> {
        let name = self.name(field);
        let fields = self.read(field, |value| value.as_m().ok())?;
        Ok(fields.map(|fields| Attributes { fields, within: Some(name) }))
    }

    /// A list whose every element is a map.
    pub(super) fn maps(&self, field: &'static str) -> Result<Vec<Attributes<'a>>, Damaged> {
        let name = self.name(field);
        let elements = self.required(field, self.read(field, |value| value.as_l().ok())?)?;
        elements
            .iter()
            .map(|element| match element.as_m() {
                Ok(fields) => Ok(Attributes { fields, within: Some(name) }),
                Err(_) => Err(Damaged::malformed(name)),
            })
            .collect()
    }
}

/// How many bytes DynamoDB counts for an item, or a little more.
///
/// Names and texts in UTF-8, up to 21 bytes a number, 3 bytes a list or map and 1 for each of its elements.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
pub(super) fn bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &AttributeValue) -> usize {
    if let Ok(text) = value.as_s() {
        text.len()
    } else if let Ok(fields) = value.as_m() {
        3 + fields.len() + bytes(fields)
    } else if let Ok(elements) = value.as_l() {
        3 + elements.iter().map(|element| 1 + value_bytes(element)).sum::<usize>()
    } else {
        21
    }
}

/// Refuses an item before it is sent: DynamoDB takes 400 KB, and its embedded twins take more.
pub(super) fn check_size(item: &Item, bytes_max: usize) -> Result<(), StoreError> {
    if bytes(item) <= bytes_max { Ok(()) } else { Err(StoreError::NotApplied(Cause::new("item_too_large"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(value: AttributeValue) -> Item {
        HashMap::from([("n".to_owned(), value)])
    }

    #[test]
    fn a_number_is_read_only_in_its_normalised_form() {
        for (digits, read) in [
            ("42", Some(42)),
            ("-1002000000001", Some(-1_002_000_000_001)),
            ("9007199254740993", Some(9_007_199_254_740_993)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("00042", None),
            ("1.0", None),
            ("-0", None),
            ("+5", None),
            ("1E+2", None),
            ("1e2", None),
            (" 1", None),
            ("", None),
            ("9223372036854775808", None),
        ] {
            let item = item(AttributeValue::N(digits.into()));
            let expected = read.ok_or(Damaged::malformed("n"));
            assert_eq!(Attributes::of(&item).integer::<i64>("n"), expected, "{digits}");
        }
        let item = item(text("42"));
        assert_eq!(Attributes::of(&item).integer::<i64>("n"), Err(Damaged::malformed("n")));
        assert_eq!(Attributes::of(&item).integer::<i64>("m"), Err(Damaged::missing("m")));
    }

    #[test]
    fn what_is_wrong_is_told_by_the_attributes_name_and_not_by_its_contents() {
        let error = StoreError::from(Damaged::malformed("summary"));
        assert_eq!(error.to_string(), "a stored item cannot be read: malformed:summary");
    }

    #[test]
    fn an_item_is_counted_by_names_and_contents() {
        let counted = item(map([("ä", text("xyz")), ("l", AttributeValue::L(vec![text("12345")]))]));
        assert_eq!(bytes(&counted), 1 + 3 + 2 + (2 + 3) + (1 + 3 + 1 + 5));
        assert!(check_size(&counted, 21).is_ok());
        assert!(matches!(check_size(&counted, 20), Err(StoreError::NotApplied(_))));
    }
}
