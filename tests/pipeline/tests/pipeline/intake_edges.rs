//! What customers send besides what they are asked for: stickers, commands for others, markup, endless texts, enormous ids;
//! and what a chat is told when its stored draft cannot be read.

use std::collections::HashMap;

use docket_domain::metric::Metric;
use docket_world::World;
use docket_world::engines::Item;
use docket_world::telegram::Customer;
use docket_world::world::http_event;
use serde_json::{Value, json};

use super::intake::{CANCELLED, EXPIRED};
use super::store_item::{number, text};

const CHAT: i64 = 7_100_000_001;
const RESET: &str =
    "Your unfinished enquiry could not be read any more and was dropped. Send /new to start again.";
const CHOOSE: &str = "What is your enquiry about? Please choose:";
const NO_DRAFT: &str = "Send /new to start an enquiry.";

/// The customer's chat at one step of the conversation.
async fn at_step(world: &mut World, ann: &Customer, step: &str) {
    if step == "no draft" {
        return;
    }
    world.say(ann.text("/new")).await;
    if step != "choosing" {
        world.say(ann.press_button("A quote")).await;
    }
    if step == "card" {
        world.say(ann.text("Ten gutters.")).await;
    }
}

const STEPS: [&str; 4] = ["no draft", "choosing", "writing", "card"];

/// Everything a person can send that holds no text, in the private chat.
fn without_text(ann: &Customer) -> Vec<Value> {
    let mut updates = vec![
        ann.sticker(),
        ann.photo_with_caption("Ten gutters, as on the picture."),
        ann.voice(),
        ann.poll(),
        ann.contact(),
        ann.location(),
        ann.dice(),
    ];
    let fields = [
        "animation",
        "audio",
        "document",
        "game",
        "paid_media",
        "story",
        "venue",
        "video",
        "video_note",
        "checklist",
        "a_kind_of_the_future",
    ];
    updates.extend(fields.map(|field| ann.message_with(json!({ field: {"file_id": "AgAD"} }))));
    updates
}

/// Updates that concern no private chat's conversation at all.
fn of_no_concern(ann: &Customer) -> Vec<Value> {
    let group = ann.in_group(-1_002_000_000_001, "Roofers");
    let small_group = ann.in_group(-5, "Roofers");
    let mut channel_post = group.text("/new");
    let post = channel_post["message"].take();
    let mut updates = vec![
        group.text("/new"),
        group.text_in_thread("/new", 1, true),
        small_group.text("/new@OurBot"),
        small_group.new_chat_members(),
        small_group.migrate_to_chat(-1_002_000_000_009),
        group.migrate_from_chat(-5),
        group.press("type:1:quote", 1),
        ann.press_inline("type:1:quote", "AAAA"),
        ann.message_with(json!({"pinned_message": {"message_id": 1}})),
        ann.message_with(json!({"message_auto_delete_timer_changed": {"message_auto_delete_time": 86_400}})),
        json!({"update_id": 1, "channel_post": post}),
        json!({"update_id": 2, "edited_channel_post": post}),
    ];
    let me = json!({"id": CHAT, "is_bot": false, "first_name": "Ann"});
    let chat = json!({"id": CHAT, "type": "private", "first_name": "Ann"});
    let member = json!({"chat": chat, "from": me, "date": 1, "old_chat_member": {"user": me, "status": "member"},
        "new_chat_member": {"user": me, "status": "kicked"}});
    for (kind, content) in [
        ("my_chat_member", member.clone()),
        ("chat_member", member),
        ("chat_join_request", json!({"chat": chat, "from": me})),
        ("inline_query", json!({"id": "1", "from": me, "query": "/new", "offset": ""})),
        ("chosen_inline_result", json!({"result_id": "1", "from": me, "query": "/new"})),
        ("poll", json!({"id": "1", "question": "?"})),
        ("poll_answer", json!({"poll_id": "1", "user": me, "option_ids": [0]})),
        ("pre_checkout_query", json!({"id": "1", "from": me})),
        ("message_reaction", json!({"chat": chat, "message_id": 1, "user": me})),
        ("business_message", json!({"message_id": 1, "chat": chat, "from": me, "text": "/new"})),
        ("a_kind_of_the_future", json!({"chat": chat, "from": me, "text": "/new"})),
    ] {
        updates.push(json!({"update_id": 3, kind: content}));
    }
    updates
}

