//! Times on a page are the operator's own, with their zone; what a script reads stays in UTC.

use docket_domain::moment::Moment;
use docket_world::World;

use crate::operator::{docket, environment, unknown};

const CHAT: i64 = 7_100_000_001;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_in_the_time_of_the_operators_zone_also_over_the_night_in_which_clocks_are_put_forward() {
    let world = World::start().await;
    let night = Moment::parse("2026-03-29T00:59:59.900Z").unwrap();
    world.clock.turn(night.millis() - world.now().millis());
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.clock.turn(1_100);
    world.somebody_claims_the_write(&reference).await;
    world.write_meets(&reference, unknown()).await;
    let there = environment(&world);
    let show = ["show", reference.as_str()];

    let page = docket(&there.clone().with("TZ", "Europe/Berlin"), &show).stdout;
    for line in [
        "Was it confirmed and recorded?      Yes: confirmed by the customer at 2026-03-29 01:59:59 CET, and kept.",
        "Is its row known to exist?          Not known: the append of 2026-03-29 03:00:01 CEST ended without a usable answer: no answer came in time (timeout).",
        "What still needs attention?         Nobody: a machine looks at it (lookup) at 2026-03-29 03:01:01 CEST.",
        "history, in the time of Europe/Berlin",
        "  2026-03-29 01:59:59 CET   webhook       recorded",
        "  2026-03-29 03:00:01 CEST  writer        claimed  pending → attempting",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }

    // A zone as POSIX writes it has no name.
    let page = docket(&there.clone().with("TZ", "<-03>3"), &show).stdout;
    assert!(page.contains("at 2026-03-28 21:59:59 -03, and kept."), "{page}");
    assert!(page.contains("history, in the time of this machine's own zone"), "{page}");

    for of_nowhere in ["Nowhere/Land", "/etc/passwd"] {
        let ran = docket(&there.clone().with("TZ", of_nowhere), &show);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let heading = "history, in the time of UTC (the time zone of TZ or of this machine is not known)";
        assert!(ran.stdout.contains(heading), "{}", ran.stdout);
        assert!(ran.stdout.contains("at 2026-03-29 00:59:59 UTC, and kept."), "{}", ran.stdout);
    }

    let scripts =
        |zone: &str| docket(&there.clone().with("TZ", zone), &[&show[..], &["--json"]].concat()).json();
    assert_eq!(scripts("Europe/Berlin"), scripts("UTC"));
    assert_eq!(scripts("Europe/Berlin")["history"][1]["at"], "2026-03-29T01:00:01Z");
    world.check_rules().await;
}
