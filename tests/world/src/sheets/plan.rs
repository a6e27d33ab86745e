//! Which behaviour meets which request: a queue for the next ones, and what lasts until healed.

use std::collections::VecDeque;

use super::behaviour::Behaviour;
use super::call::Kind;

/// The requests a behaviour is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Appends,
    /// What setting up changes: tabs and single cells.
    Changes,
    /// Reading values or the list of tabs.
    Reads,
    /// Everything sent to Sheets.
    Sheets,
    /// Everything sent to the token endpoints.
    Tokens,
    /// Signed AWS requests.
    Federations,
    /// `generateAccessToken`.
    Impersonations,
}

impl On {
    fn means(self, kind: Kind) -> bool {
        match kind {
            Kind::Append => matches!(self, Self::Appends | Self::Sheets),
            Kind::Read | Kind::BatchRead | Kind::Tabs => matches!(self, Self::Reads | Self::Sheets),
            Kind::Update | Kind::BatchUpdate => matches!(self, Self::Changes | Self::Sheets),
            Kind::Other => self == Self::Sheets,
            Kind::Token => self == Self::Tokens,
            Kind::Federation => matches!(self, Self::Tokens | Self::Federations),
            Kind::Impersonation => matches!(self, Self::Tokens | Self::Impersonations),
        }
    }
}

/// What was planned: behaviours for one request each, in order, and those that last until healed.
#[derive(Debug, Default)]
pub(super) struct Plans {
    next: VecDeque<(On, Behaviour)>,
    lasting: Vec<(On, Behaviour)>,
}

impl Plans {
    pub(super) fn add_next(&mut self, on: On, behaviour: Behaviour) {
        self.next.push_back((on, behaviour));
    }

    pub(super) fn add_lasting(&mut self, on: On, behaviour: Behaviour) {
        self.lasting.push((on, behaviour));
    }

    pub(super) fn clear(&mut self) {
        self.next.clear();
        self.lasting.clear();
    }

    /// The behaviour for a request of this kind. Planned single ones come first, then the latest lasting one.
    pub(super) fn take(&mut self, kind: Kind) -> Planned {
        if let Some(at) = self.next.iter().position(|(on, _)| on.means(kind)) {
            let (on, behaviour) = self.next.remove(at).expect("the position was just found");
            return Planned { behaviour, once: Some(on) };
        }
        let lasting = self.lasting.iter().rev().find(|(on, _)| on.means(kind));
        Planned {
            behaviour: lasting.map_or_else(Behaviour::serves, |(_, behaviour)| behaviour.clone()),
            once: None,
        }
    }

    /// A request that was refused on its own account did not use the behaviour up.
    pub(super) fn put_back(&mut self, planned: &Planned) {
        if let Some(on) = planned.once {
            self.next.push_front((on, planned.behaviour.clone()));
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) behaviour: Behaviour,
    once: Option<On>,
}
