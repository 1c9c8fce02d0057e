//! Maintenance tasks and their last runs.

use std::collections::HashMap;

use pia_kernel::{MaintenanceKind, MaintenanceRun};
use pia_web::Route;

use crate::page_context::{PageContext, PageResult};
use crate::routes::pages::page;
use crate::texts::common;
use crate::ui::table::Tone;
use crate::ui::{Cell, Row, Section, Table, Text, View, format};

pub(super) fn routes() -> Vec<Route> {
    vec![page("/admin/jobs", |it| it.to(list))]
}

async fn list(page: PageContext) -> PageResult {
    let runs: HashMap<_, _> = page
        .run(|api| async move { api.maintenance.last_runs().await })
        .await?
        .into_iter()
        .collect();
    let columns = [TASK, common::STATUS, STARTED, FINISHED, INSTANCE];
    let rows = MaintenanceKind::ALL.into_iter().map(|it| task_row(&page, it, runs.get(&it)));
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: columns.map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        ..Table::default()
    };
    let section = Section::new("jobs", "").table(table).paragraph(page.t(INSTANCE_HINT));

    Ok(page.render(View::new(page.t(TITLE)).intro(page.t(INTRO)).section(section)))
}

fn task_row(page: &PageContext, task: MaintenanceKind, run: Option<&MaintenanceRun>) -> Row {
    let time = |at| Cell::text(format::time(page.language, at));
    let name = Cell::text(page.t(task_text(task)));
    let Some(run) = run else {
        let status = Cell::badge(page.t(NOT_RUN), Tone::Neutral);
        return Row::new(vec![name, status, Cell::default(), Cell::default(), Cell::default()]);
    };

    Row::new(vec![
        name,
        status_cell(page, run),
        time(run.started_at),
        run.finished_at.map(time).unwrap_or_default(),
        Cell::text(&run.instance),
    ])
}

fn status_cell(page: &PageContext, run: &MaintenanceRun) -> Cell {
    let (text, tone) = match &run.error {
        Some(_) => (FAILED, Tone::Bad),
        None if run.is_unfinished() => (RUNNING, Tone::Neutral),
        None => (COMPLETED, Tone::Good),
    };
    Cell::badge(page.t(text), tone).quoted(page.t(common::REPORTED), run.error.as_deref())
}

pub(super) fn task_text(task: MaintenanceKind) -> Text {
    match task {
        MaintenanceKind::Sessions => Text::new("Expired sessions", "Abgelaufene Sitzungen"),
        MaintenanceKind::SignInHistory => Text::new("Old sign-ins", "Alte Anmeldungen"),
        MaintenanceKind::FactorChallenges => Text::new(
            "Sign-ins waiting for a second factor",
            "Anmeldungen, die auf den zweiten Faktor warten",
        ),
        MaintenanceKind::UnfinishedFactors => Text::new(
            "Unfinished second-factor setups",
            "Nicht fertig eingerichtete zweite Faktoren",
        ),
        MaintenanceKind::EmailTokens => Text::new("Expired links", "Abgelaufene Links"),
        MaintenanceKind::PasskeyChallenges => {
            Text::new("Unfinished passkey sign-ins", "Abgebrochene Anmeldungen mit Passkey")
        }
        MaintenanceKind::ProviderSignIns => Text::new(
            "Unfinished sign-ins at identity providers",
            "Abgebrochene Anmeldungen bei Identitätsanbietern",
        ),
        MaintenanceKind::Invitations => Text::new("Expired invitations", "Abgelaufene Einladungen"),
        MaintenanceKind::UnverifiedAccounts => {
            Text::new("Accounts never verified", "Nie bestätigte Konten")
        }
        MaintenanceKind::RateLimits => Text::new("Old rate limits", "Alte Anfragelimits"),
        MaintenanceKind::PasswordThrottle => {
            Text::new("Old counts of wrong passwords", "Alte Zähler falscher Passwörter")
        }
        MaintenanceKind::AuditEntries => Text::new("Old audit entries", "Alte Audit-Einträge"),
        MaintenanceKind::SyncEvents => {
            Text::new("Old synchronisation events", "Alte Synchronisierungsereignisse")
        }
        MaintenanceKind::Feedback => Text::new("Old feedback", "Alte Rückmeldungen"),
        MaintenanceKind::UnansweredQuestions => {
            Text::new("Old unanswered questions", "Alte unbeantwortete Fragen")
        }
        MaintenanceKind::UsageHours => Text::new("Old usage by hour", "Alte Nutzung je Stunde"),
        MaintenanceKind::Emails => Text::new("Old failed emails", "Alte fehlgeschlagene E-Mails"),
        MaintenanceKind::DeletedTraces => Text::new(
            "Deleted data in the database’s log",
            "Gelöschte Daten im Protokoll der Datenbank",
        ),
    }
}

const TITLE: Text = Text::new("Maintenance", "Wartung");
const INTRO: Text = Text::new(
    "Every ten minutes, each instance of the server deletes data that has expired. The table shows \
     the most recent run of each task.",
    "Alle zehn Minuten löscht jede Instanz des Servers abgelaufene Daten. Die Tabelle zeigt den \
     letzten Lauf jeder Aufgabe.",
);
const TASK: Text = Text::new("Task", "Aufgabe");
const STARTED: Text = Text::new("Last started", "Zuletzt begonnen");
const FINISHED: Text = Text::new("Last finished", "Zuletzt beendet");
const INSTANCE: Text = Text::new("Instance", "Instanz");
const INSTANCE_HINT: Text = Text::new(
    "Instances are named by host and process ID.",
    "Instanzen sind nach Rechner und Prozess-ID benannt.",
);
const NOT_RUN: Text = Text::new("Not run yet", "Noch nicht gelaufen");
const RUNNING: Text = Text::new("Running", "Läuft");
const COMPLETED: Text = Text::new("Completed", "Abgeschlossen");
const FAILED: Text = Text::new("Failed", "Fehlgeschlagen");
