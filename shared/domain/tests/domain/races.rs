//! Updates of one chat at the same moment: every interleaving of loading and storing ends as if they had come one
//! after the other, and no card ever confirms what it does not show.

use docket_domain::intake::{Conversation, Update};
use docket_domain::reference::Reference;
use docket_domain::reply::Reply;

use super::chat::{Chat, Turn, button_data, seen};

/// How a run ended, without what only counts.
#[derive(Debug, Clone, PartialEq)]
struct End {
    conversation: Conversation,
    recorded: Vec<(Reference, String)>,
    replies: Vec<Option<Reply>>,
}

#[derive(Debug, Clone)]
struct Run {
    chat: Chat,
    turns: Vec<Option<Turn>>,
    replies: Vec<Option<Reply>>,
    order: String,
}

impl Run {
    fn new(chat: &Chat, updates: usize) -> Self {
        Self {
            chat: chat.clone(),
            turns: vec![None; updates],
            replies: vec![None; updates],
            order: String::new(),
        }
    }

    /// The next half of one update: load and decide, or store and answer.
    fn step(&self, updates: &[Update], which: usize) -> Self {
        let mut next = self.clone();
        next.order.push_str(&format!("{which}"));
        match next.turns[which].take() {
            None => next.turns[which] = Some(next.chat.begin(&updates[which])),
            Some(turn) => next.replies[which] = next.chat.finish(turn),
        }
        next
    }

    fn end(&self) -> End {
        let recorded = self
            .chat
            .records
            .iter()
            .map(|(reference, record)| (reference.clone(), record.submission.summary.as_str().to_owned()))
            .collect();
        End { conversation: self.chat.conversation(), recorded, replies: self.replies.clone() }
    }
}

/// Every schedule of `updates` to its end.
fn all_runs(chat: &Chat, updates: &[Update]) -> Vec<Run> {
    let mut open = vec![Run::new(chat, updates.len())];
    let mut ended = Vec::new();
    while let Some(run) = open.pop() {
        assert!(run.order.len() < 40, "a loser never gets through: {}", run.order);
        let unanswered: Vec<usize> =
            (0..updates.len()).filter(|which| run.replies[*which].is_none()).collect();
        if unanswered.is_empty() {
            ended.push(run);
            continue;
        }
        open.extend(unanswered.into_iter().map(|which| run.step(updates, which)));
    }
    ended
}

/// The ends of all orders one after the other.
fn serial_ends(chat: &Chat, updates: &[Update]) -> Vec<End> {
    let orders: Vec<Vec<usize>> = match updates.len() {
        2 => vec![vec![0, 1], vec![1, 0]],
        3 => vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
        other => panic!("{other} updates"),
    };
    let run = |order: &Vec<usize>| {
        let start = Run::new(chat, updates.len());
        order.iter().fold(start, |run, which| run.step(updates, *which).step(updates, *which)).end()
    };
    orders.iter().map(run).collect()
}

/// Presses Confirm on every card ever shown: each records the words it shows, or nothing.
fn check_cards(run: &Run, what: &str) {
    let cards = run.chat.said.iter().filter(|reply| button_data(reply, "Confirm").is_some());
    for card in cards.cloned().collect::<Vec<_>>() {
        let mut chat = run.chat.clone();
        let before = chat.records.clone();
        let confirm = chat.press_data(&button_data(&card, "Confirm").expect("a card"));
        chat.takes(&confirm);
        for (reference, record) in &chat.records {
            if !before.contains_key(reference) {
                let words = record.submission.summary.as_str();
                assert!(seen(&card).contains(words), "{what}: a card confirmed what it does not show");
            }
        }
    }
}

fn check_all(start: &Chat, updates: &[Update], what: &str) -> usize {
    let serial = serial_ends(start, updates);
    let runs = all_runs(start, updates);
    for run in &runs {
        let end = run.end();
        assert!(serial.contains(&end), "{what} in the order {}: {end:#?}\nis none of {serial:#?}", run.order);
        check_cards(run, what);
    }
    runs.len()
}

fn all_pairs(start: &Chat, updates: &[(&str, Update)]) -> usize {
    let mut runs = 0;
    for (first_name, first) in updates {
        for (second_name, second) in updates {
            let pair = [first.clone(), second.clone()];
            runs += check_all(start, &pair, &format!("{first_name} and {second_name}"));
        }
    }
    runs
}

