//! Calls that test a model.

use pia_assistant::{AttemptOutcome, ModelAnswer, ModelTest, ModelTestFailure};
use pia_kernel::truncate;

use super::attempts::outcome_text;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Form, Section, Text, format};

/// Maximum length of a displayed answer, in UTF-16 units.
const MAX_ANSWER: usize = 500;

/// Returns the form of a test.
pub(super) fn section(page: &PageContext, path: &str) -> Section {
    let form = Form::new(format!("{path}/test"), page.t(TEST));
    Section::new("test", page.t(TITLE)).intro(page.t(INTRO)).form(form)
}

/// Returns the result of a test.
pub(in crate::admin) fn result_section(page: &PageContext, test: &ModelTest) -> Section {
    let millis = i128::try_from(test.took.as_millis()).unwrap_or(i128::MAX);
    let duration = page.fill(MILLISECONDS, &[&format::number(page.language, millis)]);
    let mut facts = Vec::new();
    match &test.result {
        Ok(answer) => {
            let text = outcome_text(AttemptOutcome::Answered);
            facts.push((page.t(common::STATUS), Cell::badge(page.t(text), Tone::Good)));
            facts.push((page.t(ANSWER), Cell::text(answer_text(page, answer))));
        }
        Err(failure) => {
            facts.push((page.t(common::STATUS), failure_cell(page, *failure)));
            if let Some(advice) = advice(*failure) {
                facts.push((page.t(ADVICE), Cell::text(page.t(advice))));
            }
        }
    }

    facts.push((page.t(DURATION), Cell::text(duration)));

    Section::new("result", page.t(RESULT)).facts(facts)
}

fn answer_text(page: &PageContext, answer: &ModelAnswer) -> String {
    let number = |it: usize| format::number(page.language, it as u64);
    match answer {
        ModelAnswer::Text(text) if text.trim().is_empty() => page.t(EMPTY_ANSWER).to_owned(),
        ModelAnswer::Text(text) => truncate(text, MAX_ANSWER).to_owned(),
        ModelAnswer::Vector(dimensions) => page.fill(DIMENSIONS, &[&number(*dimensions)]),
        ModelAnswer::Results(count) => page.fill(RESULTS, &[&number(*count)]),
    }
}

fn failure_cell(page: &PageContext, failure: ModelTestFailure) -> Cell {
    let (text, status) = match failure {
        ModelTestFailure::Upstream(outcome, status) => (outcome_text(outcome), status),
        ModelTestFailure::Unreadable => (UNREADABLE, None),
        ModelTestFailure::LimitReached => (LIMIT_REACHED, None),
        ModelTestFailure::TimedOut => (outcome_text(AttemptOutcome::Silent), None),
        ModelTestFailure::Stopping => (STOPPING, None),
    };
    let status = status.map(|it| page.fill(STATUS, &[&it.to_string()]));
    Cell::badge(page.t(text), Tone::Bad).detail(status.unwrap_or_default())
}

/// Returns advice about a failure; `None` if there is nothing to do.
fn advice(failure: ModelTestFailure) -> Option<Text> {
    let outcome = match failure {
        ModelTestFailure::Upstream(outcome, _) => outcome,
        ModelTestFailure::TimedOut => AttemptOutcome::Silent,
        ModelTestFailure::Unreadable => {
            return Some(Text::new(
                "Check the endpoint and the type of the provider.",
                "Prüfen Sie den Endpunkt und den Typ des Anbieters.",
            ));
        }
        ModelTestFailure::LimitReached | ModelTestFailure::Stopping => return None,
    };

    Some(match outcome {
        AttemptOutcome::Answered => return None,
        AttemptOutcome::KeyRefused => Text::new(
            "Check the API key, and that it may use this model.",
            "Prüfen Sie den API-Schlüssel und ob er dieses Modell nutzen darf.",
        ),
        AttemptOutcome::Busy => Text::new(
            "Try again later, add another API key, or raise the limits of your account with the \
             provider.",
            "Versuchen Sie es später erneut, ergänzen Sie einen API-Schlüssel oder erhöhen Sie die \
             Limits Ihres Kontos beim Anbieter.",
        ),
        AttemptOutcome::Refused => Text::new(
            "Check the name of the model and the endpoint. The server’s log has the provider’s \
             code.",
            "Prüfen Sie den Namen des Modells und den Endpunkt. Das Protokoll des Servers nennt \
             den Code des Anbieters.",
        ),
        AttemptOutcome::Failed => Text::new(
            "Look at the status page of the provider, or at the log of your own model server.",
            "Sehen Sie auf der Statusseite des Anbieters nach oder im Protokoll Ihres eigenen \
             Modellservers.",
        ),
        AttemptOutcome::Unreachable | AttemptOutcome::Silent => Text::new(
            "Check the endpoint, and that this server may connect to it.",
            "Prüfen Sie den Endpunkt und ob dieser Server ihn erreichen darf.",
        ),
    })
}

const TITLE: Text = Text::new("Test call", "Testaufruf");
const INTRO: Text = Text::new(
    "Sends one short question to the provider. The provider bills it; no credits are charged.",
    "Sendet eine kurze Frage an den Anbieter. Der Anbieter berechnet sie; Credits kostet sie nicht.",
);
const TEST: Text = Text::new("Test model", "Modell testen");
const RESULT: Text = Text::new("Result of the test", "Ergebnis des Tests");
const DURATION: Text = Text::new("Duration", "Dauer");
const MILLISECONDS: Text = Text::new("{} ms", "{} ms");
const ANSWER: Text = Text::new("Answer", "Antwort");
const EMPTY_ANSWER: Text = Text::new("No text", "Kein Text");
const DIMENSIONS: Text = Text::new("Vector of {} dimensions", "Vektor mit {} Dimensionen");
const RESULTS: Text = Text::new("{} results", "{} Ergebnisse");
const STATUS: Text = Text::new("HTTP status {}", "HTTP-Status {}");
const UNREADABLE: Text = Text::new("The answer cannot be read", "Die Antwort ist nicht lesbar");
const LIMIT_REACHED: Text = Text::new(
    "The limits of this entry have been reached",
    "Die Limits dieses Eintrags sind erreicht",
);
const STOPPING: Text = Text::new("The server is stopping", "Der Server wird beendet");
const ADVICE: Text = Text::new("What to do", "Nächste Schritte");