#[tokio::test(flavor = "multi_thread")]
async fn what_holds_no_text_is_accepted_and_changes_no_step_of_the_conversation() {
    let mut world = World::start().await;
    for (number, step) in STEPS.into_iter().enumerate() {
        let ann = world.customer(CHAT + i64::try_from(number).unwrap(), "Ann");
        at_step(&mut world, &ann, step).await;
        let before = world.conversation(ann.chat_id()).await;
        for update in without_text(&ann) {
            let answer = world.deliver_again(&update).await;
            assert_eq!(answer.status, 200, "{step}: {update}");
            assert_eq!(answer.json()["method"], "sendMessage", "one hint: {update}");
        }
        assert_eq!(world.conversation(ann.chat_id()).await, before, "{step}");
        // The next text is taken at once.
        if step == "writing" {
            world.say(ann.text("Twelve gutters.")).await;
            assert!(ann.chat().last_card().unwrap().text.contains("Twelve gutters."));
        }
        if step == "card" {
            assert!(
                ann.chat().last_words().unwrap().contains("Ten gutters."),
                "the card hangs below the hint"
            );
        }
    }
    assert!(world.records().await.is_empty());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_that_concern_no_private_chat_are_accepted_in_silence_and_without_a_look_at_the_store() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    at_step(&mut world, &ann, "writing").await;
    let before = world.conversation(CHAT).await;
    world.wire.clear_log();
    let updates = of_no_concern(&ann);
    let count = updates.len();
    for update in updates {
        let answer = world.deliver_again(&update).await;
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{update}");
    }
    assert!(world.wire.calls().is_empty(), "{:?}", world.wire.calls());
    assert_eq!(world.recorder().sum(Metric::Ignored), f64::from(u32::try_from(count).unwrap()));
    assert_eq!(world.conversation(CHAT).await, before);
    // Neither the private chat nor its owner is held up.
    world.say(ann.text("Twelve gutters.")).await;
    world.say(ann.press_button("Confirm")).await;
    world.settle().await;
    assert_eq!(world.rows().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_concern_no_draft_are_accepted_in_silence() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let new = ann.text("/new");
    let old = new["message"]["message_id"].as_i64().unwrap();
    world.say(new).await;
    for step in ["choosing", "writing", "card"] {
        match step {
            "writing" => drop(world.say(ann.press_button("A quote")).await),
            "card" => drop(world.say(ann.text("Ten gutters.")).await),
            _ => {}
        }
        let before = world.conversation(CHAT).await;
        let answer = world.deliver_again(&ann.edit(old, "/cancel")).await;
        assert_eq!((answer.status, answer.words()), (200, String::new()), "{step}");
        assert_eq!(world.conversation(CHAT).await, before, "{step}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_beyond_32_bits_and_negative_ones_are_stored_shown_and_answered_unchanged() {
    let mut world = World::start().await;
    for id in [7_100_000_001, 4_503_599_627_370_495, 9_007_199_254_740_993, -1_002_000_000_001, -5] {
        let ann = world.customer(id, "Ann");
        let reference = world.submit(&ann, "A quote", "Ten gutters.").await;
        world.settle().await;
        assert_eq!(world.record(&reference).await.submission.chat_id.0, id);
        let item = world.items().await.into_iter().find(|item| item["reference"] == text(reference.as_str()));
        assert_eq!(item.unwrap()["chat_id"], number(&id.to_string()));
        assert_eq!(world.rows().last().unwrap()[5], id.to_string());
        assert_eq!(world.acknowledgements(id).len(), 1, "the message went to {id}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_known_with_our_name_in_any_case_and_nothing_else_is_a_command() {
    let mut world = World::start().await;
    for (number, (command, told)) in [
        ("/start", CHOOSE),
        ("/start@OurBot", CHOOSE),
        ("/START@ourbot", CHOOSE),
        ("/start abc", CHOOSE),
        ("/new\n", CHOOSE),
        (" /new", CHOOSE),
        ("/start@OtherBot", ""),
        ("/cancel@OtherBot", ""),
        ("/cancel", "There is no open enquiry. Send /new to start one."),
        ("/cancelled", NO_DRAFT),
        ("hello", NO_DRAFT),
    ]
    .into_iter()
    .enumerate()
    {
        let ann = world.customer(CHAT + i64::try_from(number).unwrap(), "Ann");
        assert_eq!(world.deliver_again(&ann.text(command)).await.words(), told, "{command:?}");
    }

    let ann = world.customer(CHAT - 1, "Ann");
    for (words, is_summary) in [
        ("/cancelled", true),
        ("please /cancel the old one and make it new", true),
        ("/cancel\n", false),
        (" /cancel", false),
        ("/cancel@OtherBot", false),
    ] {
        at_step(&mut world, &ann, "writing").await;
        let told = world.deliver_again(&ann.text(words)).await.words();
        if is_summary {
            assert!(told.contains(words), "{words:?}: {told}");
        } else {
            assert_eq!(told, if words.contains('@') { "" } else { CANCELLED }, "{words:?}");
        }
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_tells_each_chat_of_its_own_enquiries_only() {
    let mut world = World::start().await;
    let (ann, bea) = (world.customer(CHAT, "Ann"), world.customer(CHAT + 1, "Bea"));
    let reference = world.submit(&ann, "A quote", "Ten gutters.").await;
    let loosely = reference.as_str().to_lowercase().replace('-', "");
    let unknown = "I know no enquiry of yours with that reference.";
    let usage = "Please send the reference too: /status DK-8M4T-K2QX-7RZ9";
    let waiting = format!("{reference} is received and not yet recorded.");
    let own = format!("/status {reference}");
    for (who, asked, told) in [
        (&ann, own.as_str(), waiting.as_str()),
        (&ann, &format!("/status@OurBot {loosely}"), &waiting),
        (&bea, &own, unknown),
        (&bea, "/status DK-8M4T-K2QX-7RZ9", unknown),
        (&ann, "/status", usage),
        (&ann, "/status DK-8M4T", usage),
        (&ann, "/status _*[`", usage),
        (&ann, "/status@OtherBot", ""),
    ] {
        assert_eq!(world.deliver_again(&who.text(asked)).await.words(), told, "{asked}");
    }
    world.settle().await;
    assert_eq!(world.deliver_again(&ann.text(&own)).await.words(), format!("{reference} is recorded."));
    // Asking does not disturb a draft.
    at_step(&mut world, &bea, "writing").await;
    world.say(bea.text(&own)).await;
    world.say(bea.text("Twelve gutters.")).await;
    world.say(bea.press_button("Confirm")).await;
    world.settle().await;
    assert_eq!(world.rows().len(), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_in_words_and_names_is_recorded_to_the_letter() {
    let mut world = World::start().await;
    let words = "test_1:beta *x [a](b) <b> & \\ ` _ =HYPERLINK(\"http://x.test\") {reference}\nline 2";
    for (number, name) in ["O_Neil*", "<b>Ann</b>", "[Ann](tg://user?id=1)", "=1+1", "Ann `{reference}`"]
        .into_iter()
        .enumerate()
    {
        let id = CHAT + i64::try_from(number).unwrap();
        let ann = world.telegram.customer(id, name, Some("o_neil"));
        world.write_card(&ann, "A quote", words).await;
        assert!(ann.chat().last_card().unwrap().text.contains(words), "{name}");
        world.say(ann.press_button("Confirm")).await;
        world.settle().await;
        let row = world.rows().pop().unwrap();
        assert_eq!((row[3].as_str(), row[4].as_str()), (Some(words), Some(&*format!("{name} (@o_neil)"))));
        assert_eq!(world.acknowledgements(id).len(), 1);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_long_is_refused_with_both_numbers_and_the_longest_is_recorded_whole() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    at_step(&mut world, &ann, "writing").await;
    let family = "👨‍👩‍👧‍👦";
    for (words, units) in [
        ("😀".repeat(2_048), 4_096),
        ("a".repeat(4_096), 4_096),
        (format!("{}{}", "é".repeat(4_000), "😀".repeat(48)), 4_096),
        (family.repeat(300), 3_300),
        ("a".repeat(3_001), 3_001),
    ] {
        let told = world.deliver_again(&ann.text(&words)).await.words();
        assert!(told.contains(&format!("it has {units} characters, 3000 are allowed")), "{told}");
    }
    for empty in [" \n ", "\u{200b}\u{200d}", "\u{3164}"] {
        let told = world.deliver_again(&ann.text(empty)).await.words();
        assert!(told.contains("no visible text"), "{told}");
    }
    assert!(world.records().await.is_empty());
    world.say(ann.text("/cancel")).await;
    for longest in ["a".repeat(3_000), "😀".repeat(1_500), format!("{}{}", family.repeat(272), "é".repeat(8))]
    {
        assert_eq!(longest.encode_utf16().count(), 3_000);
        let reference = world.submit(&ann, "A quote", &longest).await;
        world.settle().await;
        assert_eq!(world.record(&reference).await.submission.summary.as_str(), longest);
        assert_eq!(world.rows().last().unwrap()[3], longest);
    }
    world.check_rules().await;
}

/// What another release, or an accident, may have left in place of a draft.
fn damages(whole: &Item) -> Vec<(&'static str, Item)> {
    let with = |name: &str, value| {
        let mut item = whole.clone();
        item.insert(name.to_owned(), value);
        item
    };
    let without = |name: &str| {
        let mut item = whole.clone();
        item.remove(name);
        item
    };
    let later = whole["conversation"].as_s().unwrap().replacen('{', r#"{"language":"de","#, 1);
    vec![
        ("another schema", with("schema", number("2"))),
        ("a schema in words", with("schema", text("1"))),
        ("no schema", without("schema")),
        ("no version", without("version")),
        ("a version in words", with("version", text("1"))),
        ("half a version", with("version", number("1.5"))),
        ("a negative version", with("version", number("-1"))),
        ("an endless version", with("version", number("100000000000000000000000000000000"))),
        ("the last version", with("version", number("18446744073709551615"))),
        ("no conversation", without("conversation")),
        ("garbage", with("conversation", text("garbage"))),
        ("half of it", with("conversation", text(&later[..later.len() / 2]))),
        ("a field of another release", with("conversation", text(&later))),
        ("a number", with("conversation", number("7"))),
        ("nothing but the key", HashMap::from([("chat_id".to_owned(), whole["chat_id"].clone())])),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_draft_that_cannot_be_read_is_reset_with_one_sentence_and_locks_no_chat() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let whole = world.conversation(CHAT).await.unwrap();
    let card = ann.chat().last_card().unwrap();
    let mut damaged = 0;
    for (what, item) in damages(&whole) {
        // At the last version there is, the draft itself is readable.
        let readable = what == "the last version";
        for update in [
            ann.text("hello?"),
            ann.text("/new"),
            ann.text("/cancel"),
            ann.sticker(),
            ann.edit(2, "Twelve gutters."),
            ann.press("type:1:quote", 2),
        ] {
            world.put_conversation(item.clone()).await;
            let answer = world.deliver_again(&update).await;
            assert_eq!(answer.status, 200, "{what}: {update}");
            if !readable {
                assert_eq!(answer.words(), RESET, "{what}: {update}");
            }
            // Once only: what follows is an ordinary chat.
            let next = world.deliver_again(&ann.text("/new")).await;
            assert_eq!((next.status, next.words().as_str()), (200, CHOOSE), "{what}: {update}");
            damaged += 1;
        }
        // A card of it confirms nothing that nobody can read; the chat goes on.
        if !readable {
            world.put_conversation(item.clone()).await;
            let confirm = ann.press(card.data_of("Confirm").unwrap(), card.message_id);
            assert_eq!(world.deliver_again(&confirm).await.words(), EXPIRED, "{what}");
        }
        // Two updates at once over the damage: both are answered, and neither locks the other out.
        world.put_conversation(item).await;
        for answer in world.say_at_once(&[ann.text("hello?"), ann.text("anybody?")]).await {
            assert_eq!(answer.status, 200, "{what}");
        }
        assert!(world.records().await.is_empty(), "{what}");
    }
    assert_eq!(damaged, 15 * 6);
    let reference = world.submit(&ann, "A quote", "Ten gutters.").await;
    world.settle().await;
    assert_eq!((world.rows().len(), world.rows_of(&reference)), (1, 1));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_enquiry_is_still_known_by_its_card_when_the_chat_cannot_be_read() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let confirm = ann.press_button("Confirm");
    world.say(confirm.clone()).await;
    let whole = world.conversation(CHAT).await.unwrap();
    for (what, item) in damages(&whole) {
        world.put_conversation(item).await;
        assert!(world.deliver_again(&confirm).await.words().contains("Already recorded"), "{what}");
    }
    world.settle().await;
    assert_eq!(world.rows().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_on_a_card_that_telegram_no_longer_shows_still_confirms() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let card = ann.chat().last_card().unwrap();
    world.say(ann.press_on_inaccessible(card.data_of("Confirm").unwrap(), card.message_id)).await;
    assert!(ann.chat().last_words().unwrap().contains("is received under the reference"));
    world.settle().await;
    assert_eq!(world.rows().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_press_records_nothing() {
    let mut world = World::start().await;
    let (ann, eve) = (world.customer(CHAT, "Ann"), world.customer(CHAT + 1, "Eve"));
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let card = ann.chat().last_card().unwrap();
    // In her own chat, and, which Telegram would not let her, in Ann's.
    let own = eve.press(card.data_of("Confirm").unwrap(), card.message_id);
    let mut foreign = ann.press_button("Confirm");
    foreign["callback_query"]["from"] = own["callback_query"]["from"].clone();
    for press in [own, foreign] {
        let event = http_event(press.to_string(), Some(docket_world::workers::WEBHOOK_SECRET));
        assert_eq!(world.deliver_event(event).await.unwrap().words(), EXPIRED);
    }
    assert!(world.records().await.is_empty());
    world.say(ann.press_button("Confirm")).await;
    assert_eq!(world.records().await.len(), 1);
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_written_in_a_thread_are_taken_and_nothing_is_sent_into_a_thread() {
    // The general topic, a topic, and what is only a reply: Telegram refuses some of these ids when they come back.
    for (thread_id, is_topic) in [(1, true), (1, false), (77, true), (77, false)] {
        let mut world = World::start().await;
        let ann = world.customer(CHAT, "Ann");
        world.say(ann.text_in_thread("/new", thread_id, is_topic)).await;
        world.say(ann.press_button("A quote")).await;
        world.say(ann.text_in_thread("New gutters, please.", thread_id, is_topic)).await;
        world.say(ann.press_button("Confirm")).await;
        world.settle().await;
        assert_eq!(world.acknowledgements(CHAT).len(), 1, "thread {thread_id}, topic {is_topic}");
        for answer in &world.webhook_answers {
            assert!(!String::from_utf8_lossy(&answer.body).contains("message_thread_id"));
        }
        for call in world.telegram.calls() {
            assert!(!call.parameters.to_string().contains("message_thread_id"), "{}", call.parameters);
        }
        world.check_rules().await;
    }
}
