//! Telling the customer: what each answer of the Bot API leads to, and that nobody is told twice or too early.

use std::sync::Arc;

use docket_domain::limits::{CLAIMING_MS, MARKING_MS, Timing};
use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::status::{AckState, Acknowledgement, Cause, ReviewReason, WriteEvent, WriteState};
use docket_domain::status::{Finding, WriteOrder};
use docket_domain::submission::ChatId;
use docket_world::clock::TurnedClock;
use docket_world::engines::Engines;
use docket_world::event_source::Delivery;
use docket_world::telegram::FakeTelegram;
use docket_world::wire::Side;
use docket_world::{Settings, World};
use serde_json::{Value, json};

const CHAT: i64 = 7_100_000_001;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.timing.send_timeout_ms = 300;
    settings
}

async fn world() -> World {
    World::with(Arc::new(Engines::start().await), settings()).await
}

/// An enquiry whose row is in the sheet, and whose customer has heard nothing yet.
async fn written(world: &mut World, chat_id: i64) -> Reference {
    let reference = world.record_by_hand(chat_id, "New gutters, please.").await;
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.poll_writer().await;
    let record = world.record(&reference).await;
    assert!(matches!(record.write.state, WriteState::Confirmed { .. }), "{:?}", record.write);
    reference
}

async fn acknowledgement(world: &World, reference: &Reference) -> Acknowledgement {
    world.record(reference).await.acknowledgement.unwrap()
}

fn calls(world: &World) -> usize {
    world.wire.count(Side::Telegram, "sendMessage")
}

/// Sweeps now and then, for two weeks, with rings from nobody in between.
async fn two_weeks_pass(world: &mut World, reference: &Reference) {
    for seconds in [60, 600, 3_600, 86_400, 5 * 86_400, 7 * 86_400] {
        world.turn_seconds(seconds);
        world.ring_for_the_acknowledgement(std::slice::from_ref(reference)).await;
        world.sweep().await;
        world.work().await;
    }
}

