//! Outbox of queued emails, in SQL.
//!
//! A claim is one guarded update that sets `claimed_until` and increments
//! `tries`. That number identifies the claim: `retry` and `give_up` change
//! nothing once a later claim has incremented it.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{MailId, Timestamp, Unavailable};
use pia_outbox::{ClaimResult, ClaimToken, ClaimedEmail, Outbox, OutgoingEmail};
use pia_sealing::UnsealError;
use pia_storage::schema::mails::{
    self, claimed_until, due_at, failed_at, failure, id, queued_at, sealed, tries,
};
use pia_storage::{Database, DbError, DbInstant, DbUid, StoredEmail, on_conn};

/// Number of due emails that are read together. Larger than the number of senders, so
/// that one who loses the race for the first still gets another.
const AT_ONCE: i64 = 32;

/// Adapter of `Outbox` over the table `mails`.
#[derive(Debug, Clone)]
pub struct SqlOutbox {
    db: Database,
}

/// Columns of a claimed email.
#[derive(Queryable)]
struct ClaimedRow {
    id: DbUid,
    tries: i32,
    queued_at: DbInstant,
    sealed: Option<Vec<u8>>,
}

/// Condition for emails that are due and unclaimed.
macro_rules! is_due {
    ($now:expr) => {
        failed_at
            .is_null()
            .and(due_at.le($now))
            .and(claimed_until.is_null().or(claimed_until.le($now)))
    };
}

/// Selects an email, as long as the claim on it is the latest.
macro_rules! of_claim {
    ($claim:expr) => {
        mails::table
            .find(DbUid($claim.mail.0))
            .filter(failed_at.is_null().and(tries.eq(number($claim.tries))))
    };
}

impl SqlOutbox {
    /// Creates the outbox of the emails in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Reads due emails without a lock, and then claims one by a statement that
    /// succeeds only while it is unclaimed.
    async fn claim_next(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimedRow>, DbError> {
        loop {
            let due_emails = self.due(DbInstant(now)).await?;
            if due_emails.is_empty() {
                return Ok(None);
            }

            for mail in due_emails {
                let claimed = self.try_claim(mail, DbInstant(now), DbInstant(until)).await?;
                if claimed.is_some() {
                    return Ok(claimed);
                }
            }
            // Other servers claimed all of them, so that none is found again.
        }
    }

    async fn due(&self, now: DbInstant) -> Result<Vec<DbUid>, DbError> {
        let due_emails =
            mails::table.filter(is_due!(now)).order((due_at, id)).select(id).limit(AT_ONCE);
        on_conn!(self.db.reader(), |conn| due_emails.load(conn).await?)
    }

    async fn try_claim(
        &self,
        mail: DbUid,
        now: DbInstant,
        until: DbInstant,
    ) -> Result<Option<ClaimedRow>, DbError> {
        let free = mails::table.find(mail).filter(is_due!(now));
        let claim = diesel::update(free)
            .set((claimed_until.eq(until), tries.eq(tries + 1)))
            .returning((id, tries, queued_at, sealed));
        on_conn!(self.db.writer(), |conn| claim.get_result(conn).await.optional()?)
    }

    fn open_claimed(&self, row: ClaimedRow) -> Result<ClaimResult, DbError> {
        let claim = ClaimToken {
            mail: MailId(row.id.0),
            tries: u32::try_from(row.tries).unwrap_or_default(),
            queued_at: row.queued_at.0,
        };

        let content = row.sealed.unwrap_or_default();
        Ok(match StoredEmail::open(self.db.seal()?, claim.mail, &content) {
            Ok(stored_email) => {
                let email = to_outgoing(stored_email);
                ClaimResult::Mail(Box::new(ClaimedEmail { claim, email }))
            }
            Err(UnsealError::Unavailable(err)) => return Err(err.into()),
            Err(UnsealError::OtherKey(_)) => ClaimResult::Locked(claim),
            Err(UnsealError::Shredded | UnsealError::Malformed | UnsealError::Forged) => {
                ClaimResult::Ruined(claim)
            }
        })
    }

    async fn count(&self) -> Result<i64, DbError> {
        let waiting = mails::table.filter(failed_at.is_null()).count();
        Ok(on_conn!(self.db.reader(), |conn| waiting.get_result(conn).await?)?)
    }
}

#[async_trait]
impl Outbox for SqlOutbox {
    async fn claim(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ClaimResult>, Unavailable> {
        let claimed = self.claim_next(now, until).await?;
        Ok(claimed.map(|it| self.open_claimed(it)).transpose()?)
    }

    async fn sent(&self, claim: ClaimToken) -> Result<(), Unavailable> {
        let row = mails::table.find(DbUid(claim.mail.0));
        on_conn!(self.db.writer(), |conn| diesel::delete(row).execute(conn).await?)?;
        Ok(())
    }

    async fn retry(
        &self,
        claim: ClaimToken,
        due: Timestamp,
        reason: &str,
    ) -> Result<(), Unavailable> {
        let update = diesel::update(of_claim!(claim)).set((
            due_at.eq(DbInstant(due)),
            claimed_until.eq(None::<DbInstant>),
            failure.eq(reason),
        ));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn give_up(
        &self,
        claim: ClaimToken,
        at: Timestamp,
        reason: &str,
    ) -> Result<(), Unavailable> {
        let update = diesel::update(of_claim!(claim)).set((
            sealed.eq(None::<Vec<u8>>),
            claimed_until.eq(None::<DbInstant>),
            failed_at.eq(DbInstant(at)),
            failure.eq(reason),
        ));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)?;
        Ok(())
    }

    async fn waiting(&self) -> Result<u64, Unavailable> {
        Ok(u64::try_from(self.count().await?).unwrap_or_default())
    }

    async fn sweep(&self, before: Timestamp) -> Result<u64, Unavailable> {
        let deadline = DbInstant(before);
        let is_unsent = failed_at.is_null().and(queued_at.le(deadline));
        let deletion = diesel::delete(mails::table.filter(failed_at.le(deadline).or(is_unsent)));
        Ok((on_conn!(self.db.writer(), |conn| deletion.execute(conn).await?)?) as u64)
    }
}

fn to_outgoing(email: StoredEmail) -> OutgoingEmail {
    let StoredEmail { to, template, fields, language, at, address, agent } = email;
    OutgoingEmail { to, name: template, fields, language, at, address, agent }
}

fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
