//! Verification of the audit log.

use pia_kernel::{ChainFault, ChainReport, Language};
use pia_web::{Licensing, Route};

use super::view::TITLE;
use crate::form_fields::FormFields;
use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::form;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        licensing: Licensing::MayHaveEnded,
        ..form("/admin/audit/verify", |it| it.to(verify))
    }]
}

async fn verify(page: PageContext, _: FormFields) -> PageResult {
    let report = page.api.verify_audit_log().await?;
    Ok(page.render(report_view(&page, &report)))
}

fn report_view(page: &PageContext, report: &ChainReport) -> View {
    let (status, tone) =
        if report.faults.is_empty() { (SOUND, Tone::Good) } else { (UNSOUND, Tone::Bad) };
    let count = |it: u64| Cell::text(format::number(page.language, it));
    let deleted = report.deleted_until.map(|(position, at)| {
        let position = format::number(page.language, position);
        Cell::text(page.fill(UP_TO, &[&position, &format::time(page.language, at)]))
    });

    let facts = [
        (page.t(common::STATUS), Cell::badge(page.t(status), tone)),
        (page.t(VERIFIED), count(report.entries)),
        (page.t(WAITING), count(report.waiting)),
        (page.t(DELETED), deleted.unwrap_or_default()),
    ];
    let result = Section::new("result", "").facts(facts).paragraph(page.t(CHECKPOINT_HINT));
    let view = View::new(page.t(RESULT)).below(page.t(TITLE), "admin/audit").section(result);
    if report.faults.is_empty() {
        return view;
    }

    let table = Table {
        caption: page.t(FAULTS).to_owned(),
        columns: [POSITION, PROBLEM].map(|it| page.t(it).into()).into(),
        rows: report.faults.iter().map(|it| fault_row(page, it)).collect(),
        ..Table::default()
    };

    view.section(Section::new("faults", page.t(FAULTS)).table(table))
}

fn fault_row(page: &PageContext, fault: &ChainFault) -> Row {
    let (position, problem) = match fault {
        ChainFault::Missing { first, .. } => {
            (*first, Text::new("Entries are missing", "Einträge fehlen"))
        }
        ChainFault::Changed { position, .. } => {
            (*position, Text::new("Changed or moved", "Geändert oder verschoben"))
        }
        ChainFault::Rewritten { position } => {
            (*position, Text::new("Rewritten up to this one", "Bis hierher neu geschrieben"))
        }
        ChainFault::Forged { position } => (
            *position,
            Text::new("Checkpoint with an invalid signature", "Prüfpunkt mit ungültiger Signatur"),
        ),
        ChainFault::OtherKey { position, .. } => (
            *position,
            Text::new(
                "Checkpoint signed by another key",
                "Prüfpunkt mit anderem Schlüssel signiert",
            ),
        ),
        ChainFault::DeletedEarly { position, .. } => (
            *position,
            Text::new("Deleted before retention ended", "Vor Ablauf der Aufbewahrung gelöscht"),
        ),
    };

    let position = Cell::text(format::number(page.language, position));
    let detail = fault_detail(page.language, fault);
    Row::new(vec![position, Cell::text(page.t(problem)).detail(detail)])
}

/// Returns the details of a problem, which its name does not contain.
fn fault_detail(language: Language, fault: &ChainFault) -> String {
    let number = |position: &i64| format::number(language, *position);
    match fault {
        ChainFault::Missing { first, last } if first == last => {
            MISSING_ONE.fill(language, &[&number(first)])
        }
        ChainFault::Missing { first, last } => {
            MISSING.fill(language, &[&number(first), &number(last)])
        }
        ChainFault::Changed { id, .. } => CHANGED.fill(language, &[&id.to_string()]),
        ChainFault::Rewritten { .. } => REWRITTEN.of(language).to_owned(),
        ChainFault::Forged { .. } => String::new(),
        ChainFault::OtherKey { public_key, .. } => OTHER_KEY.fill(language, &[public_key]),
        ChainFault::DeletedEarly { at, .. } => {
            DELETED_EARLY.fill(language, &[&format::time(language, *at)])
        }
    }
}

pub(super) const VERIFY: Text = Text::new("Verify the log", "Protokoll prüfen");
pub(super) const VERIFY_HINT: Text = Text::new(
    "Checks that no entry was changed, or deleted before its retention ended. A large log takes a \
     while.",
    "Prüft, dass kein Eintrag geändert oder vor Ablauf seiner Aufbewahrung gelöscht wurde. Bei \
     einem großen Protokoll dauert das etwas.",
);
const RESULT: Text = Text::new("Result of the verification", "Ergebnis der Prüfung");
const SOUND: Text = Text::new("No changes found", "Keine Änderungen gefunden");
const UNSOUND: Text = Text::new("The log was changed", "Das Protokoll wurde verändert");
const VERIFIED: Text = Text::new("Entries verified", "Geprüfte Einträge");
const WAITING: Text = Text::new("New entries, verified later", "Neue Einträge, später geprüft");
const DELETED: Text = Text::new("Deleted after retention", "Nach Ablauf der Aufbewahrung gelöscht");
const UP_TO: Text = Text::new("Entries up to {} ({})", "Einträge bis {} ({})");
const FAULTS: Text = Text::new("Problems", "Probleme");
const POSITION: Text = Text::new("Entry", "Eintrag");
const PROBLEM: Text = Text::new("Problem", "Problem");
const MISSING_ONE: Text = Text::new("Entry {} is missing.", "Eintrag {} fehlt.");
const MISSING: Text = Text::new("Entries {} to {} are missing.", "Die Einträge {} bis {} fehlen.");
const CHANGED: Text = Text::new("Id of the entry: {}", "Id des Eintrags: {}");
const REWRITTEN: Text =
    Text::new("It differs from its checkpoint.", "Er weicht von seinem Prüfpunkt ab.");
const OTHER_KEY: Text = Text::new("Public key: {}", "Öffentlicher Schlüssel: {}");
const DELETED_EARLY: Text = Text::new(
    "The newest of them is of {}. The period is Audit:RetentionDays.",
    "Der neueste von ihnen ist vom {}. Die Frist ist Audit:RetentionDays.",
);
const CHECKPOINT_HINT: Text = Text::new(
    "To detect that the entire log was replaced, verify it with an exported checkpoint: pia-server \
     admin audit verify.",
    "Um zu erkennen, ob das gesamte Protokoll ersetzt wurde, prüfen Sie es mit einem exportierten \
     Prüfpunkt: pia-server admin audit verify.",
);

#[cfg(test)]
mod tests {
    use pia_kernel::Timestamp;

    use super::*;

    #[test]
    fn the_details_of_problems_are_in_the_language_of_the_page() {
        let missing = |first, last| ChainFault::Missing { first, last };
        let other_key = ChainFault::OtherKey { position: 9, public_key: "00ff".to_owned() };
        let deleted_early = ChainFault::DeletedEarly { position: 9, at: Timestamp::UNIX_EPOCH };
        let english = |fault: &ChainFault| fault_detail(Language::En, fault);
        let german = |fault: &ChainFault| fault_detail(Language::De, fault);

        assert_eq!(english(&missing(7, 7)), "Entry 7 is missing.");
        assert_eq!(german(&missing(7, 7)), "Eintrag 7 fehlt.");
        assert_eq!(german(&missing(7, 1200)), "Die Einträge 7 bis 1.200 fehlen.");
        assert_eq!(german(&other_key), "Öffentlicher Schlüssel: 00ff");
        assert!(german(&deleted_early).starts_with("Der neueste von ihnen ist vom 01.01.1970"));
    }
}
