//! Problems that an administrator should act on.

use pia_assistant::GroupBudget;
use pia_http::{Problem, Volume};
use pia_kernel::{BudgetPeriod, Timestamp};
use pia_policy::GroupEntry;
use pia_web::ApiError;

use crate::admin::{first_steps, jobs, licence, models, settings, users};
use crate::page_context::PageContext;
use crate::ui::table::Tone;
use crate::ui::{Cell, Section, Text, format};

/// Maximum number of problems; the most urgent come first.
const MAX_PROBLEMS: usize = 20;

/// Setting of the file with the certificate.
const CERTIFICATE_SETTING: &str = "Server:Tls:CertificatePath";

/// Problem with its label.
struct LabelledProblem {
    label: String,
    text: String,
    /// Path of the page that concerns it; empty if there is none.
    path: String,
}

impl LabelledProblem {
    fn new(page: &PageContext, label: Text, text: String, path: &str) -> Self {
        Self { label: page.t(label).to_owned(), text, path: path.to_owned() }
    }
}

/// Returns the section with the problems and open steps that need attention.
pub(super) async fn section(
    page: &PageContext,
    groups: &[GroupEntry],
) -> Result<Section, ApiError> {
    let licence = page.gates()?.licence.get();
    let mut problems = page.api.problems(&licence).await?;
    problems.sort_by_key(|it| !it.is_critical());
    let all_facts = problems.iter().filter_map(|it| fact(page, groups, it));
    let facts: Vec<_> = all_facts.take(MAX_PROBLEMS).collect();
    let steps = open_steps(page, groups.len()).await?;
    let section = Section::new("attention", page.t(TITLE));
    if facts.is_empty() && steps.is_none() {
        return Ok(section.paragraph(page.t(ALL_GOOD)));
    }

    let steps_fact = steps.map(|cell| (page.t(first_steps::TITLE).to_owned(), cell));
    let displayed_facts = facts.into_iter().chain(steps_fact);

    Ok(section.intro(page.t(THIS_INSTANCE)).facts(displayed_facts))
}

/// Returns a problem with its label; `None` if it is of a group that was deleted
/// meanwhile.
fn fact(page: &PageContext, groups: &[GroupEntry], problem: &Problem) -> Option<(String, Cell)> {
    let tone = if problem.is_critical() { Tone::Bad } else { Tone::Warning };
    let detail = match problem {
        Problem::CertificateExpiresSoon(_) => page.t(CERTIFICATE_HINT),
        _ => "",
    };
    let LabelledProblem { label, text, path } = labelled_problem(page, groups, problem)?;
    let path = (!path.is_empty()).then_some(path);
    Some((label, Cell { path, ..Cell::badge(text, tone).detail(detail) }))
}

fn labelled_problem(
    page: &PageContext,
    groups: &[GroupEntry],
    problem: &Problem,
) -> Option<LabelledProblem> {
    let labelled = |label, text, path: &str| LabelledProblem::new(page, label, text, path);
    let with_day = |text: Text, at: Timestamp| page.fill(text, &[&format::day(page.language, at)]);
    let with_count =
        |text: Text, count: u64| page.fill(text, &[&format::number(page.language, count)]);

    Some(match problem {
        Problem::NoLicence => labelled(LICENCE, page.t(LICENCE_MISSING).to_owned(), licence::PATH),
        Problem::LicenceExpired(at) => labelled(LICENCE, with_day(EXPIRED, *at), licence::PATH),
        Problem::LicenceExpiresSoon(at) => labelled(LICENCE, with_day(EXPIRES, *at), licence::PATH),
        Problem::CertificateExpiresSoon(at) => {
            let path = settings::path_of(CERTIFICATE_SETTING);
            labelled(CERTIFICATE, with_day(EXPIRES, *at), &path)
        }
        Problem::VolumeNearlyFull(volume) => volume_problem(page, volume),
        Problem::EmailsFailed(count) => {
            labelled(EMAIL, with_count(EMAIL_FAILED, *count), "admin/mail?state=failed")
        }
        Problem::EmailsPostponed(count) => {
            labelled(EMAIL, with_count(EMAILS_POSTPONED, *count), "admin/mail?state=postponed")
        }
        Problem::ModelFailed { key, outcome } => LabelledProblem {
            label: page.fill(MODEL, &[key]),
            text: page.t(models::attempts::outcome_text(*outcome)).to_owned(),
            path: models::path_of(key),
        },
        Problem::AssignmentsDelayed { queued, since } => {
            let queued = format::number(page.language, *queued);
            let text = page.fill(DELAYED, &[&queued, &format::time(page.language, *since)]);
            labelled(ASSIGNMENTS, text, "admin/assignments")
        }
        Problem::MaintenanceFailed(task) => {
            let text = page.fill(MAINTENANCE_FAILED, &[page.t(jobs::task_text(*task))]);
            labelled(MAINTENANCE, text, "admin/jobs")
        }
        Problem::SettingUnreadable(key) => LabelledProblem {
            label: page.fill(SETTING, &[key]),
            text: page.t(SETTING_UNREADABLE).to_owned(),
            path: settings::path_of(key),
        },
        Problem::BudgetNearlyUsed(budget) => budget_problem(page, groups, budget)?,
        Problem::AdminsWithoutFactor(count) => {
            labelled(ADMINS, with_count(WITHOUT_FACTOR, *count), users::ADMINS_WITHOUT_FACTOR)
        }
    })
}

