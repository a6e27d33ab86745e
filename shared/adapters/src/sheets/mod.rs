//! The Google Sheet of one deployment, over Google's Sheets API v4.
//!
//! It appends rows at most once each, reads them back by their reference, and keeps its hands off a tab whose header is
//! not ours. It decides nothing about records: what an answer means is the domain's, here is only what is asked, and how
//! often. It never asks for a write twice, but for the one case in which Google itself says that it executed nothing.

mod append;
mod astray;
mod credentials;
mod external_account;
mod caller_identity;
mod layout;
mod lookup;
mod read;
mod setup;
mod remove;
mod whole;
mod token;
mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use docket_domain::outcome::sheets::classify_failed_read;
use docket_domain::outcome::{AppendOutcome, Exchange, NotApplied};
use docket_domain::ports::{Clock, Sheet, WholeSheet};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{Cause, Finding};

pub use self::credentials::{Credentials, CredentialsError, ServiceAccount};
pub use self::external_account::ExternalAccount;
use self::layout::Layout;
pub use self::remove::{After, Deletion, Place};
pub use self::setup::{HeaderRow, OurTab, Survey, WORKBOOK_CELLS_MAX};
use self::token::Tokens;
use self::url::Address;
use crate::http::{Call, Deadline, Http, HttpUnavailable};

/// What a deployment says about its sheet.
pub struct SheetSettings {
    /// A base URL, without a slash at its end.
    pub endpoint: String,
    pub spreadsheet_id: String,
    /// The tab's name as Google shows it, any characters.
    pub tab: String,
    pub credentials: Credentials,
    /// Bounds one append with all that belongs to it: a fresh token, the header, a second POST after a 401.
    pub append_timeout_ms: u64,
    /// Bounds one look, however many requests it takes.
    pub read_timeout_ms: u64,
}

/// The sheet. One value serves one process; it remembers its token and when it has seen the header.
pub struct GoogleSheet<C> {
    http: Http,
    clock: C,
    tokens: Tokens,
    address: Address,
    layout: Layout,
    append_timeout_ms: u64,
    read_timeout_ms: u64,
}

impl<C> fmt::Debug for GoogleSheet<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogleSheet").field("tab", &self.address.tab()).finish_non_exhaustive()
    }
}

impl<C: Clock> GoogleSheet<C> {
    /// Connects to nothing yet. The clock tells how long a token may be used, and a header that was seen be trusted.
    pub fn new(settings: SheetSettings, clock: C) -> Result<Self, HttpUnavailable> {
        let SheetSettings { endpoint, spreadsheet_id, tab, credentials, append_timeout_ms, read_timeout_ms } =
            settings;
        Ok(Self {
            http: Http::new(append_timeout_ms.min(read_timeout_ms))?,
            clock,
            tokens: Tokens::new(credentials),
            address: Address::new(&endpoint, &spreadsheet_id, &tab),
            layout: Layout::default(),
            append_timeout_ms,
            read_timeout_ms,
        })
    }

    /// The address with which the spreadsheet has to be shared.
    #[must_use]
    pub fn account(&self) -> &str {
        self.tokens.account()
    }

    /// Sends a request with a token. Only after Google's own 401, which says that it was not executed, does it go once
    /// more, with a fresh token. `least` is the time that must be left when it goes.
    async fn authorized(
        &self,
        call: impl Fn() -> Call + Send + Sync,
        least: Duration,
        deadline: Deadline,
    ) -> Result<Exchange, NotApplied> {
        let mut repeated = false;
        loop {
            let token = self.tokens.get(&self.http, self.clock.now(), deadline).await?;
            if deadline.left() < least {
                return Err(NotApplied::TryAgain(Cause::new("no_time_left")));
            }
            let exchange = self.http.exchange(call().bearing(token.clone()), deadline).await;
            if !is_unauthenticated(&exchange) {
                return Ok(exchange);
            }
            self.tokens.forget(&token).await;
            if repeated {
                return Ok(exchange);
            }
            repeated = true;
        }
    }
}

/// A 401 that Google itself gave. A 401 of something between us proves nothing, and is not followed by a second request.
fn is_unauthenticated(exchange: &Exchange) -> bool {
    matches!(exchange, Exchange::Answered { status: 401, .. })
        && matches!(classify_failed_read(exchange), NotApplied::Halt(_))
}

impl<C: Clock> Sheet for GoogleSheet<C> {
    async fn ready(&self, rows: usize) -> Result<(), NotApplied> {
        self.ready_by(rows, Deadline::in_ms(self.read_timeout_ms)).await
    }

    async fn append(&self, rows: &[Row]) -> AppendOutcome {
        self.append_by(rows, Deadline::in_ms(self.append_timeout_ms)).await
    }

    async fn look_up(&self, rows: &[Row]) -> Result<Vec<Finding>, NotApplied> {
        self.look_up_by(rows, Deadline::in_ms(self.read_timeout_ms)).await
    }

    fn tab(&self) -> &str {
        self.address.tab()
    }
}

impl<C: Clock> WholeSheet for GoogleSheet<C> {
    async fn astray(
        &self,
        references: &BTreeSet<Reference>,
    ) -> Result<BTreeMap<Reference, Vec<String>>, NotApplied> {
        self.read_whole_tab_for(references).await
    }
}