async fn nothing_is_dead(world: &mut World) {
    assert_eq!(world.acknowledge_source.dead_letters().await, Vec::<String>::new());
    assert_eq!(world.write_source.dead_letters().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_message_completes_with_its_id_or_without_one() {
    let mut world = world().await;
    let first = written(&mut world, CHAT).await;
    world.poll_acknowledger().await;
    let second = written(&mut world, CHAT + 1).await;
    world.telegram.deliver_then(200, r#"{"ok":true}"#);
    world.poll_acknowledger().await;

    let sent = &world.telegram.messages(CHAT)[0];
    let state = acknowledgement(&world, &first).await.state;
    assert_eq!(state, AckState::Confirmed { message_id: Some(sent.message_id) });
    assert_eq!(acknowledgement(&world, &second).await.state, AckState::Confirmed { message_id: None });
    assert_eq!(sent.text, format!("Your enquiry {first} is recorded."));
    assert_eq!(world.recorder().sum(Metric::AckConfirmed), 2.0);
    two_weeks_pass(&mut world, &first).await;
    assert_eq!(calls(&world), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_plain_text_without_preview_or_thread() {
    let mut world = world().await;
    let reference = written(&mut world, CHAT).await;
    world.poll_acknowledger().await;
    assert_eq!(
        world.telegram.messages(CHAT)[0].raw,
        json!({
            "chat_id": CHAT,
            "text": format!("Your enquiry {reference} is recorded."),
            "link_preview_options": {"is_disabled": true},
        })
    );
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_refuses_is_asked_once_and_its_row_stays() {
    type Refusing = fn(&FakeTelegram, i64);
    let conditions: [(&str, Refusing); 5] = [
        ("http_403", FakeTelegram::block),
        ("http_403", FakeTelegram::kick),
        ("http_403", FakeTelegram::deactivate),
        ("http_400", FakeTelegram::chat_not_found),
        ("http_400", FakeTelegram::no_rights),
    ];
    let engines = Arc::new(Engines::start().await);
    for (cause, refuse) in conditions {
        let mut world = World::with(Arc::clone(&engines), settings()).await;
        let reference = written(&mut world, CHAT).await;
        refuse(&world.telegram, CHAT);
        world.poll_acknowledger().await;

        let record = world.record(&reference).await;
        let state = &record.acknowledgement.as_ref().unwrap().state;
        assert_eq!(*state, AckState::Refused { cause: Cause::new(cause) });
        assert!(record.finished() && matches!(record.write.state, WriteState::Confirmed { .. }));
        assert_eq!(world.recorder().sum(Metric::AckRefused), 1.0);
        assert_eq!(world.recorder().sum(Metric::ReviewOpened), 0.0);
        // Also when the chat could be written to again.
        world.telegram.heal();
        two_weeks_pass(&mut world, &reference).await;
        assert_eq!((calls(&world), world.rows_of(&reference)), (1, 1));
        nothing_is_dead(&mut world).await;
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_a_thread_that_nobody_named_is_final_as_any_other() {
    let mut world = world().await;
    let reference = written(&mut world, CHAT).await;
    let refusal = r#"{"ok":false,"error_code":400,"description":"Bad Request: message thread not found"}"#;
    world.telegram.answer_next(400, refusal);
    world.poll_acknowledger().await;

    let record = world.record(&reference).await;
    let state = &record.acknowledgement.as_ref().unwrap().state;
    assert_eq!(*state, AckState::Refused { cause: Cause::new("http_400") });
    assert!(record.finished() && matches!(record.write.state, WriteState::Confirmed { .. }));
    assert_eq!(world.recorder().sum(Metric::AckRefused), 1.0);
    // Not once more without a thread: none was named.
    two_weeks_pass(&mut world, &reference).await;
    assert_eq!((calls(&world), world.acknowledgements(CHAT).len()), (1, 0));
    assert!(world.telegram.calls()[0].parameters.get("message_thread_id").is_none());
    nothing_is_dead(&mut world).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_chat_among_five_costs_the_other_four_nothing() {
    let mut world = world().await;
    let mut references = Vec::new();
    for chat_id in CHAT..CHAT + 5 {
        references.push(written(&mut world, chat_id).await);
    }
    world.telegram.block(CHAT + 2);
    let polled = world.poll_acknowledger().await;
    assert_eq!((polled.delivered, polled.done, polled.returned), (5, 5, 0));
    for (number, reference) in references.iter().enumerate() {
        let state = acknowledgement(&world, reference).await.state;
        let told = matches!(state, AckState::Confirmed { .. });
        assert_eq!(told, number != 2, "{number}: {state:?}");
    }
    assert_eq!(calls(&world), 5);
    nothing_is_dead(&mut world).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_halts_everything_costs_no_try_and_heals() {
    let engines = Arc::new(Engines::start().await);
    for (status, description) in [(401, "Unauthorized"), (404, "Not Found")] {
        let mut world = World::with(Arc::clone(&engines), settings()).await;
        let references = [written(&mut world, CHAT).await, written(&mut world, CHAT + 1).await];
        let refusal = json!({"ok": false, "error_code": status, "description": description}).to_string();
        for _ in 0..100 {
            world.telegram.answer_next(status, &refusal);
        }
        world.poll_acknowledger().await;
        assert_eq!(calls(&world), 1, "the second would be refused as the first");
        assert_eq!(world.recorder().last(Metric::BotHalted), Some(1.0));
        let halted = acknowledgement(&world, &references[0]).await;
        let AckState::Pending { due_at, cause } = halted.state else { panic!("{halted:?}") };
        assert_eq!((due_at, halted.attempts), (world.now().plus_seconds(60).up_to_second(), 0));
        assert_eq!(cause, Some(Cause::new(format!("http_{status}"))));

        world.run_minutes(30).await;
        assert!(calls(&world) <= 32, "{} calls in half an hour", calls(&world));
        assert!(world.records().await.iter().all(|record| record.reviews().is_empty()));
        world.telegram.heal();
        world.settle().await;
        for reference in &references {
            let told = acknowledgement(&world, reference).await;
            assert!(matches!(told.state, AckState::Confirmed { .. }) && told.attempts == 1, "{told:?}");
        }
        assert_eq!(world.recorder().last(Metric::BotHalted), Some(0.0));
        nothing_is_dead(&mut world).await;
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_requests_is_waited_out_however_long_and_is_no_try() {
    let engines = Arc::new(Engines::start().await);
    let busy = |parameters: Value| {
        json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": parameters})
            .to_string()
    };
    for seconds in [3_u64, 901, 90_000] {
        let text = seconds.to_string();
        let header = [("retry-after", text.as_str())];
        let in_header: &[(&str, &str)] = &header;
        for (headers, body, expected) in [
            (&[] as &[(&str, &str)], busy(json!({"retry_after": seconds})), seconds),
            (in_header, "<html>".to_owned(), seconds),
            (in_header, busy(json!({})), seconds),
            // Nothing says for how long.
            (&[], "<html>".to_owned(), 60),
        ] {
            let mut world = World::with(Arc::clone(&engines), settings()).await;
            let reference = written(&mut world, CHAT).await;
            world.telegram.answer_next_with(429, headers, &body);
            let before = world.now();
            world.poll_acknowledger().await;
            let waiting = acknowledgement(&world, &reference).await;
            let AckState::Pending { due_at, .. } = waiting.state else { panic!("{waiting:?}") };
            assert_eq!((due_at, waiting.attempts), (before.plus_seconds(expected), 0));

            let left = i64::try_from(due_at.seconds_since(world.now())).unwrap();
            world.turn_seconds(left - 1);
            world.ring_for_the_acknowledgement(std::slice::from_ref(&reference)).await;
            world.sweep().await;
            world.work().await;
            assert_eq!(calls(&world), 1, "not sooner");
            world.turn_seconds(1);
            world.sweep().await;
            world.work().await;
            assert_eq!(calls(&world), 2);
            let told = acknowledgement(&world, &reference).await;
            assert!(matches!(told.state, AckState::Confirmed { .. }) && told.attempts == 1, "{told:?}");
            world.check_rules().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_must_wait_a_day_holds_up_the_others_for_a_minute_at_most() {
    let mut world = world().await;
    let slow = written(&mut world, CHAT).await;
    let others = [written(&mut world, CHAT + 1).await, written(&mut world, CHAT + 2).await];
    world.telegram.answer_next_with(429, &[("retry-after", "90000")], "<html>");
    world.poll_acknowledger().await;
    assert_eq!(calls(&world), 1, "Telegram asked us to be silent");
    world.turn_seconds(60);
    world.sweep().await;
    world.work().await;
    for reference in &others {
        let state = acknowledgement(&world, reference).await.state;
        assert!(matches!(state, AckState::Confirmed { .. }), "{state:?}");
    }
    assert!(matches!(acknowledgement(&world, &slow).await.state, AckState::Pending { .. }));
    world.settle().await;
    assert_eq!(world.acknowledgements(CHAT).len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_down_for_a_day_gives_nobody_up() {
    let mut world = world().await;
    let reference = written(&mut world, CHAT).await;
    world.cut_off("acknowledger", Side::Telegram);
    world.work().await;
    let end = world.now().plus_seconds(86_400);
    let mut tries = 0;
    while world.now() < end {
        let waiting = acknowledgement(&world, &reference).await;
        let AckState::Pending { due_at, cause } = waiting.state else { panic!("{waiting:?}") };
        assert_eq!(cause, Some(Cause::new("connect")));
        let pause = due_at.seconds_since(world.now());
        assert!((1..=901).contains(&pause), "a pause of {pause} s after {} tries", waiting.attempts);
        tries = waiting.attempts;
        world.turn_seconds(i64::try_from(pause).unwrap());
        world.sweep().await;
        world.work().await;
    }
    assert!(tries > 90, "{tries}");
    assert_eq!((calls(&world), world.recorder().sum(Metric::ReviewOpened)), (0, 0.0));
    world.reconnect();
    world.settle().await;
    assert!(matches!(acknowledgement(&world, &reference).await.state, AckState::Confirmed { .. }));
    assert_eq!(world.acknowledgements(CHAT).len(), 1);
    nothing_is_dead(&mut world).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_proves_nothing_is_a_persons_matter_and_no_second_message_leaves() {
    const INTERNAL: &str = r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#;
    const RESTART: &str = r#"{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}"#;
    type Answering = fn(&World);
    let answers: [(&str, usize, Answering); 13] = [
        ("http_500", 0, |world| world.telegram.answer_next(500, INTERNAL)),
        ("http_500", 1, |world| world.telegram.deliver_then(500, RESTART)),
        ("http_502", 0, |world| world.telegram.html_502()),
        ("http_503", 0, |world| world.telegram.answer_next(503, "")),
        ("timeout", 1, |world| world.telegram.deliver_then_never()),
        ("cut", 1, |world| world.telegram.deliver_then_hang_up()),
        ("cut", 1, |world| world.telegram.deliver_then_half(12)),
        ("unreadable_answer", 1, |world| world.telegram.deliver_then(200, "")),
        ("unreadable_answer", 1, |world| world.telegram.deliver_then(200, "<html>ok</html>")),
        ("unreadable_answer", 1, |world| world.telegram.deliver_then(200, r#"{"ok":tr"#)),
        ("unreadable_answer", 1, |world| world.telegram.deliver_then(200, r#"{"ok":false}"#)),
        // A redirect is not followed: whoever it leads to would get the token and the message.
        ("http_302", 0, |world| redirect(world, 302)),
        ("http_307", 0, |world| redirect(world, 307)),
    ];
    let engines = Arc::new(Engines::start().await);
    for (cause, delivered, answer) in answers {
        let mut world = World::with(Arc::clone(&engines), settings()).await;
        let reference = written(&mut world, CHAT).await;
        answer(&world);
        let polled = world.poll_acknowledger().await;
        assert_eq!(polled.done, 1, "{cause}");

        let record = world.record(&reference).await;
        let AckState::Uncertain { cause: because, .. } = &record.acknowledgement.as_ref().unwrap().state
        else {
            panic!("{cause}: {:?}", record.acknowledgement)
        };
        let close = because.0 == cause || (cause == "cut" && because.0 == "reset");
        assert!(close, "{because} where {cause} was due");
        let reviews: Vec<ReviewReason> = record.reviews().iter().map(|review| review.reason).collect();
        assert_eq!(reviews, [ReviewReason::AckUncertain]);
        assert!(matches!(record.write.state, WriteState::Confirmed { .. }));
        assert_eq!(world.recorder().sum(Metric::AckUncertain), 1.0);

        two_weeks_pass(&mut world, &reference).await;
        assert_eq!((calls(&world), world.acknowledgements(CHAT).len()), (1, delivered), "{cause}");
        assert_eq!(world.record(&reference).await, record, "nothing but a person moves it");
        nothing_is_dead(&mut world).await;
        world.check_rules().await;
    }
}

fn redirect(world: &World, status: u16) {
    let to = format!("{}/bot4242:world-bot-token/sendMessage", world.url("acknowledger", Side::Telegram));
    world.telegram.answer_next_with(status, &[("location", &to)], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_became_another_one_gets_one_message_there() {
    let (old, new) = (-900_001, -1_002_000_000_009);
    let mut world = world().await;
    let reference = written(&mut world, old).await;
    // The parameter decides: the words may change.
    let moved = json!({
        "ok": false, "error_code": 400, "description": "other words than yesterday's",
        "parameters": {"migrate_to_chat_id": new},
    });
    world.telegram.answer_next(400, &moved.to_string());
    world.poll_acknowledger().await;
    let waiting = acknowledgement(&world, &reference).await;
    assert_eq!(waiting.moved_to, Some(ChatId(new)));
    assert!(matches!(waiting.state, AckState::Pending { .. }), "{waiting:?}");

    world.settle().await;
    assert_eq!(
        (calls(&world), world.acknowledgements(new).len(), world.acknowledgements(old).len()),
        (2, 1, 0)
    );
    let told = acknowledgement(&world, &reference).await;
    assert!(matches!(told.state, AckState::Confirmed { .. }));
    assert_eq!(told.moved_to, Some(ChatId(new)));
    // The submission is what the customer confirmed, and stays so.
    assert_eq!(world.record(&reference).await.submission.chat_id, ChatId(old));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_moves_twice_is_not_followed() {
    let mut world = world().await;
    let reference = written(&mut world, -900_001).await;
    world.telegram.migrate(-900_001, -1_002_000_000_009);
    world.telegram.migrate(-1_002_000_000_009, -1_002_000_000_009);
    world.settle().await;
    let state = acknowledgement(&world, &reference).await.state;
    assert_eq!(state, AckState::Refused { cause: Cause::new("chat_moved_twice") });
    two_weeks_pass(&mut world, &reference).await;
    assert_eq!(calls(&world), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_groups_move_is_taken_politely_and_opens_nothing() {
    let mut world = world().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "New gutters, please.").await;
    let in_group = ann.in_group(-900_001, "Neighbours");
    for update in [
        in_group.text("/new"),
        in_group.migrate_to_chat(-1_002_000_000_009),
        ann.in_group(-1_002_000_000_009, "Neighbours").migrate_from_chat(-900_001),
        in_group.text("New gutters, please."),
    ] {
        let answer = world.deliver(&update).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"" as &[u8]));
    }
    // Ann's own draft is as it was.
    world.say(ann.press_button("Confirm")).await;
    assert_eq!(world.records().await.len(), 1);
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ran_out_is_a_persons_matter_and_sends_nothing() {
    let mut world = world().await;
    let reference = written(&mut world, CHAT).await;
    world.lose_rings_for_the_acknowledgement().await;
    world.somebody_claims_the_acknowledgement(&reference).await;
    world.turn_seconds(119);
    world.sweep().await;
    world.ring_for_the_acknowledgement(std::slice::from_ref(&reference)).await;
    world.work().await;
    let state = acknowledgement(&world, &reference).await.state;
    assert!(matches!(state, AckState::Attempting { .. }), "somebody may be sending: {state:?}");
    world.turn_seconds(1);
    world.sweep().await;
    world.work().await;
    let record = world.record(&reference).await;
    assert_eq!(record.reviews()[0].reason, ReviewReason::AckUncertain);
    assert_eq!(world.recorder().sum(Metric::ReviewOpened), 1.0);
    two_weeks_pass(&mut world, &reference).await;
    assert_eq!(calls(&world), 0);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_before_the_row_is_known_to_exist() {
    let world = &mut world().await;
    let lost = WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 };
    let [pending, attempting, uncertain, in_review, abandoned] = {
        let mut references = Vec::new();
        for chat_id in CHAT..CHAT + 5 {
            references.push(world.record_by_hand(chat_id, "New gutters, please.").await);
        }
        references.try_into().unwrap()
    };
    for reference in [&attempting, &uncertain, &in_review, &abandoned] {
        world.somebody_claims_the_write(reference).await;
    }
    for reference in [&uncertain, &in_review, &abandoned] {
        world.write_meets(reference, lost.clone()).await;
    }
    world.turn_seconds(301);
    for reference in [&in_review, &abandoned] {
        let (finding, started_at) = (Finding::None, world.now());
        world.write_meets(reference, WriteEvent::LookedUp { finding, started_at, settle_seconds: 300 }).await;
    }
    let order = WriteOrder::Abandon { why: "a test of theirs".into() };
    world.write_meets(&abandoned, WriteEvent::Ordered(order)).await;

    let all = [pending, attempting, uncertain, in_review, abandoned];
    let before = world.records().await;
    for _ in 0..3 {
        world.ring_for_the_acknowledgement(&all).await;
        assert_eq!(world.poll_acknowledger().await.done, 5);
    }
    assert_eq!(calls(world), 0);
    let mut after = world.records().await;
    after.sort_by(|a, b| a.submission.reference.cmp(&b.submission.reference));
    let mut before = before;
    before.sort_by(|a, b| a.submission.reference.cmp(&b.submission.reference));
    assert_eq!(after, before);
    // All that was written notes, at each of the three rings, that the operator hears of the open review.
    let open = after.iter().filter(|record| !record.reviews().is_empty()).count();
    assert_eq!(world.wire.count(Side::DynamoDb, "UpdateItem"), 3 * open);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_messages_to_one_chat_leave_one_a_second_and_none_is_turned_away() {
    let mut world = world().await;
    let ann = world.customer(CHAT, "Ann");
    for number in 1..=5 {
        world.submit(&ann, "A quote", &format!("Enquiry {number}.")).await;
        world.poll_writer().await;
    }
    world.turn_seconds(1);
    world.telegram.enforce_one_message_a_second();
    assert_eq!(world.poll_acknowledger().await.done, 5);
    let sent = world.telegram.messages(CHAT);
    assert_eq!((sent.len(), calls(&world)), (5, 5));
    assert!(world.telegram.calls().iter().all(|call| call.refused.is_none()));
    assert!(sent.windows(2).all(|pair| pair[1].at_ms - pair[0].at_ms >= 1_000));
    assert!(world.records().await.iter().all(|record| record.finished()));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_chats_are_told_at_no_more_than_thirty_a_second() {
    let mut world = world().await;
    for chat_id in CHAT..CHAT + 40 {
        let reference = world.record_by_hand(chat_id, "New gutters, please.").await;
        world.ring_for_the_write(&[reference]).await;
    }
    world.settle().await;
    let moments: Vec<i64> = world.telegram.calls().iter().map(|call| call.at_ms).collect();
    assert_eq!(moments.len(), 40);
    for from in &moments {
        let in_a_second = moments.iter().filter(|at| (*from..from + 1_000).contains(at)).count();
        assert!(in_a_second <= 30, "{in_a_second} messages in a second");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_acknowledgers_with_the_same_ring_send_one_message() {
    let mut world = world().await;
    let reference = written(&mut world, CHAT).await;
    let (first, second) = world.acknowledge_source.deliver_twice_at_once().await.unwrap();
    let (one, other) = tokio::join!(
        world.invoke_another_acknowledger(first.event().clone()),
        world.invoke_another_acknowledger(second.event().clone()),
    );
    world.acknowledge_source.settle(first, &Delivery::Answered(one.unwrap()));
    world.acknowledge_source.settle(second, &Delivery::Answered(other.unwrap()));
    world.settle().await;
    assert_eq!((calls(&world), world.acknowledgements(CHAT).len()), (1, 1));
    assert!(matches!(acknowledgement(&world, &reference).await.state, AckState::Confirmed { .. }));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_can_never_be_understood_is_consumed_and_counted() {
    let mut world = world().await;
    let bodies = ["", "{", "[]", r#"{"v":2,"reference":"x"}"#, "DK-8M4T-K2QX-7RZ9"];
    for body in bodies {
        let client = world.engines.sqs_client();
        let send = client.send_message().queue_url(&world.queues.acknowledge);
        send.message_body(if body.is_empty() { " " } else { body }).send().await.unwrap();
    }
    let known = written(&mut world, CHAT).await;
    assert_eq!(world.poll_acknowledger().await.done, bodies.len() + 1);
    assert_eq!(world.recorder().sum(Metric::MessageDropped), 5.0);
    assert!(matches!(acknowledgement(&world, &known).await.state, AckState::Confirmed { .. }));
    nothing_is_dead(&mut world).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_begun_that_the_remaining_time_cannot_finish() {
    let needed = CLAIMING_MS + settings().timing.send_timeout_ms + MARKING_MS;
    for (left_ms, sent) in [(0, 0), (MARKING_MS, 0), (needed - 1, 0), (needed, 1)] {
        let mut world = world().await;
        let references = [written(&mut world, CHAT).await, written(&mut world, CHAT + 1).await];
        world.shorten_invocations(left_ms);
        // Consumed either way: the records stay due, and nothing was claimed.
        assert_eq!(world.poll_acknowledger().await.done, 2, "{left_ms} ms");
        assert_eq!(world.telegram.calls().len(), sent, "{left_ms} ms");
        for reference in &references[sent..] {
            assert_eq!(acknowledgement(&world, reference).await.attempts, 0, "{left_ms} ms");
        }
        world.lengthen_invocations();
        world.settle().await;
        for chat_id in [CHAT, CHAT + 1] {
            assert_eq!(world.acknowledgements(chat_id).len(), 1, "{left_ms} ms");
        }
        world.check_rules().await;
    }
}

/// Every held message is served after so many seconds of the turned clock. Never ends.
async fn takes_its_time(telegram: &FakeTelegram, clock: &TurnedClock, seconds: i64) {
    loop {
        while telegram.held() == 0 {
            tokio::task::yield_now().await;
        }
        clock.turn(seconds * 1_000);
        telegram.let_go();
        while telegram.held() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_messages_that_each_take_nearly_as_long_as_they_may_end_in_time_and_every_customer_is_told_once()
{
    const EACH_SECONDS: i64 = 14;
    let engines = Arc::new(Engines::start().await);
    let mut world = World::with(engines, Settings { timing: Timing::default(), ..Settings::default() }).await;
    let chats = CHAT..CHAT + 10;
    let mut references = Vec::new();
    for chat_id in chats.clone() {
        references.push(written(&mut world, chat_id).await);
        world.telegram.hold_next();
    }
    let taken = world.acknowledge_source.take().await.unwrap();
    let event = taken.event().clone();
    assert_eq!(event["Records"].as_array().map(Vec::len), Some(references.len()));

    let deadline = world.deadline();
    let (telegram, clock) = (world.telegram.clone(), world.clock.clone());
    let answer = tokio::select! {
        answer = world.invoke_another_acknowledger(event) => answer,
        () = takes_its_time(&telegram, &clock, EACH_SECONDS) => None,
    };
    // Whatever was begun has ended, and all of it before Lambda would have killed it.
    assert_eq!(answer, Some(json!({"batchItemFailures": []})));
    assert!(world.now() <= deadline, "{} after {deadline}", world.now());
    let told =
        |world: &World| chats.clone().filter(|chat_id| world.acknowledgements(*chat_id).len() == 1).count();
    let first = told(&world);
    assert!(first > 1 && first < references.len(), "{first} messages in one invocation");
    assert_eq!(calls(&world), first);
    // One more would have been begun if it could have ended.
    let needed_ms = CLAIMING_MS + world.settings().timing.send_timeout_ms + MARKING_MS;
    assert!(world.now().plus_millis(needed_ms) > deadline);

    world.acknowledge_source.settle(taken, &Delivery::Answered(answer.unwrap()));
    tokio::select! {
        () = world.settle() => {}
        () = takes_its_time(&telegram, &clock, EACH_SECONDS) => {}
    }
    assert_eq!((told(&world), calls(&world)), (references.len(), references.len()));
    nothing_is_dead(&mut world).await;
    world.check_rules().await;
}
