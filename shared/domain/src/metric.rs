//! Every metric that Docket emits: the one list that code, alarms and dashboard agree on.

/// A metric's name and unit; which function of which deployment emits it is the only dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Submissions newly stored.
    Recorded,
    /// Confirms that met an existing submission with the same content.
    Replayed,
    /// Confirms that met an existing submission with another content.
    Conflicted,
    /// Requests with a wrong or missing secret.
    WrongSecret,
    /// Authentic updates that can never have an effect.
    Ignored,
    /// Rings that failed.
    RingFailed,
    /// Messages whose body can never be understood, or whose record does not exist.
    MessageDropped,
    /// Records that this release cannot read.
    RecordUnreadable,
    /// Settings in parameters that could not be read again, or whose new value is refused.
    SettingsRefused,
    /// Append requests sent.
    Appends,
    /// Rows proved to be in the sheet.
    WriteConfirmed,
    /// Appends of which nothing is known.
    WriteUncertain,
    /// Rows turned away without effect.
    WriteNotApplied,
    /// 1 when the sheet stopped on a refusal, 0 when an append went through.
    SheetHalted,
    /// Read-backs.
    Lookups,
    /// Reviews opened.
    ReviewOpened,
    /// Messages accepted by the Bot API.
    AckConfirmed,
    /// Messages refused for good by one chat.
    AckRefused,
    /// Messages of which nothing is known.
    AckUncertain,
    /// Messages not sent, later again.
    AckNotSent,
    /// 1 when the bot's token was refused, 0 when a message went through.
    BotHalted,
    /// 1 a sweep: proof that the clock runs.
    Sweeps,
    /// References rung again.
    Rung,
    /// Gauge: open reviews.
    OpenReviews,
    /// Gauge: seconds since the oldest open review opened.
    OldestReviewAge,
    /// Gauge: seconds by which the longest due record is overdue.
    OldestDueAge,
}

impl Metric {
    pub const ALL: [Self; 26] = [
        Self::Recorded,
        Self::Replayed,
        Self::Conflicted,
        Self::WrongSecret,
        Self::Ignored,
        Self::RingFailed,
        Self::MessageDropped,
        Self::RecordUnreadable,
        Self::SettingsRefused,
        Self::Appends,
        Self::WriteConfirmed,
        Self::WriteUncertain,
        Self::WriteNotApplied,
        Self::SheetHalted,
        Self::Lookups,
        Self::ReviewOpened,
        Self::AckConfirmed,
        Self::AckRefused,
        Self::AckUncertain,
        Self::AckNotSent,
        Self::BotHalted,
        Self::Sweeps,
        Self::Rung,
        Self::OpenReviews,
        Self::OldestReviewAge,
        Self::OldestDueAge,
    ];

    /// The name in CloudWatch.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "Recorded",
            Self::Replayed => "Replayed",
            Self::Conflicted => "Conflicted",
            Self::WrongSecret => "WrongSecret",
            Self::Ignored => "Ignored",
            Self::RingFailed => "RingFailed",
            Self::MessageDropped => "MessageDropped",
            Self::RecordUnreadable => "RecordUnreadable",
            Self::SettingsRefused => "SettingsRefused",
            Self::Appends => "Appends",
            Self::WriteConfirmed => "WriteConfirmed",
            Self::WriteUncertain => "WriteUncertain",
            Self::WriteNotApplied => "WriteNotApplied",
            Self::SheetHalted => "SheetHalted",
            Self::Lookups => "Lookups",
            Self::ReviewOpened => "ReviewOpened",
            Self::AckConfirmed => "AckConfirmed",
            Self::AckRefused => "AckRefused",
            Self::AckUncertain => "AckUncertain",
            Self::AckNotSent => "AckNotSent",
            Self::BotHalted => "BotHalted",
            Self::Sweeps => "Sweeps",
            Self::Rung => "Rung",
            Self::OpenReviews => "OpenReviews",
            Self::OldestReviewAge => "OldestReviewAge",
            Self::OldestDueAge => "OldestDueAge",
        }
    }

    /// The unit in CloudWatch.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::OldestReviewAge | Self::OldestDueAge => "Seconds",
            Self::Recorded
            | Self::Replayed
            | Self::Conflicted
            | Self::WrongSecret
            | Self::Ignored
            | Self::RingFailed
            | Self::MessageDropped
            | Self::RecordUnreadable
            | Self::SettingsRefused
            | Self::Appends
            | Self::WriteConfirmed
            | Self::WriteUncertain
            | Self::WriteNotApplied
            | Self::SheetHalted
            | Self::Lookups
            | Self::ReviewOpened
            | Self::AckConfirmed
            | Self::AckRefused
            | Self::AckUncertain
            | Self::AckNotSent
            | Self::BotHalted
            | Self::Sweeps
            | Self::Rung
            | Self::OpenReviews => "Count",
        }
    }

    /// Whether several values of one invocation replace each other, where others add up.
    #[must_use]
    pub fn is_gauge(self) -> bool {
        matches!(
            self,
            Self::SheetHalted
                | Self::BotHalted
                | Self::OpenReviews
                | Self::OldestReviewAge
                | Self::OldestDueAge
        )
    }
}
