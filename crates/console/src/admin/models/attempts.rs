//! Attempts to call a model, as this instance counts them.

use pia_assistant::{AttemptOutcome, EntryAttempts, ModelEntry};

use crate::page_context::PageContext;
use crate::ui::table::Tone;
use crate::ui::{Cell, Section, Text, format};

/// Returns the outcome of the last call.
pub(in crate::admin) fn last_call_cell(page: &PageContext, attempts: &EntryAttempts) -> Cell {
    let Some(outcome) = attempts.last else {
        return Cell::badge(page.t(NOT_CALLED), Tone::Neutral);
    };
    let tone = match outcome {
        AttemptOutcome::Answered => Tone::Good,
        AttemptOutcome::Busy => Tone::Warning,
        _ => Tone::Bad,
    };
    Cell::badge(page.t(outcome_text(outcome)), tone)
}

/// Returns the counters of an entry.
pub(super) fn section(page: &PageContext, entry: &ModelEntry) -> Section {
    let number = |it: u64| Cell::text(format::number(page.language, it));
    let mut facts = vec![(page.t(LAST), last_call_cell(page, &entry.attempts))];
    let counts = entry.attempts.counts.iter();
    facts.extend(counts.map(|(outcome, count)| (page.t(outcome_text(*outcome)), number(*count))));

    if entry.open_calls + entry.waiting_calls > 0 {
        facts.push((page.t(OPEN), number(entry.open_calls)));
        facts.push((page.t(WAITING), number(entry.waiting_calls)));
    }

    if entry.keys_in_cooldown > 0 {
        facts.push((page.t(PAUSED), number(entry.keys_in_cooldown as u64)));
    }

    let intro = if entry.model.id().is_some() { THIS_INSTANCE } else { SHARED };

    Section::new("attempts", page.t(TITLE)).intro(page.t(intro)).facts(facts)
}

/// Returns the text of an outcome.
pub(in crate::admin) fn outcome_text(outcome: AttemptOutcome) -> Text {
    match outcome {
        AttemptOutcome::Answered => Text::new("Answered", "Beantwortet"),
        AttemptOutcome::KeyRefused => Text::new("API key refused", "API-Schlüssel abgelehnt"),
        AttemptOutcome::Busy => Text::new("Provider at capacity", "Anbieter ausgelastet"),
        AttemptOutcome::Refused => Text::new("Request refused", "Anfrage abgelehnt"),
        AttemptOutcome::Failed => Text::new("Provider failed", "Fehler beim Anbieter"),
        AttemptOutcome::Unreachable => {
            Text::new("Provider not reachable", "Anbieter nicht erreichbar")
        }
        AttemptOutcome::Silent => Text::new("No answer in time", "Zeitüberschreitung"),
    }
}

const TITLE: Text = Text::new("Calls since startup", "Aufrufe seit dem Start");
pub(super) const THIS_INSTANCE: Text = Text::new(
    "Calls of this instance of the server since it started.",
    "Aufrufe dieser Instanz des Servers seit ihrem Start.",
);
const SHARED: Text = Text::new(
    "Calls of this instance of the server since it started. The models under Ai and Ai:Modes are \
     counted together.",
    "Aufrufe dieser Instanz des Servers seit ihrem Start. Die Modelle unter Ai und Ai:Modes werden \
     zusammen gezählt.",
);
const NOT_CALLED: Text = Text::new("Not called yet", "Noch nicht aufgerufen");
const LAST: Text = Text::new("Last call", "Letzter Aufruf");
const OPEN: Text = Text::new("Open now", "Zurzeit offen");
const WAITING: Text = Text::new("Waiting now", "Zurzeit wartend");
const PAUSED: Text = Text::new("Paused keys", "Pausierte Schlüssel");
