//! `pia-server admin credits …`: administers budgets beside a running server.

use std::sync::Arc;

use pia_assistant::{CreditMismatch, CreditStore, Micros, TopUpOutcome, Weeks};
use pia_kernel::{Clock, LiveSetting, SideEffects};
use pia_policy::GroupError;
use pia_settings::CreditsCommand;
use pia_storage::Database;
use pia_storage_assistant::SqlCreditStore;

use super::groups::GroupServices;
use super::{AdminError, line};

/// Services that administer budgets, without a server around them.
pub(super) struct CreditServices {
    credit_store: SqlCreditStore,
    clock: Arc<dyn Clock>,
}

impl CreditServices {
    pub(super) fn open(db: &Database, clock: &Arc<dyn Clock>) -> Self {
        let weeks = LiveSetting::new(Weeks::default());
        Self {
            credit_store: SqlCreditStore::idle(db.clone(), weeks, Arc::clone(clock)),
            clock: Arc::clone(clock),
        }
    }

    /// Runs a command, and returns what to print.
    pub(super) async fn run(
        &self,
        groups: &GroupServices,
        command: CreditsCommand,
    ) -> Result<String, AdminError> {
        match command {
            CreditsCommand::Check => self.check().await,
            CreditsCommand::TopUp { group, credits } => self.top_up(groups, &group, credits).await,
        }
    }

    async fn check(&self) -> Result<String, AdminError> {
        let mismatches = self.credit_store.find_mismatches().await?;
        if mismatches.is_empty() {
            return Ok("Reserved credits match the reservations of open calls\n".to_owned());
        }
        let mut output = String::from(
            "reserved credits and open reservations differ, in millionths of a credit:\n",
        );
        for CreditMismatch { window, reserved, open } in mismatches {
            line(&mut output, format_args!("{window}: reserved {}, open {}", reserved.0, open.0));
        }
        Err(AdminError::Unsound(output))
    }

    async fn top_up(
        &self,
        groups: &GroupServices,
        group: &str,
        credits: i64,
    ) -> Result<String, AdminError> {
        let group = groups.resolve(group).await?.group;
        let at = self.clock.now();
        let object = format!("group:{}", group.id);
        let effects = SideEffects::of_object(at, None, object, "Group.ToppedUp");
        let added = Micros::credits(credits);
        let outcome = self.credit_store.top_up(group.id, added, None, effects).await?;
        let TopUpOutcome::Done(total) = outcome else { return Err(GroupError::Unknown.into()) };
        let total = total.rounded_down();
        let name = group.name.as_str();
        Ok(format!("{credits} credits added to group {name}, {total} in total\n"))
    }
}
