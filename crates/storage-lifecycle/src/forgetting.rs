//! What is forgotten with a person, in all tables.

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_kernel::UserId;
use pia_storage::schema::{
    accounts, ai_usage, attempts, audit_identities, credit_reservations, credit_windows, guesses,
    invitations,
};
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbUid};

use crate::pseudonym::pseudonym;

/// A connection that can forget people. Call it inside a transaction, under
/// the account's lock.
pub(crate) trait Forgets {
    /// Forgets a person and all that is theirs. What refers to their account
    /// goes with it; what does not is named here.
    fn forget(
        &mut self,
        user: UserId,
        email_folded: &str,
    ) -> impl Future<Output = Result<(), DbError>> + Send;
}

/// A function generic over connections would have to name the type of every
/// query in its bounds, so the one body is compiled twice, as in `on_conn!`.
macro_rules! forgets {
    ($($conn:ty),*) => {$(
        impl Forgets for $conn {
            async fn forget(&mut self, user: UserId, email_folded: &str) -> Result<(), DbError> {
                let (named, theirs) = (format!("%{user}%"), format!("{user}:%"));
                let (nobody, user) = (pseudonym()?, DbUid(user.0));
                // Before usage, as whoever books a call locks them first.
                let counted = credit_windows::table.filter(credit_windows::user_id.eq(user));
                let counted = diesel::delete(counted).returning(credit_windows::key);
                let counted: Vec<String> = counted.get_results(self).await?;
                let open = credit_reservations::window_key.eq_any(counted);
                let open = open.or(credit_reservations::window_key.like(&theirs));
                let open = diesel::delete(credit_reservations::table.filter(open));
                open.execute(self).await?;
                self.hold_usage().await?;
                let used = diesel::update(ai_usage::table.filter(ai_usage::user_id.eq(user)));
                used.set(ai_usage::user_id.eq(nobody)).execute(self).await?;
                let told = audit_identities::table.filter(audit_identities::user_id.eq(user));
                diesel::delete(told).execute(self).await?;
                let invited = invitations::table;
                let invited = invited.filter(invitations::email_folded.eq(email_folded));
                diesel::delete(invited).execute(self).await?;
                let counted = attempts::table.filter(attempts::who.like(&named));
                diesel::delete(counted).execute(self).await?;
                let guessed = guesses::table.filter(guesses::who.like(&named));
                diesel::delete(guessed).execute(self).await?;
                diesel::delete(accounts::table.find(user)).execute(self).await?;
                Ok(())
            }
        }
    )*};
}

forgets!(AsyncSqlite, AsyncPostgres);

/// Keeps usage from being written until the commit.
///
/// Whoever writes usage looks for its account in the same transaction: what is
/// written before is then seen and renamed, and what comes after finds that the
/// account is gone.
trait HoldUsage {
    async fn hold_usage(&mut self) -> QueryResult<()>;
}

/// There is one writer anyway.
impl HoldUsage for AsyncSqlite {
    async fn hold_usage(&mut self) -> QueryResult<()> {
        Ok(())
    }
}

impl HoldUsage for AsyncPostgres {
    async fn hold_usage(&mut self) -> QueryResult<()> {
        self.batch_execute("LOCK TABLE ai_usage IN SHARE ROW EXCLUSIVE MODE").await
    }
}
