//! The Telegram adapter against the fake Bot API, over real sockets: what the port promises for each thing that a chat, a
//! token or a line can do.

use std::sync::Arc;

use docket_adapters::config::Secret;
use docket_adapters::telegram::TelegramMessenger;
use docket_domain::outcome::{NotSent, SendOutcome};
use docket_domain::ports::Messenger as _;
use docket_domain::status::Cause;
use docket_domain::submission::ChatId;
use docket_world::clock::TurnedClock;
use docket_world::telegram::FakeTelegram;
use docket_world::wire::{Backend, Gate, Side, Wire};

const CHAT: i64 = 9_007_199_254_740_993;
const TOKEN: &str = "4242:contract-token";

struct Bot {
    telegram: FakeTelegram,
    gate: Gate,
    wire: Wire,
    messenger: TelegramMessenger,
}

async fn bot() -> Bot {
    let clock = TurnedClock::at(1_772_356_500_000);
    let wire = Wire::new(clock.clone());
    let telegram = FakeTelegram::new(clock, TOKEN);
    let gate = wire.gate("acknowledger", Side::Telegram, Backend::Fake(Arc::new(telegram.clone()))).await;
    let messenger = messenger(&gate, TOKEN);
    Bot { telegram, gate, wire, messenger }
}

fn messenger(gate: &Gate, token: &str) -> TelegramMessenger {
    TelegramMessenger::new(&gate.url(), &Secret::new(token), 300).unwrap()
}

impl Bot {
    async fn send(&self) -> SendOutcome {
        self.messenger.send(ChatId(CHAT), "hello *x [a](b) <b> & _").await
    }
}

fn refused(cause: &str) -> SendOutcome {
    SendOutcome::Refused(Cause::new(cause))
}

#[tokio::test]
async fn an_accepted_message_has_the_id_that_the_chat_has() {
    let bot = bot().await;
    let outcome = bot.send().await;
    let sent = bot.telegram.messages(CHAT);
    assert_eq!(outcome, SendOutcome::Accepted { message_id: Some(sent[0].message_id) });
    assert_eq!((sent.len(), sent[0].text.as_str()), (1, "hello *x [a](b) <b> & _"));
    assert!(sent[0].raw.get("parse_mode").is_none() && sent[0].raw.get("message_thread_id").is_none());
    assert_eq!(sent[0].raw["link_preview_options"]["is_disabled"], true);
    assert_eq!(bot.wire.calls()[0].http_version, "HTTP/1.1");
}

#[tokio::test]
async fn each_refusal_of_a_chat_is_final_and_a_move_names_the_new_one() {
    type Refusing = fn(&FakeTelegram);
    let cases: [(Refusing, SendOutcome); 6] = [
        (|telegram| telegram.block(CHAT), refused("http_403")),
        (|telegram| telegram.kick(CHAT), refused("http_403")),
        (|telegram| telegram.deactivate(CHAT), refused("http_403")),
        (|telegram| telegram.chat_not_found(CHAT), refused("http_400")),
        (|telegram| telegram.no_rights(CHAT), refused("http_400")),
        (
            |telegram| telegram.migrate(CHAT, -1_002_000_000_009),
            SendOutcome::Moved { to: ChatId(-1_002_000_000_009) },
        ),
    ];
    for (refuse, expected) in cases {
        let bot = bot().await;
        refuse(&bot.telegram);
        assert_eq!(bot.send().await, expected);
        assert_eq!(bot.wire.calls().len(), 1, "asked once");
    }
}

#[tokio::test]
async fn a_flood_is_waited_out_and_a_wrong_token_halts() {
    let bot = bot().await;
    bot.telegram.flood(90_000);
    assert_eq!(bot.send().await, SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: 90_000 }));
    for (token, cause) in [("4242:another", "http_401"), ("nobody", "http_404")] {
        let outcome = messenger(&bot.gate, token).send(ChatId(CHAT), "hello").await;
        assert_eq!(outcome, SendOutcome::NotSent(NotSent::Halt(Cause::new(cause))));
    }
    assert_eq!(bot.telegram.messages(CHAT).len(), 0);
}

#[tokio::test]
async fn an_answer_that_does_not_come_whole_leaves_it_open_and_nothing_is_asked_twice() {
    type Answering = fn(&FakeTelegram);
    let cases: [Answering; 6] = [
        |telegram| telegram.deliver_then_never(),
        |telegram| telegram.deliver_then_hang_up(),
        |telegram| telegram.deliver_then_half(10),
        |telegram| telegram.deliver_then(500, r#"{"ok":false,"error_code":500,"description":"restart"}"#),
        |telegram| telegram.deliver_then(200, "<html>"),
        |telegram| telegram.html_502(),
    ];
    for (number, answer) in cases.into_iter().enumerate() {
        let bot = bot().await;
        answer(&bot.telegram);
        let outcome = bot.send().await;
        assert!(matches!(outcome, SendOutcome::Unknown(_)), "{number}: {outcome:?}");
        assert_eq!(bot.wire.calls().len(), 1);
        assert_eq!(bot.telegram.messages(CHAT).len(), usize::from(number < 5));
    }
}
