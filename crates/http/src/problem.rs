//! Problems that an administrator should act on.
//!
//! `Api::problems` collects them from their domains, which decide the thresholds;
//! problems of this instance come first, then those that every instance finds in
//! the database. `GET /api/admin/problems` and the console's overview present them.

use std::sync::Arc;

use pia_assistant::{AttemptOutcome, GroupBudget};
use pia_kernel::{MaintenanceKind, Timestamp};
use pia_policy::{LicenceState, Licensed, ListedSetting};

use crate::host_status::{Volume, expires_soon};
use crate::{Api, HttpError};

/// Problem that an administrator should act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// No licence is in force.
    NoLicence,
    /// Licence has expired.
    LicenceExpired(Timestamp),
    /// Licence expires within 30 days.
    LicenceExpiresSoon(Timestamp),
    /// TLS certificate of this instance expires within two weeks, or has.
    CertificateExpiresSoon(Timestamp),
    /// Volume of this instance has little free space.
    VolumeNearlyFull(Volume),
    /// Emails could not be sent; nobody tries again.
    EmailsFailed(u64),
    /// Emails could not be sent yet.
    EmailsPostponed(u64),
    /// Last call of a model by this instance failed.
    ModelFailed {
        /// Key of the model in the catalogue.
        key: String,
        /// Outcome of that call.
        outcome: AttemptOutcome,
    },
    /// An assignment has waited for more than ten minutes.
    AssignmentsDelayed {
        /// Number of assignments that wait.
        queued: i64,
        /// Time at which the oldest was handed over.
        since: Timestamp,
    },
    /// Last run of a maintenance task failed.
    MaintenanceFailed(MaintenanceKind),
    /// Secret setting that was encrypted with another master key, by its key.
    SettingUnreadable(String),
    /// Budget of a group is used up to 80 % or more.
    BudgetNearlyUsed(GroupBudget),
    /// Number of active administrators with a password and without a second factor.
    AdminsWithoutFactor(u64),
}

impl Problem {
    /// Returns whether something does not work now, rather than soon.
    pub fn is_critical(&self) -> bool {
        match self {
            Self::NoLicence
            | Self::LicenceExpired(_)
            | Self::VolumeNearlyFull(_)
            | Self::EmailsFailed(_)
            | Self::ModelFailed { .. }
            | Self::MaintenanceFailed(_)
            | Self::SettingUnreadable(_) => true,
            Self::LicenceExpiresSoon(_)
            | Self::CertificateExpiresSoon(_)
            | Self::EmailsPostponed(_)
            | Self::AssignmentsDelayed { .. }
            | Self::BudgetNearlyUsed(_)
            | Self::AdminsWithoutFactor(_) => false,
        }
    }
}

impl Api {
    /// Lists the problems of the server and of this instance, under this
    /// licence.
    pub async fn problems(
        self: &Arc<Self>,
        licence: &LicenceState,
    ) -> Result<Vec<Problem>, HttpError> {
        let now = self.clock.now();
        let mut problems = Vec::new();
        problems.extend(licence_problem(licence, now));
        let certificate_end =
            self.host.certificate_expires_at().filter(|it| expires_soon(*it, now));
        problems.extend(certificate_end.map(Problem::CertificateExpiresSoon));
        let volumes = self.host.volumes().await.into_iter().filter(Volume::is_nearly_full);
        problems.extend(volumes.map(Problem::VolumeNearlyFull));

        problems.extend(self.models.list().into_iter().filter_map(|it| {
            let outcome = it.failure()?;
            Some(Problem::ModelFailed { key: it.key, outcome })
        }));
        let load = Box::pin(self.run(|api| async move { api.stored_problems(now).await }));
        problems.extend(load.await?);

        Ok(problems)
    }

    /// Lists the problems that all instances find in the database.
    async fn stored_problems(&self, now: Timestamp) -> Result<Vec<Problem>, HttpError> {
        let mut problems = Vec::new();
        let emails = self.mails.counts().await?;
        if emails.failed > 0 {
            problems.push(Problem::EmailsFailed(emails.failed));
        }

        if emails.postponed > 0 {
            problems.push(Problem::EmailsPostponed(emails.postponed));
        }

        let queue = self.assignments.administration.queue().await?;
        if queue.is_delayed(now)
            && let Some(since) = queue.oldest_queued_at
        {
            problems.push(Problem::AssignmentsDelayed { queued: queue.queued, since });
        }

        let runs = self.maintenance.last_runs().await?;
        let failed_runs = runs.into_iter().filter(|(_, run)| run.error.is_some());
        problems.extend(failed_runs.map(|(task, _)| Problem::MaintenanceFailed(task)));
        let settings = self.settings.list().await?;
        let unreadable = settings.into_iter().filter(ListedSetting::is_unreadable);
        problems.extend(unreadable.map(|it| Problem::SettingUnreadable(it.setting.key)));
        let budgets = self.credits.nearly_used_budgets().await?;
        problems.extend(budgets.into_iter().map(Problem::BudgetNearlyUsed));
        let admins = self.administration.security.count_admins_without_factor().await?;
        if admins > 0 {
            problems.push(Problem::AdminsWithoutFactor(admins));
        }

        Ok(problems)
    }
}

fn licence_problem(licence: &LicenceState, now: Timestamp) -> Option<Problem> {
    match licence.at(now) {
        Licensed::Not => Some(Problem::NoLicence),
        Licensed::Expired(it) => it.expires_at.map(Problem::LicenceExpired),
        Licensed::Valid(it) if it.expires_soon(now) => {
            it.expires_at.map(Problem::LicenceExpiresSoon)
        }
        Licensed::Valid(_) => None,
    }
}
