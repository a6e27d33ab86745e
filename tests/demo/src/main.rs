//! The story, told by running it: the real functions over embedded engines, a fake sheet and a fake Telegram.
//!
//! Every sentence with a mark in front is checked before it is printed; the exit status is 0 only if all of them held.
//! With `--stay` the world stays up and at work afterwards, for the operator's command.

// A whole story of calls of the AWS SDK is one future, and that is deeper than the default.
#![recursion_limit = "256"]

mod story;
mod scenes;
mod ending;
mod staying;
mod settings;

use std::process::ExitCode;

use docket_world::World;
use story::Story;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let stays = std::env::args().any(|argument| argument == "--stay");
    runtime.block_on(async {
        let mut story = Story::begin();
        let mut world = World::start().await;
        if stays {
            staying::begin_shortly_before_now(&world);
        }
        let told = scenes::play(&mut world, &mut story).await;
        ending::show(&world, &mut story, &told).await;
        let outcome = story.end();
        if stays && let Err(error) = staying::stay(&mut world).await {
            anstream::eprintln!("The world cannot stay: its settings could not be written: {error}");
            return ExitCode::FAILURE;
        }
        outcome
    })
}
