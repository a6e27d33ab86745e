//! What is said after a button was held against what is stored. No sentence claims more than what is durable.

use super::button::Press;
use crate::catalog::{Catalog, fill};
use crate::reference::Reference;
use crate::reply::Reply;

/// The submission is stored; its row is not in the sheet yet.
#[must_use]
pub fn received(catalog: &Catalog, press: &Press, reference: &Reference) -> Reply {
    press.settled(fill(&catalog.sentences.received, &[("reference", reference.as_str())]))
}

/// The same submission was stored before.
#[must_use]
pub fn already_recorded(catalog: &Catalog, press: &Press, reference: &Reference) -> Reply {
    press.settled(fill(&catalog.sentences.already_recorded, &[("reference", reference.as_str())]))
}

/// A person closed it without a row.
#[must_use]
pub fn closed(catalog: &Catalog, press: &Press, reference: &Reference) -> Reply {
    press.settled(fill(&catalog.sentences.status_closed, &[("reference", reference.as_str())]))
}

/// Something is stored under this reference that this release cannot read.
#[must_use]
pub fn being_checked(catalog: &Catalog, press: &Press, reference: &Reference) -> Reply {
    Reply::Notice { callback_id: press.callback_id.clone(), text: checking(catalog, reference) }
}

/// All that can be said of something that cannot be read.
#[must_use]
pub fn checking(catalog: &Catalog, reference: &Reference) -> String {
    fill(&catalog.sentences.status_checking, &[("reference", reference.as_str())])
}

/// Another content is stored under this reference.
#[must_use]
pub fn conflict(catalog: &Catalog, press: &Press, reference: &Reference) -> Reply {
    press.settled(fill(&catalog.sentences.conflict, &[("reference", reference.as_str())]))
}

/// The button belongs to nothing that is open or recorded.
#[must_use]
pub fn expired(catalog: &Catalog, press: &Press) -> Reply {
    Reply::Notice { callback_id: press.callback_id.clone(), text: catalog.sentences.expired.clone() }
}
