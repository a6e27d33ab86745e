//! The deployment template, held against the code that it deploys.
//!
//! A template can be valid and wrong: an alarm on a metric that nobody emits never fires, and a shortened visibility makes
//! two workers out of one message. Each check looks at one such kind and says what it found in a sentence; none found is
//! what must hold.

pub mod template;
pub mod sources;
pub mod environment;
pub mod alarms;
pub mod firing;
pub mod bounds;
pub mod shape;
pub mod log_filter;

pub use self::template::Template;

/// Everything that is wrong with a template, a sentence each.
#[must_use]
pub fn findings(template: &Template) -> Vec<String> {
    [
        bounds::queues(template),
        bounds::times(template),
        bounds::event_sources(template),
        shape::tables(template),
        shape::functions(template),
        shape::door(template),
        shape::policies(template),
        shape::schedule(template),
        shape::logs(template),
        environment::of_functions(template),
        environment::of_command(template),
        firing::required(template),
        firing::possible(template),
        alarms::of_ours(template),
        alarms::of_aws(template),
        alarms::manners(template),
        alarms::every_metric_has_its_place(template),
        log_filter::of_template(template),
    ]
    .concat()
}
