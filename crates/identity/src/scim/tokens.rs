//! SCIM tokens: the credentials of identity providers that manage users and
//! groups.
//!
//! `scim_client` in `web/src/gates.rs` calls `authenticate` for each request,
//! and the route decides which scope it needs.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, ScimTokenId, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::ports::{NewScimToken, ScimScope, ScimTokenEntry, ScimTokenStore};
use crate::sessions::{refresh_tokens, token_hash};
use crate::violation::{self, Violation};

/// Maximum number of tokens, expired ones included.
const MAX_SCIM_TOKENS: usize = 20;
/// Lifetime of a token whose expiry is not requested.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(24 * 365);
/// Maximum lifetime of a token.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 366 * 2);
/// Interval at which the use of a token is stored.
const USE_INTERVAL: Duration = Duration::from_mins(1);
/// Prefix that distinguishes these tokens from other credentials.
const PREFIX: &str = "pia_scim_";

/// Requested properties of a new token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScimTokenOptions {
    /// Name chosen by the administrator.
    pub name: Option<String>,
    /// Names of the scopes; all if absent.
    pub scopes: Option<Vec<String>>,
    /// Expiry time; a year from now if absent, two years at most.
    pub expires_at: Option<Timestamp>,
}

/// SCIM token that was just created.
#[derive(Debug, Clone)]
pub struct CreatedScimToken {
    /// Entry of the token in the administrators' list.
    pub entry: ScimTokenEntry,
    /// The token itself; only its hash is stored.
    pub token: Secret<String>,
}

/// Caller with a valid SCIM token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScimClient {
    /// Id of its token, for audit entries.
    pub token: ScimTokenId,
    /// Name that an administrator gave its token.
    pub name: String,
    /// Resources that the token opens.
    pub scopes: Vec<ScimScope>,
}

/// Errors that prevent a token from being created.
#[derive(Debug, thiserror::Error)]
pub enum CreateScimTokenError {
    /// Request is invalid; all violations are listed.
    #[error("the request is invalid")]
    Invalid(Vec<Violation>),
    /// Maximum number of tokens is reached.
    #[error("the maximum of {limit} SCIM tokens is reached")]
    Full {
        /// Maximum number of tokens of a server.
        limit: usize,
    },
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a token from being revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeScimTokenError {
    /// Token does not exist, or was revoked before.
    #[error("there is no such SCIM token")]
    Unknown,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Creates, lists, verifies and revokes SCIM tokens.
#[derive(Clone)]
pub struct ScimTokens {
    store: Arc<dyn ScimTokenStore>,
    clock: Arc<dyn Clock>,
}

impl ScimTokens {
    /// Creates the use case over a store.
    pub fn new(store: Arc<dyn ScimTokenStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Creates a token for an administrator.
    pub async fn create(
        &self,
        by: UserId,
        options: ScimTokenOptions,
    ) -> Result<CreatedScimToken, CreateScimTokenError> {
        let entry = options.entry(self.clock.now()).map_err(CreateScimTokenError::Invalid)?;
        let random = refresh_tokens::fresh()?;
        let new = NewScimToken {
            entry: entry.clone(),
            hash: token_hash::of_ours(&random),
            created_by: by,
        };

        let effects = audit(entry.created_at, by, entry.id, "ScimToken.Created");
        if !self.store.add(new, MAX_SCIM_TOKENS, effects).await? {
            return Err(CreateScimTokenError::Full { limit: MAX_SCIM_TOKENS });
        }

        Ok(CreatedScimToken { entry, token: Secret::new(format!("{PREFIX}{}", random.expose())) })
    }

    /// Returns all tokens, oldest first, expired ones included.
    pub async fn list(&self) -> Result<Vec<ScimTokenEntry>, Unavailable> {
        self.store.list().await
    }

    /// Deletes a token; the next request with it is refused.
    pub async fn revoke(&self, by: UserId, token: ScimTokenId) -> Result<(), RevokeScimTokenError> {
        let effects = audit(self.clock.now(), by, token, "ScimToken.Revoked");
        if self.store.remove(token, effects).await? {
            Ok(())
        } else {
            Err(RevokeScimTokenError::Unknown)
        }
    }

    /// Returns the caller with a presented token, unless the token is unknown
    /// or expired. Nothing is cached: a revoked token is refused at once.
    pub async fn authenticate(
        &self,
        presented: &Secret<String>,
    ) -> Result<Option<ScimClient>, Unavailable> {
        let Some(random) = presented.expose().strip_prefix(PREFIX) else { return Ok(None) };
        let Some(hash) = token_hash::of_presented(&Secret::new(random.to_owned())) else {
            return Ok(None);
        };

        let now = self.clock.now();
        let entry = self.store.find(hash).await?.filter(|it| it.expires_at > now);
        let Some(entry) = entry else { return Ok(None) };

        let not_since = now - USE_INTERVAL;
        if entry.used_at.is_none_or(|it| it <= not_since) {
            self.store.record_use(entry.id, now, not_since).await?;
        }

        Ok(Some(ScimClient { token: entry.id, name: entry.name, scopes: entry.scopes }))
    }
}

impl ScimTokenOptions {
    fn entry(self, now: Timestamp) -> Result<ScimTokenEntry, Vec<Violation>> {
        let mut violations = Vec::new();
        let name = parse_name(self.name.as_deref()).unwrap_or_else(|violation| {
            violations.push(violation);
            String::new()
        });

        let scopes = parse_scopes(self.scopes.as_deref());
        if scopes.as_ref().is_none_or(Vec::is_empty) {
            let message = "The scopes are `users` and `groups`.";
            violations.push(Violation::new("scopes", "invalid", message));
        }

        let expires_at = self.expires_at.unwrap_or_else(|| now + DEFAULT_LIFETIME);
        if expires_at <= now || expires_at > now + MAX_LIFETIME {
            let message = "The token must expire in the future, within two years.";
            violations.push(Violation::new("expiresAt", "invalid", message));
        }

        match scopes {
            Some(scopes) if violations.is_empty() => Ok(ScimTokenEntry {
                id: ScimTokenId::generate(),
                name,
                scopes,
                created_at: now,
                expires_at,
                used_at: None,
            }),
            _ => Err(violations),
        }
    }
}

fn parse_name(input: Option<&str>) -> Result<String, Violation> {
    violation::parse_name("name", "The name", input)?
        .ok_or_else(|| Violation::new("name", "required", "A name is required."))
}

/// Returns the named scopes, or all if `names` is `None`; `None` if one is unknown.
fn parse_scopes(names: Option<&[String]>) -> Option<Vec<ScimScope>> {
    let Some(names) = names else { return Some(ScimScope::ALL.to_vec()) };
    let named = names.iter().map(|it| ScimScope::from_name(it)).collect::<Option<Vec<_>>>()?;
    Some(ScimScope::ALL.into_iter().filter(|it| named.contains(it)).collect())
}

fn audit(at: Timestamp, by: UserId, token: ScimTokenId, action: &'static str) -> SideEffects {
    SideEffects::of_object(at, Some(by), format!("scim-token:{token}"), action)
}

#[cfg(test)]
mod tests;
