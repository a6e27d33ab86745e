//! How everything stands at the end: the sheet, the messages, and for each reference the four answers.

use docket::answers::{Answers, QUESTIONS};
use docket::zone::Zone;
use docket_domain::reference::Reference;
use docket_world::{Tampering, World};

use crate::story::Story;

pub(crate) async fn show(world: &World, story: &mut Story, told: &[Reference]) {
    story.heading("The sheet");
    for row in world.sheets.rows("Intake") {
        let cells: Vec<String> =
            row.iter().map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)).collect();
        story.tell(&cells.join(" | "));
    }
    story.heading("The acknowledgements");
    for record in world.records().await {
        let chat = record.submission.chat_id.0;
        for text in
            world.acknowledgements(chat).iter().filter(|t| t.contains(record.submission.reference.as_str()))
        {
            story.quote(record.submission.contact.as_str(), text);
        }
    }
    for reference in told {
        story.heading(reference.as_str());
        let answers = Answers::of(&world.record(reference).await, &Zone::utc());
        for (question, answer) in QUESTIONS.iter().zip(answers.lines()) {
            story.tell(&format!("{question:<36}{answer}"));
        }
    }
    story.heading("The rules");
    let changed_by_hand: Vec<Reference> = told.get(4..6).unwrap_or_default().to_vec();
    let broken = world.broken_rules(&Tampering { rows_of: changed_by_hand, ordered: Vec::new() }).await;
    for rule in &broken {
        story.tell(rule);
    }
    story.check(
        "every rule that never bends held, over table, sheet, messages and every request",
        broken.is_empty(),
    );
}
