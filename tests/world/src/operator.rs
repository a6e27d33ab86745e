//! What the operator's command needs in order to find a world: the settings that a deployment's stack would give out, and the
//! way to this machine's AWS.

use crate::sheets::ROLE;
use crate::wire::Side;
use crate::workers::{BOT_ID, BOT_TOKEN, SPREADSHEET_ID, WEBHOOK_SECRET};
use crate::world::World;

impl World {
    /// Names and values, but for the addresses that Telegram calls and is called at.
    #[must_use]
    pub fn settings_of_the_operator(&self) -> Vec<(&'static str, String)> {
        let mut settings: Vec<(&'static str, String)> =
            ROLE.map(|(name, value)| (name, value.to_owned())).into();
        settings.extend([
            ("AWS_ENDPOINT_URL", self.engines.dynamodb_url().to_owned()),
            ("SUBMISSIONS_TABLE", self.tables.submissions.clone()),
            ("CONVERSATIONS_TABLE", self.tables.conversations.clone()),
            ("TELEGRAM_BOT", format!("OurBot:{BOT_ID}")),
            ("WEBHOOK_SECRET", WEBHOOK_SECRET.to_owned()),
            ("BOT_TOKEN", BOT_TOKEN.to_owned()),
            ("GOOGLE_CREDENTIALS", self.google_credentials().to_owned()),
            ("SPREADSHEET_ID", SPREADSHEET_ID.to_owned()),
            ("SHEET_NAME", self.settings().tab.clone()),
            ("SHEETS_ENDPOINT", self.url("writer", Side::Sheets)),
        ]);
        settings
    }
}