fn volume_problem(page: &PageContext, volume: &Volume) -> LabelledProblem {
    let bytes = |bytes| format::bytes(page.language, bytes);
    let free = page.fill(FREE, &[&bytes(volume.free), &bytes(volume.size)]);
    let text = format!("{}: {free}", volume.folder.display());
    LabelledProblem { label: page.t(DISK_SPACE).to_owned(), text, path: String::new() }
}

fn budget_problem(
    page: &PageContext,
    groups: &[GroupEntry],
    budget: &GroupBudget,
) -> Option<LabelledProblem> {
    let group = &groups.iter().find(|it| it.group.id == budget.group)?.group;
    let text = if budget.period == BudgetPeriod::GroupDaily { DAILY_USED } else { WEEKLY_USED };
    let used = format::percent(page.language, budget.percent());
    let limit = format::number(page.language, budget.limit);
    Some(LabelledProblem {
        label: page.fill(BUDGET, &[group.name.as_str()]),
        text: page.fill(text, &[&used, &limit]),
        path: format!("admin/groups/{}", group.id),
    })
}

async fn open_steps(page: &PageContext, groups: usize) -> Result<Option<Cell>, ApiError> {
    let text = match first_steps::count_open(page, groups).await? {
        0 => return Ok(None),
        1 => page.t(OPEN_STEP).to_owned(),
        count => page.fill(OPEN_STEPS, &[&format::number(page.language, count as u64)]),
    };
    Ok(Some(Cell::link(text, first_steps::PATH)))
}

const TITLE: Text = Text::new("Needs attention", "Handlungsbedarf");
const ALL_GOOD: Text =
    Text::new("Nothing needs your attention.", "Zurzeit besteht kein Handlungsbedarf.");
const THIS_INSTANCE: Text = Text::new(
    "Models, disk space and the certificate are checked on the instance that serves this page.",
    "Modelle, Speicherplatz und Zertifikat werden auf der Instanz geprüft, die diese Seite \
     ausliefert.",
);
const LICENCE: Text = Text::new("Licence", "Lizenz");
const LICENCE_MISSING: Text = Text::new("No valid licence", "Keine gültige Lizenz");
const EXPIRED: Text = Text::new("Expired on {}", "Abgelaufen am {}");
const EXPIRES: Text = Text::new("Expires on {}", "Läuft am {} ab");
const CERTIFICATE: Text = Text::new("TLS certificate", "TLS-Zertifikat");
const CERTIFICATE_HINT: Text = Text::new(
    "Renew it in the files of Server:Tls:CertificatePath and Server:Tls:KeyPath. The server reads \
     them again within seconds.",
    "Erneuern Sie es in den Dateien von Server:Tls:CertificatePath und Server:Tls:KeyPath. Der \
     Server liest sie innerhalb von Sekunden neu ein.",
);
const DISK_SPACE: Text = Text::new("Disk space", "Speicherplatz");
const FREE: Text = Text::new("{} of {} free", "{} von {} frei");
const EMAIL: Text = Text::new("Email", "E-Mail");
const EMAIL_FAILED: Text = Text::new("Failed to send: {}", "Nicht gesendet: {}");
const EMAILS_POSTPONED: Text = Text::new("Retrying: {}", "Neuer Versuch folgt: {}");
const MODEL: Text = Text::new("Model {}", "Modell {}");
const ASSIGNMENTS: Text = Text::new("Assignments", "Aufträge");
const DELAYED: Text =
    Text::new("{} waiting, the oldest since {}", "{} in der Warteschlange, der älteste seit {}");
const MAINTENANCE: Text = Text::new("Maintenance", "Wartung");
const MAINTENANCE_FAILED: Text = Text::new("Failed: {}", "Fehlgeschlagen: {}");
const SETTING: Text = Text::new("Setting {}", "Einstellung {}");
const SETTING_UNREADABLE: Text = Text::new(
    "Not in effect: encrypted with another master key",
    "Nicht wirksam: mit einem anderen Hauptschlüssel verschlüsselt",
);
const OPEN_STEP: Text = Text::new("One step left to do", "Ein Schritt ist noch zu erledigen");
const OPEN_STEPS: Text = Text::new("{} steps left to do", "{} Schritte sind noch zu erledigen");
const BUDGET: Text = Text::new("Budget of {}", "Budget von {}");
const DAILY_USED: Text = Text::new(
    "{} of the {} credits for 24 hours are used",
    "{} von {} Credits für 24 Stunden sind verbraucht",
);
const WEEKLY_USED: Text = Text::new(
    "{} of the {} credits for this week are used",
    "{} von {} Credits dieser Woche sind verbraucht",
);
const ADMINS: Text = Text::new("Administrators", "Administratoren");
const WITHOUT_FACTOR: Text =
    Text::new("Without a second factor or passkey: {}", "Ohne zweiten Faktor oder Passkey: {}");

#[cfg(test)]
mod tests {
    use pia_kernel::Language;

    use super::*;
    use crate::texts::settings::description;

    #[test]
    fn a_certificate_is_renewed_in_the_files_of_its_settings() {
        for language in [Language::En, Language::De] {
            let hint = CERTIFICATE_HINT.of(language);

            for key in [CERTIFICATE_SETTING, "Server:Tls:KeyPath"] {
                assert!(description(key).is_some() && hint.contains(key), "{key}: {hint}");
            }
            assert!(!hint.contains("restart") && !hint.contains("starten"), "{hint}");
        }
    }
}
