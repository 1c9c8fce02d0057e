//! Reads and changes of one's own account.

use std::sync::Arc;

use pia_kernel::{Clock, SideEffects, Unavailable, UserId};

use crate::people::account::{Account, CustomerType, LOCAL};
use crate::ports::AccountStore;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::{Violation, parse_name};

/// Errors of reading an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Declaration that a user is a trader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraderDeclaration {
    /// Company that the user trades for; required of traders.
    pub company_name: Option<String>,
    /// True if the user confirms acting for it.
    pub acting_as_business: bool,
}

/// Errors of changing an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountChangeError {
    /// Input is incomplete or invalid.
    #[error("the input is invalid")]
    Invalid(Vec<Violation>),
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<AccountError> for AccountChangeError {
    fn from(err: AccountError) -> Self {
        match err {
            AccountError::Gone => Self::Gone,
            AccountError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

/// A user's own account: profile and declaration.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn AccountStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl Accounts {
    /// Creates accounts in this store; `caller_cache` is notified of those that change.
    pub fn new(
        store: Arc<dyn AccountStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, caller_cache, clock }
    }

    /// Returns the account of a caller.
    pub async fn me(&self, user: UserId) -> Result<Account, AccountError> {
        self.store.find(user).await?.ok_or(AccountError::Gone)
    }

    /// Changes the display name of a caller with a local account; `None` or blank removes it.
    pub async fn rename(
        &self,
        user: UserId,
        display_name: Option<&str>,
    ) -> Result<(), AccountChangeError> {
        let name = parse_name("displayName", "The name", display_name)
            .map_err(|it| AccountChangeError::Invalid(vec![it]))?;
        if self.me(user).await?.provider != LOCAL {
            let message = "Your organisation's identity provider manages your name.";
            let violation = Violation::new("displayName", "managed", message);
            return Err(AccountChangeError::Invalid(vec![violation]));
        }

        let effects = SideEffects::audit(self.clock.now(), user, "account.renamed");
        let exists = self.store.rename(user, name, effects).await?;
        self.caller_cache.forget_user(user);
        if exists { Ok(()) } else { Err(AccountChangeError::Gone) }
    }

    /// Records that a caller is a trader. Repeated, it replaces the company.
    pub async fn declare_business(
        &self,
        user: UserId,
        declaration: TraderDeclaration,
    ) -> Result<(), AccountChangeError> {
        let company = check(&declaration).map_err(AccountChangeError::Invalid)?;
        let effects = SideEffects::audit(self.clock.now(), user, "account.declared");
        let exists = self.store.declare(user, CustomerType::Business, &company, effects).await?;
        self.caller_cache.forget_user(user);
        if exists { Ok(()) } else { Err(AccountChangeError::Gone) }
    }
}

/// Returns the company of a valid declaration, or all violations.
fn check(declaration: &TraderDeclaration) -> Result<String, Vec<Violation>> {
    let mut violations = Vec::new();
    let company = parse_company(declaration).unwrap_or_else(|violation| {
        violations.push(violation);
        String::new()
    });

    if !declaration.acting_as_business {
        let message = "Confirm that you use the service for this company.";
        violations.push(Violation::new("actingAsBusiness", "required", message));
    }

    if violations.is_empty() { Ok(company) } else { Err(violations) }
}

fn parse_company(declaration: &TraderDeclaration) -> Result<String, Violation> {
    let input = declaration.company_name.as_deref();
    parse_name("companyName", "The company's name", input)?
        .ok_or_else(|| Violation::new("companyName", "required", "A company name is required."))
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SessionId, Timestamp};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::people::account::CallerState;
    use crate::ports::MockAccountStore;
    use crate::sessions::access_tokens::SessionRef;

    fn accounts_over(mut store: MockAccountStore) -> Accounts {
        store
            .expect_caller_state()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        let store = Arc::new(store);
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let caller_cache = CallerCache::new(
            Arc::<MockAccountStore>::clone(&store),
            Arc::<FixedClock>::clone(&clock),
        );
        Accounts::new(store, caller_cache, clock)
    }

    fn declaration(company: &str) -> TraderDeclaration {
        TraderDeclaration { company_name: Some(company.to_owned()), acting_as_business: true }
    }

    async fn violations(declaration: TraderDeclaration) -> Vec<(&'static str, &'static str)> {
        let accounts = accounts_over(MockAccountStore::new());
        match accounts.declare_business(UserId::generate(), declaration).await {
            Err(AccountChangeError::Invalid(violations)) => {
                violations.iter().map(|it| (it.field, it.code)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_declaration_is_recorded_with_its_audit_entry_and_clears_the_cache() {
        let session_ref = SessionRef { user: UserId::generate(), session: SessionId::generate() };
        let mut store = MockAccountStore::new();
        store
            .expect_declare()
            .withf(move |user, customer, company, effects| {
                let at = Timestamp::UNIX_EPOCH;
                (*user, *customer, company)
                    == (session_ref.user, CustomerType::Business, "Engines Ltd")
                    && *effects == SideEffects::audit(at, session_ref.user, "account.declared")
            })
            .once()
            .returning(|_, _, _, _| Ok(true));
        let accounts = accounts_over(store);
        accounts.caller_cache.fresh(session_ref).await.unwrap();

        accounts.declare_business(session_ref.user, declaration(" Engines Ltd ")).await.unwrap();

        assert_eq!(accounts.caller_cache.cached(session_ref), None);
    }

    #[tokio::test]
    async fn a_declaration_requires_a_company_and_a_confirmation() {
        let silent = TraderDeclaration { company_name: None, acting_as_business: false };

        let both = [("companyName", "required"), ("actingAsBusiness", "required")];
        assert_eq!(violations(silent).await, both);
        assert_eq!(violations(declaration("  ")).await, [("companyName", "required")]);
        assert_eq!(violations(declaration(&"x".repeat(201))).await, [("companyName", "too_long")]);
    }

    #[tokio::test]
    async fn a_name_is_trimmed_and_limited() {
        let mut store = MockAccountStore::new();
        store
            .expect_rename()
            .withf(|_, name, _| name.as_deref() == Some("Ada"))
            .once()
            .returning(|_, _, _| Ok(true));
        store.expect_find().returning(|user| {
            let at = Timestamp::UNIX_EPOCH;
            Ok(Some(Account::local(user, "ada@example.org".to_owned(), at)))
        });
        let accounts = accounts_over(store);
        let user = UserId::generate();

        accounts.rename(user, Some(" Ada ")).await.unwrap();
        let outcome = accounts.rename(user, Some(&"x".repeat(201))).await;

        assert!(
            matches!(outcome, Err(AccountChangeError::Invalid(it)) if it[0].code == "too_long")
        );
    }

    #[tokio::test]
    async fn a_deleted_account_is_an_error() {
        let mut store = MockAccountStore::new();
        store.expect_find().returning(|_| Ok(None));
        store.expect_declare().returning(|_, _, _, _| Ok(false));
        let accounts = accounts_over(store);
        let user = UserId::generate();

        let account = accounts.me(user).await;
        let declared = accounts.declare_business(user, declaration("Engines Ltd")).await;

        assert!(matches!(account, Err(AccountError::Gone)));
        assert!(matches!(declared, Err(AccountChangeError::Gone)));
    }
}
