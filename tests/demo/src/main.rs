//! The story, told by running it: the real functions over embedded engines, a fake sheet and a fake Telegram.
//!
//! Every sentence with a mark in front is checked before it is printed; the exit status is 0 only if all of them held.
//! With `--stay` the world stays up afterwards, for the operator's command.

mod ending;
mod scenes;
mod story;

use std::process::ExitCode;

use docket_world::World;
use story::Story;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    runtime.block_on(async {
        let mut story = Story::begin();
        let mut world = World::start().await;
        let told = scenes::play(&mut world, &mut story).await;
        ending::show(&world, &mut story, &told).await;
        let outcome = story.end();
        if std::env::args().any(|argument| argument == "--stay") {
            ending::stay(&world, &told);
        }
        outcome
    })
}
