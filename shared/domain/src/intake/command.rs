//! The commands a customer may type. Anything else, even with a slash in front, is text.

/// A command for us, or for another bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `/start` (with or without payload) and `/new`.
    New,
    Cancel,
    Help,
    /// With what stood behind it.
    Status(Option<String>),
    ForAnotherBot,
}

impl Command {
    /// The command that `text` begins with. Outer blanks do not count; a command in the middle of a text is text.
    #[must_use]
    pub fn parse(text: &str, username: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let word = words.next()?.strip_prefix('/')?;
        let (name, bot) = word.split_once('@').map_or((word, None), |(name, bot)| (name, Some(bot)));
        // Whatever another bot's commands are: none of them is an enquiry.
        if bot.is_some_and(|bot| is_a_bots_name(bot) && !bot.eq_ignore_ascii_case(username))
            && !name.is_empty()
        {
            return Some(Self::ForAnotherBot);
        }
        if bot.is_some_and(|bot| !bot.eq_ignore_ascii_case(username)) {
            return None;
        }
        Some(match name.to_ascii_lowercase().as_str() {
            "start" | "new" => Self::New,
            "cancel" => Self::Cancel,
            "help" => Self::Help,
            "status" => Self::Status(words.next().map(str::to_owned)),
            _ => return None,
        })
    }
}

/// Five to 32 letters, digits and underscores, with `bot` at the end (Bot API, BotFather's rules).
fn is_a_bots_name(name: &str) -> bool {
    (5..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.to_ascii_lowercase().ends_with("bot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_commands_are_known_in_any_case_and_with_our_name() {
        let parse = |text| Command::parse(text, "OurBot");
        for text in ["/start", "/start@OurBot", "/START@ourbot", "/start abc", "/new", " /new ", "/start\n"] {
            assert_eq!(parse(text), Some(Command::New), "{text:?}");
        }
        for text in ["/cancel", "/cancel\n", " /cancel"] {
            assert_eq!(parse(text), Some(Command::Cancel), "{text:?}");
        }
        // Another bot's commands, known to us or not.
        for text in ["/start@OtherBot", "/weather@OtherBot", "/cancelled@other_bot Kiel"] {
            assert_eq!(parse(text), Some(Command::ForAnotherBot), "{text:?}");
        }
        assert_eq!(parse("/status DK-1"), Some(Command::Status(Some("DK-1".into()))));
    }

    #[test]
    fn a_text_that_only_looks_like_a_command_stays_text() {
        for text in [
            "/cancelled",
            "please /cancel it",
            "/",
            "cancel",
            "",
            "/@OurBot",
            "/@OtherBot",
            "//cancel",
            "/weather@OurBot",
            "/home@work",
            "/start@home",
        ] {
            assert_eq!(Command::parse(text, "OurBot"), None, "{text:?}");
        }
    }
}
