//! The addresses of the requests. A tab's name may hold anything, so it is always quoted for A1 notation and then
//! percent-encoded as a whole: `CRM26` is never a cell, and a slash or a `#` never ends the path.

use docket_domain::outcome::sheets::quoted;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but what RFC 3986 leaves unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Ranges read by one request at most.
const RANGES_PER_REQUEST_MAX: usize = 50;
/// Bytes of ranges in one URL at most: servers take 8 kB and more.
const RANGES_BYTES_MAX: usize = 6_000;

/// Which way the answer's lists run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Major {
    Rows,
    Columns,
}

/// One tab of one spreadsheet at one endpoint.
#[derive(Debug)]
pub(super) struct Address {
    spreadsheet: String,
    tab: String,
}

impl Address {
    pub(super) fn new(endpoint: &str, spreadsheet_id: &str, tab: &str) -> Self {
        let endpoint = endpoint.trim_end_matches('/');
        let id = utf8_percent_encode(spreadsheet_id, ENCODED);
        Self { spreadsheet: format!("{endpoint}/v4/spreadsheets/{id}"), tab: tab.to_owned() }
    }

    pub(super) fn tab(&self) -> &str {
        &self.tab
    }

    /// `spreadsheets.values.append`. Anchored at the header's first cell: with a bare tab name or an open range Google
    /// looks for a table near the last data, and the rows drift. INSERT_ROWS, since the default overwrites whatever
    /// stands below.
    pub(super) fn append(&self) -> String {
        format!(
            "{}/values/{}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS",
            self.spreadsheet,
            self.encoded("A1")
        )
    }

    /// `spreadsheets.values.batchGet` of several ranges of the tab, as the values that were stored, not as they look.
    pub(super) fn batch_get(&self, cells: &[String], major: Major) -> String {
        let major = match major {
            Major::Rows => "ROWS",
            Major::Columns => "COLUMNS",
        };
        let ranges: String = cells.iter().map(|cells| format!("&ranges={}", self.encoded(cells))).collect();
        format!(
            "{}/values:batchGet?majorDimension={major}&valueRenderOption=UNFORMATTED_VALUE{ranges}",
            self.spreadsheet
        )
    }

    /// `spreadsheets.get`, the names and sizes of all tabs and what is protected against whom.
    pub(super) fn properties(&self) -> String {
        format!(
            "{}?fields=sheets(properties(sheetId%2Ctitle%2CgridProperties(rowCount%2CcolumnCount))%2CprotectedRanges(range%2CrequestingUserCanEdit%2CwarningOnly))",
            self.spreadsheet
        )
    }

    /// `spreadsheets.values.get` of everything in the tab.
    pub(super) fn whole_tab(&self) -> String {
        let tab = utf8_percent_encode(&quoted(&self.tab), ENCODED).to_string();
        format!("{}/values/{tab}?majorDimension=ROWS&valueRenderOption=UNFORMATTED_VALUE", self.spreadsheet)
    }

    /// `spreadsheets.values.update` of these cells.
    pub(super) fn update(&self, cells: &str) -> String {
        format!("{}/values/{}?valueInputOption=RAW", self.spreadsheet, self.encoded(cells))
    }

    /// `spreadsheets.batchUpdate`.
    pub(super) fn batch_update(&self) -> String {
        format!("{}:batchUpdate", self.spreadsheet)
    }

    /// How many ranges one request may name without its URL growing too long.
    pub(super) fn ranges_per_request(&self) -> usize {
        let bytes_each = format!("&ranges={}", self.encoded("A9999999:F9999999")).len();
        (RANGES_BYTES_MAX / bytes_each).clamp(1, RANGES_PER_REQUEST_MAX)
    }

    fn encoded(&self, cells: &str) -> String {
        utf8_percent_encode(&format!("{}!{cells}", quoted(&self.tab)), ENCODED).to_string()
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;

    const ODD_TABS: [&str; 15] = [
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
        "a!b",
        "..",
        "x&ranges=y+z",
        "%27",
    ];

    fn address(tab: &str) -> Address {
        Address::new("http://127.0.0.1:9/", "1aB-c_D", tab)
    }

    #[test]
    fn the_range_is_quoted_and_encoded() {
        for (tab, range) in [
            ("CRM26", "%27CRM26%27%21A1"),
            ("Adv/Ent1", "%27Adv%2FEnt1%27%21A1"),
            ("Q1 Report", "%27Q1%20Report%27%21A1"),
            ("50% #1?", "%2750%25%20%231%3F%27%21A1"),
            ("a:append", "%27a%3Aappend%27%21A1"),
            ("Jon's", "%27Jon%27%27s%27%21A1"),
            ("Été 🌞", "%27%C3%89t%C3%A9%20%F0%9F%8C%9E%27%21A1"),
        ] {
            let expected = format!(
                "http://127.0.0.1:9/v4/spreadsheets/1aB-c_D/values/{range}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS"
            );
            assert_eq!(address(tab).append(), expected);
        }
    }

    #[test]
    fn every_tab_survives_a_real_url_parser() {
        for tab in ODD_TABS {
            let anchored = format!("{}!A1", quoted(tab));
            let url = reqwest::Url::parse(&address(tab).append()).expect("a URL");
            let segments: Vec<&str> = url.path_segments().expect("a path").collect();
            assert_eq!(segments[..4], ["v4", "spreadsheets", "1aB-c_D", "values"], "{tab}");
            assert_eq!(segments.len(), 5, "{tab}");
            let range = segments[4].strip_suffix(":append").expect("the last token");
            assert!(!range.contains(':'), "{tab}");
            assert_eq!(percent_decode_str(range).decode_utf8().expect("UTF-8"), anchored);
            assert_eq!(url.fragment(), None);
            assert_eq!(url.query(), Some("valueInputOption=RAW&insertDataOption=INSERT_ROWS"));

            let cells = ["A1:F1".to_owned(), "A:A".to_owned()];
            let url = reqwest::Url::parse(&address(tab).batch_get(&cells, Major::Columns)).expect("a URL");
            assert_eq!(url.path(), "/v4/spreadsheets/1aB-c_D/values:batchGet");
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let expected = [
                ("majorDimension", "COLUMNS".to_owned()),
                ("valueRenderOption", "UNFORMATTED_VALUE".to_owned()),
                ("ranges", format!("{}!A1:F1", quoted(tab))),
                ("ranges", format!("{}!A:A", quoted(tab))),
            ];
            assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value)));
        }
    }

    #[test]
    fn no_url_grows_too_long() {
        for tab in ["Intake", &"🌞".repeat(100), &"'".repeat(100)] {
            let address = address(tab);
            let rows = address.ranges_per_request();
            assert!((1..=RANGES_PER_REQUEST_MAX).contains(&rows));
            let cells: Vec<String> = (0..rows).map(|_| "A9999999:F9999999".to_owned()).collect();
            assert!(address.batch_get(&cells, Major::Rows).len() < RANGES_BYTES_MAX + 200, "{tab}");
        }
        assert_eq!(address("Intake").ranges_per_request(), 50);
    }
}
