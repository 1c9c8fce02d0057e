//! Emails in the outbox for administrators, in SQL.

use std::collections::BTreeMap;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_kernel::{MailId, PageRequest, SideEffects, TimeOrder, Timestamp, Unavailable, UserId};
use pia_outbox::{MailCounts, MailQueueStore, MailRecord, MailState};
use pia_sealing::UnsealError;
use pia_storage::schema::accounts;
use pia_storage::schema::mails::{
    self, claimed_until, due_at, failed_at, failure, id, letter, queued_at, sealed, tries, user_id,
};
use pia_storage::{
    Database, DbError, DbInstant, DbUid, StoredEmail, WriteEffects, in_time_order, in_tx, on_conn,
};

/// Adapter of `MailQueueStore` over the table `mails`.
#[derive(Debug, Clone)]
pub struct SqlMailQueue {
    db: Database,
}

/// Email with the address of its account.
#[derive(Queryable)]
struct RecordRow {
    id: DbUid,
    template: String,
    user: Option<DbUid>,
    email: Option<String>,
    sealed: Option<Vec<u8>>,
    queued_at: DbInstant,
    due_at: DbInstant,
    claimed_until: Option<DbInstant>,
    tries: i32,
    failed_at: Option<DbInstant>,
    failure: Option<String>,
}

/// Selects emails with the addresses of their accounts.
macro_rules! records {
    () => {
        mails::table.left_join(accounts::table.on(user_id.eq(accounts::id.nullable()))).select((
            id,
            letter,
            user_id,
            accounts::email.nullable(),
            sealed,
            queued_at,
            due_at,
            claimed_until,
            tries,
            failed_at,
            failure,
        ))
    };
}

/// Condition for emails that nobody claims.
macro_rules! is_unclaimed {
    ($now:expr) => {
        claimed_until.is_null().or(claimed_until.le(DbInstant($now)))
    };
}

impl SqlMailQueue {
    /// Creates a view of the emails in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Loads a page in the order of the ids, which sort by time.
    async fn load(
        &self,
        user: Option<UserId>,
        state: Option<MailState>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Vec<RecordRow>, DbError> {
        // Without a user, the id is nil and the second condition admits all emails.
        let recipient = DbUid(user.map(|it| it.0).unwrap_or_default());
        let is_to_user = user_id.eq(recipient).or(user.is_none().into_sql::<Bool>());
        let mails = records!().filter(is_to_user).limit(page.limit.into());
        on_conn!(self.db.reader(), |conn| {
            let rows = in_time_order!(mails.into_boxed(), order, page.after, id);
            match state {
                None => rows.load(conn).await?,
                Some(MailState::Failed) => rows.filter(failed_at.is_not_null()).load(conn).await?,
                Some(MailState::Postponed) => {
                    let is_postponed = failed_at.is_null().and(failure.is_not_null());
                    rows.filter(is_postponed).load(conn).await?
                }
                Some(MailState::Waiting) => {
                    let is_waiting = failed_at.is_null().and(failure.is_null());
                    rows.filter(is_waiting).load(conn).await?
                }
            }
        })
    }

    /// Converts a row. The address of a waiting email is the one that it is sent
    /// to; an abandoned one has none but that of its account.
    fn to_record(&self, row: RecordRow) -> Result<MailRecord, DbError> {
        let mail = MailId(row.id.0);
        let recipient = match row.sealed.as_deref() {
            None => None,
            Some(content) => match StoredEmail::open(self.db.seal()?, mail, content) {
                Ok(email) => Some(email.to),
                Err(UnsealError::Unavailable(err)) => return Err(err.into()),
                Err(_unreadable) => None,
            },
        };

        Ok(MailRecord {
            id: mail,
            template: row.template,
            user: row.user.map(|it| UserId(it.0)),
            address: recipient.or(row.email),
            queued_at: row.queued_at.0,
            due_at: row.due_at.0,
            claimed_until: row.claimed_until.map(|it| it.0),
            tries: u32::try_from(row.tries).unwrap_or_default(),
            failed_at: row.failed_at.map(|it| it.0),
            failure: row.failure,
        })
    }
}

#[async_trait]
impl MailQueueStore for SqlMailQueue {
    async fn page(
        &self,
        user: Option<UserId>,
        state: Option<MailState>,
        order: TimeOrder,
        page: PageRequest,
    ) -> Result<Vec<MailRecord>, Unavailable> {
        let rows = self.load(user, state, order, page).await?.into_iter();
        Ok(rows.map(|it| self.to_record(it)).collect::<Result<_, _>>()?)
    }

    async fn find(&self, mail: MailId) -> Result<Option<MailRecord>, Unavailable> {
        let query = records!().filter(id.eq(DbUid(mail.0)));
        let row: Option<RecordRow> =
            on_conn!(self.db.reader(), |conn| query.first(conn).await.optional()?)?;
        Ok(row.map(|it| self.to_record(it)).transpose()?)
    }

    async fn counts(&self) -> Result<MailCounts, Unavailable> {
        let unfinished = mails::table.filter(failed_at.is_null());
        let count_waiting = unfinished.filter(failure.is_null()).count();
        let count_postponed = unfinished.filter(failure.is_not_null()).count();
        let count_failed = mails::table.filter(failed_at.is_not_null()).count();
        let counts: Result<[i64; 3], DbError> = on_conn!(self.db.reader(), |conn| {
            let waiting = count_waiting.get_result(conn).await?;
            let postponed = count_postponed.get_result(conn).await?;
            [waiting, postponed, count_failed.get_result(conn).await?]
        });
        let [waiting, postponed, failed] = counts?.map(|it| u64::try_from(it).unwrap_or_default());
        Ok(MailCounts { waiting, postponed, failed })
    }

    async fn make_due(
        &self,
        mail: MailId,
        now: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        Ok(in_tx!(&self.db, async |conn| -> Result<bool, DbError> {
            let waiting = failed_at.is_null().and(is_unclaimed!(now));
            let updated_rows = diesel::update(mails::table.find(DbUid(mail.0)).filter(waiting))
                .set(due_at.eq(DbInstant(now)))
                .execute(conn)
                .await?;
            if updated_rows == 0 {
                return Ok(false);
            }
            conn.write_effects(&self.db, &effects).await?;
            Ok(true)
        })?)
    }

    async fn discard(
        &self,
        mail: MailId,
        now: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable> {
        Ok(in_tx!(&self.db, async |conn| -> Result<bool, DbError> {
            let unclaimed = mails::table.find(DbUid(mail.0)).filter(is_unclaimed!(now));
            let template: Option<String> =
                diesel::delete(unclaimed).returning(letter).get_result(conn).await.optional()?;
            let Some(template) = template else { return Ok(false) };
            let before = BTreeMap::from([("email", template)]);
            let recorded_effects = effects.with_changes(Some(&before), None);
            conn.write_effects(&self.db, &recorded_effects).await?;
            Ok(true)
        })?)
    }
}
