//! `/api/admin/problems`.

use actix_web::web::{Data, Json};
use pia_web::Gates;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError, Problem};

/// Lists problems of the server and of the instance that answers.
pub(crate) async fn list(
    api: Data<Api>,
    gates: Data<Gates>,
) -> Result<Json<Vec<ProblemResponse>>, HttpError> {
    let problems = api.problems(&gates.licence.get()).await?;
    Ok(Json(problems.into_iter().map(ProblemResponse::from).collect()))
}

/// Problem that an administrator should act on.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProblemResponse {
    /// Kind: `no_license`, `license_expired`, `license_expires_soon`,
    /// `certificate_expires_soon`, `volume_nearly_full`, `emails_failed`,
    /// `emails_postponed`, `model_failed`, `assignments_delayed`,
    /// `maintenance_failed`, `setting_unreadable`, `budget_nearly_used` or
    /// `admins_without_factor`.
    kind: &'static str,
    /// `critical` if something does not work now, or `warning`.
    severity: &'static str,
    /// Key of the model or setting, name of the maintenance task, folder, or id
    /// of the group that is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// Text for people, in English.
    message: String,
}

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> Self {
        let severity = if problem.is_critical() { "critical" } else { "warning" };

        let (kind, subject, message) = match problem {
            Problem::NoLicence => ("no_license", None, "No licence is in force.".to_owned()),
            Problem::LicenceExpired(at) => {
                ("license_expired", None, format!("The licence expired at {at}."))
            }
            Problem::LicenceExpiresSoon(at) => {
                ("license_expires_soon", None, format!("The licence expires at {at}."))
            }
            Problem::CertificateExpiresSoon(at) => {
                ("certificate_expires_soon", None, format!("The TLS certificate expires at {at}."))
            }
            Problem::VolumeNearlyFull(it) => {
                let message = format!("{} of {} bytes are free.", it.free, it.size);
                ("volume_nearly_full", Some(it.folder.display().to_string()), message)
            }
            Problem::EmailsFailed(count) => {
                ("emails_failed", None, format!("Emails that could not be sent: {count}."))
            }
            Problem::EmailsPostponed(count) => (
                "emails_postponed",
                None,
                format!("Emails that wait for another attempt: {count}."),
            ),
            Problem::ModelFailed { key, outcome } => {
                let message = format!("The last call ended as `{}`.", outcome.name());
                ("model_failed", Some(key), message)
            }
            Problem::AssignmentsDelayed { queued, since } => {
                let message = format!("Assignments that wait: {queued}, the oldest since {since}.");
                ("assignments_delayed", None, message)
            }
            Problem::MaintenanceFailed(task) => {
                let message = "The last run failed.".to_owned();
                ("maintenance_failed", Some(task.name().to_owned()), message)
            }
            Problem::SettingUnreadable(key) => {
                let message = "The stored value was encrypted with another master key.".to_owned();
                ("setting_unreadable", Some(key), message)
            }
            Problem::BudgetNearlyUsed(it) => {
                let percent = it.percent();
                let period = it.period.name();
                let message = format!("{percent} % of the {period} limit of {} is used.", it.limit);
                ("budget_nearly_used", Some(it.group.to_string()), message)
            }
            Problem::AdminsWithoutFactor(count) => {
                let message = format!("Administrators without a second factor: {count}.");
                ("admins_without_factor", None, message)
            }
        };

        Self { kind, severity, subject, message }
    }
}
