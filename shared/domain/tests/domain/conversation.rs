//! Whole conversations in the customer's words: what is shown, what is recorded, and what is not.

use docket_domain::catalog::Catalog;
use docket_domain::intake::{Conversation, Sender, Stored, Update};
use docket_domain::limits::{BUTTON_BYTES_MAX, DRAFT_SECONDS, MESSAGE_UTF16_UNITS_MAX};
use docket_domain::outcome::NotApplied;
use docket_domain::reply::Reply;
use docket_domain::status::{By, WriteEvent, WriteOrder};
use docket_domain::submission::Contact;

use super::chat::{CHAT, Chat, ann, button_data, seen};
use super::samples::{LEASE_SECONDS, at, cause, range, token};

const EXPIRED: &str = "(notice) This button has expired and recorded nothing.";

/// The datum of Confirm on the newest card.
fn confirm_data(chat: &Chat) -> String {
    chat.said.iter().rev().find_map(|reply| button_data(reply, "Confirm")).expect("a card was shown")
}

fn press(chat: &mut Chat, data: &str) -> Reply {
    let update = chat.press_data(data);
    chat.takes(&update)
}

#[test]
fn from_start_to_confirm() {
    let mut chat = Chat::new();
    let transcript = [
        chat.says("/start"),
        chat.presses("A quote"),
        chat.says("Twelve chairs, please.\nBy May."),
        chat.presses("Confirm"),
        chat.presses("Confirm"),
    ];
    insta::assert_snapshot!(transcript.iter().map(seen).collect::<Vec<_>>().join("\n---\n"), @r"
    What is your enquiry about? Please choose:
    [A quote]
    [An appointment]
    [A question]
    ---
    (in place of the buttons) A quote: now please write your enquiry in one message.
    ---
    Please check your enquiry.

    About: A quote

    Twelve chairs, please.
    By May.

    Nothing is recorded until you press Confirm.
    [Confirm]
    [Edit] [Cancel]
    ---
    (in place of the buttons) Thank you. Your enquiry is received under the reference DK-VZSD-6P82-45A6. You get another message when it is recorded.
    ---
    (in place of the buttons) Already recorded: this enquiry is kept under the reference DK-VZSD-6P82-45A6. Nothing was added.
    ");
    let record = chat.records.values().next().expect("it was recorded");
    let submission = &record.submission;
    assert_eq!(chat.records.len(), 1);
    assert_eq!(submission.summary.as_str(), "Twelve chairs, please.\nBy May.");
    assert_eq!((submission.request_type.as_str(), submission.chat_id), ("A quote", CHAT));
    assert_eq!(submission.contact.as_str(), "Ann (@ann)");
    assert_eq!(submission.confirmed_at.to_string(), "2026-03-01T09:15:00Z");
    assert_eq!(submission.origin, "telegram/99/7100000001/12/4503599627370495");
    for (press, confirmed_it) in
        [("4503599627370495", true), ("503599627370495", false), ("12", false), ("", false)]
    {
        assert_eq!(submission.was_confirmed_by(press), confirmed_it, "{press}");
    }
    assert_eq!(chat.draft(), None);
}

#[test]
fn two_enquiries_with_the_same_words_are_two_references() {
    let mut chat = Chat::new();
    for _ in 0..2 {
        chat.says("/new");
        chat.presses("A quote");
        chat.says("Twelve chairs");
        chat.presses("Confirm");
    }
    assert_eq!(chat.recorded(), ["Twelve chairs", "Twelve chairs"]);
    let references = chat.references();
    assert_ne!(references[0], references[1]);
}

#[test]
fn an_update_delivered_again_at_any_later_step_records_nothing_more_and_gives_the_same_reference() {
    let mut chat = Chat::new();
    let mut updates: Vec<Update> = Vec::new();
    let mut states = Vec::new();
    for word in ["/start", "A quote", "Twelve chairs", "Confirm"] {
        let update = match word {
            "A quote" | "Confirm" => chat.press(word),
            text => chat.text(text),
        };
        chat.takes(&update);
        updates.push(update);
        states.push(chat.clone());
    }
    let reference = chat.references();
    for (step, state) in states.iter().enumerate() {
        for again in &updates[..=step] {
            // Once more, and as often as Telegram likes.
            let mut chat = state.clone();
            for _ in 0..5 {
                chat.takes(again);
            }
            // The rest of the conversation goes on, from the step it had reached.
            for update in &updates[step + 1..] {
                chat.takes(update);
            }
            assert_eq!(chat.references(), reference, "{again:?} after step {step}");
            assert_eq!(chat.recorded(), ["Twelve chairs"]);
        }
    }
}

#[test]
fn the_same_update_gives_the_same_answer_while_nothing_else_happened() {
    for word in ["/start", "A quote", "Twelve chairs", "/help", "/status"] {
        let mut chat = match word {
            "A quote" => {
                let mut chat = Chat::new();
                chat.says("/new");
                chat
            }
            "Twelve chairs" => Chat::writing(),
            _ => Chat::new(),
        };
        let update = if word == "A quote" { chat.press(word) } else { chat.text(word) };
        let first = chat.takes(&update);
        assert_eq!(chat.takes(&update), first, "{word}");
    }
}

#[test]
fn a_redelivered_text_of_a_confirmed_enquiry_begins_nothing() {
    let mut chat = Chat::card("Twelve chairs");
    let old = chat.text_again(chat.last_message_id(), "Twelve chairs");
    chat.presses("Confirm");
    assert_eq!(seen(&chat.takes(&old)), "(nothing)");
    assert_eq!(chat.open_card(), None);
    assert_eq!(chat.recorded(), ["Twelve chairs"]);
}

#[test]
fn a_redelivered_start_of_a_confirmed_enquiry_begins_no_other() {
    let mut chat = Chat::new();
    let start = chat.text("/start");
    chat.takes(&start);
    chat.presses("A quote");
    chat.says("Twelve chairs");
    chat.presses("Confirm");
    assert_eq!(seen(&chat.takes(&start)), "(nothing)");
    assert_eq!(chat.draft(), None);
    // Written anew, it does; and so does what carries no number of Telegram's.
    for begin in [chat.text("/start"), chat.text_again(-5, "/new")] {
        chat.takes(&begin);
        assert!(chat.draft().is_some());
        chat.says("/cancel");
    }
}

#[test]
fn a_redelivered_start_or_cancel_neither_restarts_nor_drops_a_newer_draft() {
    let mut chat = Chat::new();
    let (start, cancel) = (chat.text("/start"), chat.text("/cancel"));
    chat.says("/new");
    chat.presses("A quote");
    chat.says("Twelve chairs");
    for again in [start, cancel] {
        let reply = chat.takes(&again);
        assert!(button_data(&reply, "Confirm").is_some(), "{}", seen(&reply));
        assert_eq!(chat.open_card().as_deref(), Some("Twelve chairs"));
    }
}

#[test]
fn a_button_of_a_card_that_is_gone_records_nothing() {
    let with_old_card = |end: fn(&mut Chat)| {
        let mut chat = Chat::card("old words");
        let data = confirm_data(&chat);
        end(&mut chat);
        (chat, data)
    };
    type End = fn(&mut Chat);
    let ends: [(&str, End); 6] = [
        ("an edit of its message", |chat| {
            let update = chat.edited(chat.last_message_id(), "new words");
            chat.takes(&update);
        }),
        ("/cancel", |chat| {
            chat.says("/cancel");
        }),
        ("Cancel", |chat| {
            chat.presses("Cancel");
        }),
        ("Edit", |chat| {
            chat.presses("Edit");
        }),
        ("a newer draft", |chat| {
            chat.says("/cancel");
            chat.says("/new");
            chat.presses("A quote");
            chat.says("new words");
        }),
        ("its expiry", |chat| {
            chat.now = chat.now.plus_seconds(DRAFT_SECONDS);
        }),
    ];
    for (what, end) in ends {
        let (mut chat, data) = with_old_card(end);
        let before = chat.conversation();
        for verb in ["confirm", "edit", "cancel"] {
            let old = data.replacen("confirm", verb, 1);
            assert_eq!(seen(&press(&mut chat, &old)), EXPIRED, "{verb} after {what}");
        }
        assert!(chat.records.is_empty(), "after {what}");
        assert_eq!(chat.conversation(), before, "after {what}");
    }
}

#[test]
fn a_draft_lives_until_the_second_it_expires() {
    let mut chat = Chat::card("Twelve chairs");
    chat.now = at(i64::try_from(DRAFT_SECONDS).expect("a day") - 1);
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Twelve chairs"]);
    let mut late = Chat::card("Twelve chairs");
    late.now = at(i64::try_from(DRAFT_SECONDS).expect("a day"));
    assert_eq!(seen(&late.says("hello?")), "Send /new to start an enquiry.");
}

#[test]
fn an_edit_before_confirm_makes_a_new_card_and_the_old_button_is_dead() {
    let mut chat = Chat::card("Twelve chairs");
    let old = confirm_data(&chat);
    let edit = chat.edited(chat.last_message_id(), "Thirteen chairs");
    let card = chat.takes(&edit);
    insta::assert_snapshot!(seen(&card), @r"
    Please check your enquiry.

    About: A quote

    Thirteen chairs

    Nothing is recorded until you press Confirm.
    [Confirm]
    [Edit] [Cancel]
    ");
    assert_ne!(confirm_data(&chat), old);
    assert_eq!(seen(&press(&mut chat, &old)), EXPIRED);
    assert_eq!(chat.open_card().as_deref(), Some("Thirteen chairs"));
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Thirteen chairs"]);
    // The card that never was confirmed does not say that it was.
    assert_eq!(seen(&press(&mut chat, &old)), EXPIRED);
}

#[test]
fn an_edit_back_to_the_first_words_makes_the_first_button_good_again() {
    let mut chat = Chat::card("Twelve chairs");
    let (message, old) = (chat.last_message_id(), confirm_data(&chat));
    for words in ["Thirteen chairs", "Twelve chairs"] {
        let edit = chat.edited(message, words);
        chat.takes(&edit);
    }
    press(&mut chat, &old);
    assert_eq!(chat.recorded(), ["Twelve chairs"]);
}

#[test]
fn an_edit_after_confirm_changes_nothing_and_says_so() {
    let mut chat = Chat::card("Twelve chairs");
    let message = chat.last_message_id();
    chat.presses("Confirm");
    let edit = chat.edited(message, "Thirteen chairs");
    let before = (chat.conversation(), chat.records.clone());
    let reply = chat.takes(&edit);
    let reference = chat.references()[0].to_string();
    assert_eq!(
        seen(&reply).replace(&reference, "DK-…"),
        "Your enquiry DK-… was confirmed before; this edit changes nothing. Send /new for another enquiry."
    );
    assert_eq!((chat.conversation(), chat.records.clone()), before);
    // Nor does it disturb the next enquiry.
    chat.says("/new");
    chat.presses("A quote");
    chat.takes(&edit);
    assert_eq!(chat.open_card(), None);
}

#[test]
fn an_edit_of_any_other_message_is_passed_over() {
    let mut chat = Chat::card("Twelve chairs");
    let other = chat.edited(chat.last_message_id() - 1, "/new, edited");
    let later = chat.edited(chat.last_message_id() + 7, "no message of ours");
    for edit in [other, later] {
        assert_eq!(seen(&chat.takes(&edit)), "(nothing)");
        assert_eq!(chat.open_card().as_deref(), Some("Twelve chairs"));
    }
    let mut idle = Chat::new();
    let edit = idle.edited(5, "an old message");
    assert_eq!(seen(&idle.takes(&edit)), "(nothing)");
}

#[test]
fn a_refused_message_may_be_mended_by_an_edit() {
    let mut chat = Chat::writing();
    chat.says(&"x".repeat(3_001));
    let mended = chat.edited(chat.last_message_id(), "shorter");
    assert!(button_data(&chat.takes(&mended), "Confirm").is_some());
    assert_eq!(chat.open_card().as_deref(), Some("shorter"));
}

#[test]
fn an_edit_into_something_unusable_takes_the_card_back_and_the_next_message_counts() {
    for (unusable, words) in [("y".repeat(3_001), "it has 3001"), ("\u{200b}".to_owned(), "no visible text")]
    {
        let mut chat = Chat::card("Twelve chairs");
        let old = confirm_data(&chat);
        let edit = chat.edited(chat.last_message_id(), &unusable);
        let reply = seen(&chat.takes(&edit));
        assert!(reply.contains(words), "{reply}");
        assert_eq!(seen(&press(&mut chat, &old)), EXPIRED);
        chat.says("Ten chairs");
        chat.presses("Confirm");
        assert_eq!(chat.recorded(), ["Ten chairs"]);
    }
}

#[test]
fn edit_asks_for_the_text_anew_and_the_new_text_has_its_own_reference() {
    let mut chat = Chat::card("Twelve chairs");
    let old = confirm_data(&chat);
    assert_eq!(
        seen(&chat.presses("Edit")),
        "(in place of the buttons) A quote: please write your enquiry again in one message. The old text is dropped."
    );
    chat.says("Thirteen chairs");
    assert_ne!(confirm_data(&chat).split(':').nth(1), old.split(':').nth(1));
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Thirteen chairs"]);
    // Or by editing the message itself.
    let mut chat = Chat::card("Twelve chairs");
    let message = chat.last_message_id();
    chat.presses("Edit");
    let edit = chat.edited(message, "Fourteen chairs");
    chat.takes(&edit);
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Fourteen chairs"]);
}

#[test]
fn a_second_text_at_the_card_is_neither_joined_nor_swapped() {
    let mut chat = Chat::card("Twelve chairs");
    let reply = chat.says("And a table");
    insta::assert_snapshot!(seen(&reply), @r"
    Your last message is not part of the enquiry below. Press Edit to write it anew, or confirm it as it stands.

    Please check your enquiry.

    About: A quote

    Twelve chairs

    Nothing is recorded until you press Confirm.
    [Confirm]
    [Edit] [Cancel]
    ");
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Twelve chairs"]);
}

#[test]
fn a_message_without_text_gets_one_hint_and_changes_nothing() {
    let sticker = Update::NotText { chat_id: CHAT };
    let mut choosing = Chat::new();
    choosing.says("/new");
    for (mut chat, words) in [
        (Chat::new(), "Send /new to start an enquiry."),
        (choosing, "I can only take text."),
        (Chat::writing(), "I can only take text."),
        (Chat::card("Twelve chairs"), "is not part of the enquiry below"),
    ] {
        let before = chat.stored();
        let reply = seen(&chat.takes(&sticker));
        assert!(reply.contains(words), "{reply}");
        assert_eq!(chat.stored(), before);
    }
    let mut chat = Chat::writing();
    chat.takes(&sticker);
    chat.says("Twelve chairs");
    assert_eq!(chat.open_card().as_deref(), Some("Twelve chairs"), "the next text is taken at once");
}

#[test]
fn too_long_is_refused_with_both_numbers_and_the_whole_of_what_fits_is_recorded() {
    let mut chat = Chat::writing();
    let reply = chat.says(&"😀".repeat(1_501));
    assert_eq!(
        seen(&reply),
        "That message is too long: it has 3002 characters, 3000 are allowed. Nothing was kept; please shorten it and \
         send it again."
    );
    let fits = "😀".repeat(1_500);
    let card = chat.says(&fits);
    assert!(seen(&card).contains(&fits), "the whole text is on the card");
    assert!(seen(&card).encode_utf16().count() <= MESSAGE_UTF16_UNITS_MAX);
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), [fits.as_str()]);
}

#[test]
fn only_invisible_text_is_empty() {
    let mut chat = Chat::writing();
    for text in ["\u{200b}\u{200d}", "\u{3164}", "\u{2800}\n\u{feff}"] {
        assert_eq!(
            seen(&chat.says(text)),
            "That message has no visible text. Please write your enquiry in one message."
        );
    }
    assert_eq!(chat.open_card(), None);
}

#[test]
fn words_that_look_like_formulas_markup_or_placeholders_are_recorded_to_the_letter() {
    for text in [
        "=HYPERLINK(\"http://x.test\",\"y\")",
        "+49 30 0000",
        "test_1:beta *x [a](b) <b> & \\ ` O_Neil*",
        "{reference} {type} {summary}",
        "see /cancel and /new@OtherBot",
        "/cancelled",
        "l1\nl2 \"q\"",
    ] {
        let mut chat = Chat::card(text);
        let card = chat.said.last().map(seen).expect("a card");
        assert!(card.contains(text), "{card}");
        chat.presses("Confirm");
        assert_eq!(chat.recorded(), [text]);
    }
}

#[test]
fn somebody_elses_press_records_nothing() {
    let mut chat = Chat::card("Twelve chairs");
    for label in ["Confirm", "Edit", "Cancel"] {
        let Update::Button { callback_id, chat_id, message_id, data, .. } = chat.press(label) else {
            panic!("a press")
        };
        let stranger = Sender { id: 666, contact: Contact::of_user("Eve", None, None) };
        let foreign = Update::Button { callback_id, chat_id, message_id, from: stranger, data };
        assert_eq!(seen(&chat.takes(&foreign)), EXPIRED, "{label}");
    }
    assert!(chat.records.is_empty());
    assert_eq!(chat.open_card().as_deref(), Some("Twelve chairs"));
}

#[test]
fn buttons_that_we_never_built_say_that_they_expired() {
    let mut chat = Chat::card("Twelve chairs");
    let data = confirm_data(&chat);
    let before = chat.stored();
    for unknown in [
        "",
        ":",
        "::",
        "confirm",
        "confirm:",
        "confirm:DK-1:x",
        "type:x:quote",
        "type:11:",
        "type:11:unheard-of",
        "type:9223372036854775808:quote",
        "approve:DK-8M4T-K2QX-7RZ9:00000000",
        "confirm:DK-8M4T-K2QX-7RZ9:00000000",
        "🙂:🙂:🙂",
        &data.to_uppercase(),
        &format!("{data}0"),
        &data[..data.len() - 1],
        &data.to_lowercase(),
    ] {
        assert_eq!(seen(&press(&mut chat, unknown)), EXPIRED, "{unknown}");
    }
    assert_eq!(chat.stored(), before);
    assert!(chat.records.is_empty());
}

#[test]
fn a_button_whose_message_is_out_of_reach_is_answered_by_a_new_message() {
    let mut chat = Chat::card("Twelve chairs");
    let Update::Button { callback_id, chat_id, from, data, .. } = chat.press("Confirm") else {
        panic!("a press")
    };
    let reply = chat.takes(&Update::Button { callback_id, chat_id, message_id: None, from, data });
    assert!(matches!(&reply, Reply::Message { text, .. } if text.contains("is received under")), "{reply:?}");
}

#[test]
fn a_stored_draft_that_cannot_be_read_is_reset_with_one_sentence_and_locks_nobody_out() {
    let reset =
        "Your unfinished enquiry could not be read any more and was dropped. Send /new to start again.";
    let mut chat = Chat::card("Twelve chairs");
    chat.damage();
    assert_eq!(seen(&chat.says("hello?")), reset);
    chat.says("/new");
    chat.presses("A quote");
    chat.says("Thirteen chairs");
    chat.presses("Confirm");
    assert_eq!(chat.recorded(), ["Thirteen chairs"]);

    for update in ["/new", "/cancel", "/help", "a sticker", "an edit", "a type"] {
        let mut chat = Chat::card("Twelve chairs");
        chat.damage();
        let update = match update {
            "a sticker" => Update::NotText { chat_id: CHAT },
            "an edit" => chat.edited(chat.last_message_id(), "x"),
            "a type" => chat.press_data("type:11:quote"),
            command => chat.text(command),
        };
        assert_eq!(seen(&chat.takes(&update)), reset, "{update:?}");
        assert_eq!(chat.conversation(), Conversation::default());
    }
}

#[test]
fn a_card_still_tells_whether_it_was_recorded_when_the_draft_cannot_be_read() {
    let mut chat = Chat::card("Twelve chairs");
    let data = confirm_data(&chat);
    let mut unconfirmed = chat.clone();
    chat.presses("Confirm");
    chat.damage();
    assert!(seen(&press(&mut chat, &data)).contains("Already recorded"));
    unconfirmed.damage();
    assert_eq!(seen(&press(&mut unconfirmed, &data)), EXPIRED);
    assert!(unconfirmed.records.is_empty());
}

#[test]
fn a_catalogue_that_changes_meanwhile_changes_no_open_card() {
    let other = r#"{"request_types":[{"id":"other","label":"Something else"}]}"#;
    let other = Catalog::parse(other).expect("a catalogue");
    let mut chat = Chat::card("Twelve chairs");
    chat.catalog = other.clone();
    chat.presses("Confirm");
    let record = chat.records.values().next().expect("recorded");
    assert_eq!(record.submission.request_type, "A quote", "as the card said");

    let mut choosing = Chat::new();
    choosing.says("/new");
    choosing.catalog = other;
    assert_eq!(seen(&choosing.presses("A quote")), EXPIRED);
    // The customer is not stuck: whatever is written brings the new types.
    assert!(button_data(&choosing.says("hello?"), "Something else").is_some());
    choosing.presses("Something else");
    choosing.says("Twelve chairs");
    choosing.presses("Confirm");
    assert_eq!(choosing.recorded(), ["Twelve chairs"]);
}

#[test]
fn a_text_before_the_type_is_chosen_asks_for_the_type_first() {
    let mut chat = Chat::new();
    chat.says("/new");
    let reply = chat.says("Twelve chairs");
    insta::assert_snapshot!(seen(&reply), @r"
    Please choose first what your enquiry is about, then write it.
    [A quote]
    [An appointment]
    [A question]
    ");
    assert_eq!(chat.open_card(), None);
}

#[test]
fn a_type_may_be_chosen_again_until_the_summary_is_written() {
    let mut chat = Chat::new();
    chat.says("/new");
    let (quote, question) = (chat.press("A quote"), chat.press("A question"));
    chat.takes(&quote);
    chat.takes(&question);
    chat.says("When do you open?");
    assert_eq!(seen(&chat.takes(&quote)), EXPIRED);
    chat.presses("Confirm");
    let record = chat.records.values().next().expect("recorded");
    assert_eq!(record.submission.request_type, "A question");
}

#[test]
fn every_command_is_answered_at_every_step() {
    let mut choosing = Chat::new();
    choosing.says("/new");
    let mut shown = Vec::new();
    for (step, start) in [
        ("no draft", Chat::new()),
        ("choosing", choosing),
        ("writing", Chat::writing()),
        ("card", Chat::card("Twelve chairs")),
    ] {
        for command in
            ["/start", "/start abc", "/new@OurBot", "/cancel", "/help", "/status", "/start@OtherBot"]
        {
            let mut chat = start.clone();
            let reply = seen(&chat.says(command));
            let first_line = reply.lines().next().unwrap_or_default();
            let draft = if chat.draft().is_some() { "a draft" } else { "no draft" };
            shown.push(format!("{step}, {command}: {first_line} ({draft} then)"));
        }
    }
    insta::assert_snapshot!(shown.join("\n"), @r"
    no draft, /start: What is your enquiry about? Please choose: (a draft then)
    no draft, /start abc: What is your enquiry about? Please choose: (a draft then)
    no draft, /new@OurBot: What is your enquiry about? Please choose: (a draft then)
    no draft, /cancel: There is no open enquiry. Send /new to start one. (no draft then)
    no draft, /help: I take enquiries: /new starts one, /cancel drops it, /status REFERENCE tells how one stands. (no draft then)
    no draft, /status: Please send the reference too: /status DK-8M4T-K2QX-7RZ9 (no draft then)
    no draft, /start@OtherBot: (nothing) (no draft then)
    choosing, /start: What is your enquiry about? Please choose: (a draft then)
    choosing, /start abc: What is your enquiry about? Please choose: (a draft then)
    choosing, /new@OurBot: What is your enquiry about? Please choose: (a draft then)
    choosing, /cancel: Cancelled. Nothing was recorded. Send /new to start again. (no draft then)
    choosing, /help: I take enquiries: /new starts one, /cancel drops it, /status REFERENCE tells how one stands. (a draft then)
    choosing, /status: Please send the reference too: /status DK-8M4T-K2QX-7RZ9 (a draft then)
    choosing, /start@OtherBot: (nothing) (a draft then)
    writing, /start: What is your enquiry about? Please choose: (a draft then)
    writing, /start abc: What is your enquiry about? Please choose: (a draft then)
    writing, /new@OurBot: What is your enquiry about? Please choose: (a draft then)
    writing, /cancel: Cancelled. Nothing was recorded. Send /new to start again. (no draft then)
    writing, /help: I take enquiries: /new starts one, /cancel drops it, /status REFERENCE tells how one stands. (a draft then)
    writing, /status: Please send the reference too: /status DK-8M4T-K2QX-7RZ9 (a draft then)
    writing, /start@OtherBot: (nothing) (a draft then)
    card, /start: What is your enquiry about? Please choose: (a draft then)
    card, /start abc: What is your enquiry about? Please choose: (a draft then)
    card, /new@OurBot: What is your enquiry about? Please choose: (a draft then)
    card, /cancel: Cancelled. Nothing was recorded. Send /new to start again. (no draft then)
    card, /help: I take enquiries: /new starts one, /cancel drops it, /status REFERENCE tells how one stands. (a draft then)
    card, /status: Please send the reference too: /status DK-8M4T-K2QX-7RZ9 (a draft then)
    card, /start@OtherBot: (nothing) (a draft then)
    ");
}

#[test]
fn a_command_at_the_card_drops_it_only_when_it_says_so() {
    for (command, kept) in [
        ("/help", true),
        ("/status DK-8M4T-K2QX-7RZ9", true),
        ("/new@OtherBot", true),
        ("/new", false),
        ("/cancel", false),
    ] {
        let mut chat = Chat::card("Twelve chairs");
        chat.says(command);
        assert_eq!(chat.open_card().is_some(), kept, "{command}");
    }
}

#[test]
fn status_says_no_more_than_what_is_known() {
    let mut chat = Chat::card("Twelve chairs");
    chat.presses("Confirm");
    let reference = chat.references()[0].clone();
    let claim = WriteEvent::Claimed { token: token("t"), lease_seconds: LEASE_SECONDS };
    let unknown = WriteEvent::Unknown { cause: cause("timeout"), settle_seconds: 300 };
    let confirmed = WriteEvent::Applied { range: range() };
    let refused =
        WriteEvent::NotApplied { reason: NotApplied::CellAlone(cause("cell_refused")), jitter_seconds: 0 };
    let abandon = WriteEvent::Ordered(WriteOrder::Abandon { why: "spam".to_owned() });
    let mut said = Vec::new();
    for events in [
        vec![],
        vec![claim.clone()],
        vec![claim.clone(), unknown],
        vec![claim.clone(), confirmed],
        vec![claim, refused, abandon],
    ] {
        let mut chat = chat.clone();
        let mut record = chat.records[&reference].clone();
        for event in events {
            record = record.write_after(&event, at(0), &By::Writer).expect("possible");
        }
        chat.records.insert(reference.clone(), record);
        said.push(seen(&chat.says(&format!("/status {}", reference.as_str().to_lowercase()))));
    }
    let said = said.join("\n").replace(reference.as_str(), "DK-…");
    insta::assert_snapshot!(said, @r"
    DK-… is received and not yet recorded.
    DK-… is received; whether it is recorded is being checked.
    DK-… is received; whether it is recorded is being checked.
    DK-… is recorded.
    DK-… was closed by one of us; nothing more is recorded for it.
    ");
    assert_eq!(
        seen(&chat.says("/status DK-8M4T-K2QX-7RZ9")),
        "I know no enquiry of yours with that reference."
    );
    assert!(seen(&chat.says("/status whatever")).starts_with("Please send the reference too"));
}

#[test]
fn a_chat_of_any_id_is_recorded_unchanged() {
    for id in [7_100_000_001, -1_002_000_000_001, 4_503_599_627_370_495, 9_007_199_254_740_993, -5, i64::MIN]
    {
        let chat_id = docket_domain::submission::ChatId(id);
        let json = serde_json::to_string(&chat_id).expect("a number");
        assert_eq!(json, id.to_string());
        assert_eq!(serde_json::from_str::<docket_domain::submission::ChatId>(&json).ok(), Some(chat_id));
    }
}

#[test]
fn every_button_shown_is_1_to_64_bytes() {
    let types: Vec<String> =
        (0..20).map(|n| format!(r#"{{"id":"{n:0>24}","label":"{}"}}"#, "Ж".repeat(64))).collect();
    let catalog = format!(r#"{{"request_types":[{}]}}"#, types.join(","));
    let mut chat = Chat::new();
    chat.catalog = Catalog::parse(&catalog).expect("a catalogue at its bounds");
    chat.says("/new");
    chat.presses(&"Ж".repeat(64));
    chat.says(&"😀".repeat(1_500));
    let mut buttons = 0;
    for reply in &chat.said {
        let Reply::Message { buttons: rows, .. } = reply else { continue };
        for button in rows.iter().flatten() {
            assert!((1..=BUTTON_BYTES_MAX).contains(&button.data.len()), "{}", button.data);
            buttons += 1;
        }
    }
    assert_eq!(buttons, 23);
}

#[test]
fn a_conversation_of_every_step_is_read_back_as_it_was_written() {
    let mut chat = Chat::new();
    let mut written = Vec::new();
    chat.says("/new");
    written.push(chat.conversation());
    chat.presses("A quote");
    written.push(chat.conversation());
    chat.says("Twelve chairs");
    written.push(chat.conversation());
    chat.presses("Confirm");
    written.push(chat.conversation());
    let json: Vec<String> =
        written.iter().map(|conversation| serde_json::to_string(conversation).expect("JSON")).collect();
    insta::assert_snapshot!(json.join("\n"), @r#"
    {"draft":{"id":11,"sender_id":7100000001,"expires_at":"2026-03-02T09:15:00.123Z","step":{"step":"choosing_type"}},"confirmed":[]}
    {"draft":{"id":11,"sender_id":7100000001,"expires_at":"2026-03-02T09:15:00.123Z","step":{"step":"writing_summary","request_type":"A quote"}},"confirmed":[]}
    {"draft":{"id":11,"sender_id":7100000001,"expires_at":"2026-03-02T09:15:00.123Z","step":{"step":"card","request_type":"A quote","message_id":12,"summary":"Twelve chairs"}},"confirmed":[]}
    {"draft":null,"confirmed":[{"message_id":12,"reference":"DK-VZSD-6P82-45A6"}]}
    "#);
    for (json, conversation) in json.iter().zip(&written) {
        assert_eq!(serde_json::from_str::<Conversation>(json).ok().as_ref(), Some(conversation));
    }
}

#[test]
fn what_another_release_wrote_is_not_read_as_something_else() {
    let draft = |step: &str| {
        format!(
            r#"{{"draft":{{"id":11,"sender_id":7,"expires_at":"2026-03-02T09:15:00Z","step":{step}}},"confirmed":[]}}"#
        )
    };
    let card = r#""request_type":"A quote","message_id":12,"summary":"Twelve chairs""#;
    for readable in [
        r#"{"draft":null,"confirmed":[]}"#.to_owned(),
        draft(r#"{"step":"choosing_type"}"#),
        draft(r#"{"step":"writing_summary","request_type":"A quote"}"#),
        draft(&format!(r#"{{"step":"card",{card}}}"#)),
    ] {
        assert!(serde_json::from_str::<Conversation>(&readable).is_ok(), "{readable}");
    }
    for foreign in [
        "{}".to_owned(),
        "null".to_owned(),
        r#"{"draft":null}"#.to_owned(),
        r#"{"draft":null,"confirmed":[],"language":"de"}"#.to_owned(),
        r#"{"draft":null,"confirmed":[{"message_id":1,"reference":"DK-1"}]}"#.to_owned(),
        r#"{"draft":null,"confirmed":[{"message_id":1,"reference":"DK-8M4T-K2QX-7RZ9","more":1}]}"#
            .to_owned(),
        draft(r#"{"step":"choosing_type","language":"de"}"#),
        draft(r#"{"step":"writing_summary","request_type":"A quote","language":"de"}"#),
        draft(r#"{"step":"writing_summary"}"#),
        draft(r#"{"step":"uploading"}"#),
        draft("{}"),
        draft(&format!(r#"{{"step":"card",{card},"language":"de"}}"#)),
        draft(r#"{"step":"card","request_type":"A quote","message_id":12,"summary":""}"#),
        draft(r#"{"step":"card","request_type":"A quote","message_id":12,"summary":" not clean "}"#),
        draft(r#"{"step":"card","request_type":"A quote","message_id":"12","summary":"x"}"#),
        draft(r#"{"step":"card","request_type":"A quote","message_id":12.5,"summary":"x"}"#),
    ] {
        assert!(serde_json::from_str::<Conversation>(&foreign).is_err(), "{foreign}");
    }
}

#[test]
fn a_chat_that_was_never_seen_is_told_how_to_start() {
    let mut chat = Chat::new();
    assert_eq!(chat.stored(), Stored::Absent);
    assert_eq!(seen(&chat.says("hello")), "Send /new to start an enquiry.");
    assert_eq!(chat.stored(), Stored::Absent);
    assert_eq!(ann().id, CHAT.0);
}