#[test]
fn two_updates_while_the_summary_is_awaited_end_as_one_after_the_other() {
    let mut chat = Chat::writing();
    let (a, b) = (chat.text("summary A"), chat.text("summary B"));
    let edited_a = chat.edited(chat.last_message_id() - 1, "mended words");
    let (cancel, new) = (chat.text("/cancel"), chat.text("/new"));
    let other_type = chat.press("A question");
    let updates = [
        ("summary A", a),
        ("summary B", b),
        ("the edit of A", edited_a),
        ("/cancel", cancel),
        ("/new", new),
        ("another type", other_type),
    ];
    let runs = all_pairs(&chat, &updates);
    assert!(runs >= 36 * 6, "{runs} schedules");
}

#[test]
fn two_updates_at_a_card_end_as_one_after_the_other() {
    let mut chat = Chat::card("summary A");
    let card_message = chat.last_message_id();
    let (confirm, edit, cancel) = (chat.press("Confirm"), chat.press("Edit"), chat.press("Cancel"));
    let edited = chat.edited(card_message, "mended words");
    let too_long = chat.edited(card_message, &"x".repeat(3_001));
    let redelivered = chat.text_again(card_message, "summary A");
    let (b, slash_cancel, new) = (chat.text("summary B"), chat.text("/cancel"), chat.text("/new"));
    let updates = [
        ("Confirm", confirm),
        ("Edit", edit),
        ("Cancel", cancel),
        ("an edited text", edited),
        ("a text edited too long", too_long),
        ("summary A again", redelivered),
        ("summary B", b),
        ("/cancel", slash_cancel),
        ("/new", new),
    ];
    let runs = all_pairs(&chat, &updates);
    assert!(runs >= 81 * 6, "{runs} schedules");
}

#[test]
fn two_types_chosen_at_once_end_as_one_of_them() {
    let mut chat = Chat::new();
    chat.says("/new");
    let updates = [
        ("a quote", chat.press("A quote")),
        ("a question", chat.press("A question")),
        ("/cancel", chat.text("/cancel")),
        ("a text", chat.text("too early")),
    ];
    all_pairs(&chat, &updates);
}

#[test]
fn of_confirm_and_cancel_at_once_exactly_one_wins_and_the_answers_say_which() {
    let chat = Chat::card("summary A");
    let updates = [chat.press("Confirm"), chat.press("Cancel")];
    let (mut confirmed, mut cancelled) = (0, 0);
    for run in all_runs(&chat, &updates) {
        let replies: Vec<String> = run.replies.iter().flatten().map(seen).collect();
        assert_eq!(run.chat.draft(), None);
        if run.chat.recorded() == ["summary A"] {
            confirmed += 1;
            assert!(replies[0].contains("is received under"), "{replies:?}");
            assert!(replies[1].contains("Already recorded"), "{replies:?}");
        } else {
            cancelled += 1;
            assert!(run.chat.records.is_empty());
            assert!(replies[0].contains("has expired and recorded nothing"), "{replies:?}");
            assert!(replies[1].contains("Cancelled. Nothing was recorded"), "{replies:?}");
        }
    }
    assert!(confirmed > 0 && cancelled > 0, "{confirmed} {cancelled}");
}

#[test]
fn a_double_tap_and_a_third_record_one_enquiry_and_the_losers_hear_so() {
    let chat = Chat::card("summary A");
    let confirm = chat.press("Confirm");
    for run in all_runs(&chat, &[confirm.clone(), confirm.clone(), confirm]) {
        assert_eq!(run.chat.recorded(), ["summary A"]);
        let replies: Vec<String> = run.replies.iter().flatten().map(seen).collect();
        let count = |words: &str| replies.iter().filter(|reply| reply.contains(words)).count();
        assert_eq!((count("is received under"), count("Already recorded")), (1, 2), "{replies:?}");
    }
}

#[test]
fn three_updates_at_a_card_end_as_one_after_the_other() {
    let mut chat = Chat::card("summary A");
    let edited = chat.edited(chat.last_message_id(), "mended words");
    let (confirm, cancel) = (chat.press("Confirm"), chat.press("Cancel"));
    let b = chat.text("summary B");
    check_all(&chat, &[confirm.clone(), cancel, edited.clone()], "Confirm, Cancel and an edited text");
    check_all(&chat, &[confirm, edited, b], "Confirm, an edited text and summary B");
}
