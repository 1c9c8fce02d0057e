//! Reading and changing one's own account.

use std::sync::Arc;

use pia_kernel::{Clock, SideEffects, Unavailable, UserId};

use crate::people::account::{Account, CustomerType};
use crate::ports::AccountStore;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::{Violation, name};

/// Reasons why an account cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Account was deleted during the request.
    #[error("there is no such account")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Declaration that a person uses the service as a trader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraderDeclaration {
    /// Their company.
    pub company_name: Option<String>,
    /// True if they say that they act for it.
    pub acting_as_business: bool,
}

/// Reasons why a declaration was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum DeclareError {
    /// Declaration is incomplete.
    #[error("the declaration is not filled in correctly")]
    Invalid(Vec<Violation>),
    /// The account was deleted since the gates let its owner pass.
    #[error("there is no such account")]
    Gone,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// People's own accounts.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn AccountStore>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl Accounts {
    /// Accounts in the given store; `caller_cache` is notified of those that change.
    pub fn new(
        store: Arc<dyn AccountStore>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, caller_cache, clock }
    }

    /// The account of a caller.
    pub async fn me(&self, user: UserId) -> Result<Account, AccountError> {
        self.store.find(user).await?.ok_or(AccountError::Gone)
    }

    /// Records that a caller is a trader. Said again, it replaces the company.
    pub async fn declare_business(
        &self,
        user: UserId,
        declaration: TraderDeclaration,
    ) -> Result<(), DeclareError> {
        let company = check(&declaration).map_err(DeclareError::Invalid)?;
        let declared = SideEffects::audit(self.clock.now(), user, "account.declared");
        let found = self.store.declare(user, CustomerType::Business, &company, declared).await?;
        self.caller_cache.forget_user(user);
        if found { Ok(()) } else { Err(DeclareError::Gone) }
    }
}

fn check(declaration: &TraderDeclaration) -> Result<String, Vec<Violation>> {
    let company = name("companyName", "The company's name", declaration.company_name.as_deref());
    let company = company.and_then(|it| {
        it.ok_or_else(|| Violation::new("companyName", "required", "A company name is required."))
    });
    let acting = declaration.acting_as_business;
    let silent = (!acting).then(|| {
        let message = "Confirm that you use the service for this company.";
        Violation::new("actingAsBusiness", "required", message)
    });
    match (company, silent) {
        (Ok(company), None) => Ok(company),
        (company, silent) => Err(company.err().into_iter().chain(silent).collect()),
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{SessionId, Timestamp};
    use pia_testkit::FixedClock;

    use super::*;
    use crate::people::account::CallerState;
    use crate::ports::MockAccountStore;
    use crate::sessions::access_tokens::SessionRef;

    fn accounts(mut store: MockAccountStore) -> Accounts {
        store
            .expect_standing()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        let (store, clock) = (Arc::new(store), Arc::new(FixedClock(Timestamp::UNIX_EPOCH)));
        let caller_cache = CallerCache::new(
            Arc::<MockAccountStore>::clone(&store),
            Arc::<FixedClock>::clone(&clock),
        );
        Accounts::new(store, caller_cache, clock)
    }

    fn declaration(company: &str) -> TraderDeclaration {
        TraderDeclaration { company_name: Some(company.to_owned()), acting_as_business: true }
    }

    async fn faults(declaration: TraderDeclaration) -> Vec<(&'static str, &'static str)> {
        let accounts = accounts(MockAccountStore::new());
        match accounts.declare_business(UserId::generate(), declaration).await {
            Err(DeclareError::Invalid(faults)) => {
                faults.iter().map(|it| (it.field, it.code)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_declaration_is_recorded_with_its_audit_entry_and_seen_by_the_gates_at_once() {
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
        let accounts = accounts(store);
        accounts.caller_cache.fresh(session_ref).await.unwrap();

        accounts.declare_business(session_ref.user, declaration(" Engines Ltd ")).await.unwrap();

        assert_eq!(accounts.caller_cache.cached(session_ref), None);
    }

    #[tokio::test]
    async fn a_declaration_needs_a_company_and_a_word() {
        let silent = TraderDeclaration { company_name: None, acting_as_business: false };

        let both = [("companyName", "required"), ("actingAsBusiness", "required")];
        assert_eq!(faults(silent).await, both);
        assert_eq!(faults(declaration("  ")).await, [("companyName", "required")]);
        assert_eq!(faults(declaration(&"x".repeat(201))).await, [("companyName", "too_long")]);
    }

    #[tokio::test]
    async fn an_account_that_is_no_more_is_reported_as_gone() {
        let mut store = MockAccountStore::new();
        store.expect_find().returning(|_| Ok(None));
        store.expect_declare().returning(|_, _, _, _| Ok(false));
        let accounts = accounts(store);
        let user = UserId::generate();

        let presented = accounts.me(user).await;
        let declared = accounts.declare_business(user, declaration("Engines Ltd")).await;

        assert!(matches!(presented, Err(AccountError::Gone)));
        assert!(matches!(declared, Err(DeclareError::Gone)));
    }
}
