//! Lookup of addresses, and normalisation of those that earlier versions stored in
//! another form.
//!
//! An account stores `email` for display and `email_folded` for comparison.
//! Earlier versions folded the case alone, so that one domain in two
//! spellings could have two accounts. `with_address` searches both forms;
//! `SqlAddresses::fold`, called when a server starts, converts the older one.

use std::collections::HashSet;

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use pia_identity::{fold_email, readable_email, stored_forms};
use pia_kernel::{Unavailable, UserId};
use pia_storage::schema::{accounts, invitations};
use pia_storage::{Database, DbError, DbUid, in_tx, on_conn};

use crate::admins::Admins;

diesel::define_sql_function! {
    /// Returns the number of characters of a text.
    fn length(text: Text) -> Integer;
}

diesel::define_sql_function! {
    /// Returns the number of bytes of a text.
    fn octet_length(text: Text) -> Integer;
}

/// Matches a domain with a label in its ASCII form.
const WITH_ASCII_LABEL: &str = "%@%xn--%";

/// Returns the accounts with an address, first the one stored as spelled.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn with_address(email: &str) -> _ {
    let forms: [String; 2] = stored_forms(email);
    let as_spelled: String = email.trim().to_lowercase();
    let has_a_form = accounts::email_folded.eq_any(forms);
    accounts::table.filter(has_a_form).order(accounts::email_folded.eq(as_spelled).desc())
}

/// Returns the form in which an earlier version may have stored an address; `None`
/// if that is the current form.
pub(crate) fn older_form(email: &str) -> Option<String> {
    let [folded, older] = stored_forms(email);
    (folded != older).then_some(older)
}

/// Result of folding addresses that earlier versions stored otherwise.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AddressesFolded {
    /// Number of accounts and invitations that were normalised.
    pub folded: u64,
    /// Accounts that keep the old form, because another one has the address in
    /// the current form. Each is found by its own spelling.
    pub shared: Vec<UserId>,
}

/// Accounts and invitations whose domains are to be normalised.
pub struct SqlAddresses {
    db: Database,
}

impl SqlAddresses {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }

    /// Converts each stored address to the current form, which SQL cannot
    /// compute.
    ///
    /// Idempotent, and safe on several instances at once: each row changes by a
    /// guarded statement, serialised with registrations.
    pub async fn fold(&self) -> Result<AddressesFolded, Unavailable> {
        let mut result = AddressesFolded::default();
        let rows = self.accounts().await?;
        let used_forms: HashSet<&str> = rows.iter().map(|it| it.email_folded.as_str()).collect();

        for row in &rows {
            let email = readable_email(&row.email);
            let [folded, older] = stored_forms(&email);
            let is_of_another = |form: &str| form != row.email_folded && used_forms.contains(form);
            let is_shared = is_of_another(&folded) || is_of_another(&older);
            let outcome = match (is_shared, row.is_found_by_its_email()) {
                (false, _) => self.set(row, &email, &folded).await?,
                (true, true) => Outcome::Unchanged,
                // Otherwise a lookup of its address would find the other account.
                (true, false) => self.set(row, &row.email_folded, &row.email_folded).await?,
            };
            result.folded += u64::from(matches!(outcome, Outcome::Changed));

            if matches!(outcome, Outcome::Taken) || (is_shared && folded != row.email_folded) {
                result.shared.push(UserId(row.id.0));
            }
        }

        result.folded += self.fold_invitations().await?;

        Ok(result)
    }

    /// Loads the accounts, oldest first: of two with one address the older has it.
    async fn accounts(&self) -> Result<Vec<Row>, DbError> {
        let non_ascii = octet_length(accounts::email_folded).ne(length(accounts::email_folded));
        let candidates = accounts::table
            .filter(non_ascii.or(accounts::email_folded.like(WITH_ASCII_LABEL)))
            .order((accounts::created_at, accounts::id));
        on_conn!(self.db.reader(), |conn| candidates.select(Row::as_select()).load(conn).await?)
    }

    async fn set(&self, row: &Row, email: &str, folded: &str) -> Result<Outcome, DbError> {
        if (email, folded) == (&row.email, &row.email_folded) {
            return Ok(Outcome::Unchanged);
        }

        let other_accounts = accounts::table
            .filter(accounts::email_folded.eq(folded))
            .filter(accounts::id.ne(row.id));

        let account = accounts::table
            .find(row.id)
            .filter(accounts::email.eq(&row.email))
            .filter(accounts::email_folded.eq(&row.email_folded));

        let new_email = (accounts::email.eq(email), accounts::email_folded.eq(folded));
        in_tx!(self.db, async |conn| -> Result<Outcome, DbError> {
            conn.take_turn().await?;
            if diesel::select(exists(other_accounts)).get_result::<bool>(conn).await? {
                return Ok(Outcome::Taken);
            }
            match diesel::update(account).set(new_email).execute(conn).await? {
                0 => Ok(Outcome::Unchanged),
                _ => Ok(Outcome::Changed),
            }
        })
    }

    async fn fold_invitations(&self) -> Result<u64, DbError> {
        let email = invitations::email_folded.assume_not_null();
        let non_ascii = octet_length(email).ne(length(email));
        let candidates = invitations::table
            .filter(invitations::email_folded.is_not_null())
            .filter(non_ascii.or(email.like(WITH_ASCII_LABEL)))
            .select((invitations::id, email));
        let rows: Vec<(DbUid, String)> =
            on_conn!(self.db.reader(), |conn| candidates.load(conn).await?)?;

        let mut changed_rows = 0;
        for (id, before) in rows {
            let folded_email = fold_email(&before);
            if folded_email == before {
                continue;
            }
            let update = diesel::update(invitations::table.find(id))
                .set(invitations::email_folded.eq(folded_email));
            changed_rows += on_conn!(self.db.writer(), |conn| update.execute(conn).await?)? as u64;
        }

        Ok(changed_rows)
    }
}

enum Outcome {
    Changed,
    /// Another account has taken the form meanwhile.
    Taken,
    Unchanged,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = accounts)]
struct Row {
    id: DbUid,
    email: String,
    email_folded: String,
}

impl Row {
    /// Returns whether a lookup of its own spelling finds it first.
    fn is_found_by_its_email(&self) -> bool {
        let [_, older] = stored_forms(&self.email);
        older == self.email_folded
    }
}
