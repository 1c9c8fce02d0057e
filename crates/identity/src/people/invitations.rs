//! Invitations to register.
//!
//! `registration.rs` redeems them: the `hash` of a presented token finds the
//! invitation, and the store checks address and expiry in the transaction of
//! the new account.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, GroupId, InvitationId, Page, PageRequest, QueuedEmail, Secret, SideEffects, Timestamp,
    Unavailable, UserId,
};

use crate::people;
use crate::people::role::Role;
use crate::ports::{InvitationEntry, InvitationFilter, InvitationStore, NewInvitation, TokenHash};
use crate::sessions::{refresh_tokens, token_hash};
use crate::violation::Violation;

/// Number of days that an invitation is valid for unless another is chosen.
pub const DEFAULT_INVITATION_DAYS: u16 = 7;
/// Maximum number of days that an invitation may be valid for.
pub const MAX_INVITATION_DAYS: u16 = 365;
const DAY: Duration = Duration::from_hours(24);
/// Maximum length of a presented token, in bytes; ours have 43.
const MAX_TOKEN_BYTES: usize = 128;

/// Offer of an account with a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Address that it is restricted to; `None` for any.
    pub email: Option<String>,
    /// Role of the account that accepts it.
    pub role: Role,
    /// Group of that account; the default group if `None`.
    pub group: Option<GroupId>,
    /// Number of days from now until the invitation expires, up to [`MAX_INVITATION_DAYS`].
    pub days: u16,
}

/// A created invitation, with the token that only its recipient learns.
#[derive(Debug, Clone)]
pub struct Invited {
    /// Id by which administrators revoke it.
    pub id: InvitationId,
    /// Link to register with it, returned only here.
    pub link: Secret<String>,
    /// Time from which the token is refused.
    pub expires_at: Timestamp,
}

/// Errors of creating an invitation.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// Address is not one that an account may have, or the lifetime is out of its range.
    #[error("the invitation is invalid")]
    Invalid(Violation),
    /// Group was deleted, or never existed.
    #[error("there is no such group")]
    NoSuchGroup,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Creation, listing and revocation of invitations.
///
/// An invitation does not verify its address, since the inviter knows the link too. Invited
/// users verify theirs like all others.
#[derive(Clone)]
pub struct Invitations {
    store: Arc<dyn InvitationStore>,
    /// Public URL of the server.
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl Invitations {
    /// Creates invitations in this store, to the server with this URL.
    pub fn new(store: Arc<dyn InvitationStore>, public_url: String, clock: Arc<dyn Clock>) -> Self {
        Self { store, public_url, clock }
    }

    /// Creates an invitation; one for an address is emailed too.
    pub async fn create(
        &self,
        by: Option<UserId>,
        invitation: Invitation,
    ) -> Result<Invited, InviteError> {
        let email = invitation
            .email
            .as_deref()
            .map(people::email::parse)
            .transpose()
            .map_err(InviteError::Invalid)?;
        if !(1..=MAX_INVITATION_DAYS).contains(&invitation.days) {
            return Err(InviteError::Invalid(invalid_days()));
        }

        let token = refresh_tokens::fresh()?;
        let id = InvitationId::generate();
        let at = self.clock.now();
        let link = format!("{}/auth/register.html?invitation={}", self.public_url, token.expose());
        // The email is queued with the invitation, so none leads to an unknown one.
        let mut effects = audit_effects(at, by, id, "invitation.created");
        if let Some(email) = &email {
            let mail = QueuedEmail::new("invitation").with("link", link.clone());
            effects = effects.and_mail(mail.to_address(at, email.clone()));
        }

        let Invitation { role, group, days, .. } = invitation;
        let expires_at = at + DAY * u32::from(days);
        let hash = token_hash::of_ours(&token);
        let new_invitation = NewInvitation { id, hash, email, role, group, by, at, expires_at };
        if !self.store.add(new_invitation, effects).await? {
            return Err(InviteError::NoSuchGroup);
        }

        Ok(Invited { id, link: Secret::new(link), expires_at })
    }

    /// Returns a page of the selected invitations that are valid, in their order.
    pub async fn page(
        &self,
        filter: &InvitationFilter,
        page: PageRequest,
    ) -> Result<Page<InvitationEntry>, Unavailable> {
        let entries = self.store.page(self.clock.now(), filter, page.and_one_more()).await?;
        Ok(page.into_page(entries, |it| filter.cursor(it)))
    }

    /// Revokes an invitation. Returns whether it existed.
    pub async fn revoke(&self, by: Option<UserId>, id: InvitationId) -> Result<bool, Unavailable> {
        let effects = audit_effects(self.clock.now(), by, id, "invitation.revoked");
        self.store.revoke(id, effects).await
    }

    /// Deletes invitations that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.clock.now()).await
    }
}

/// Returns the hash of a presented token; `None` if it is malformed.
pub(crate) fn hash(token: &Secret<String>) -> Option<TokenHash> {
    (1..=MAX_TOKEN_BYTES).contains(&token.expose().len()).then(|| token_hash::of_ours(token))
}

fn invalid_days() -> Violation {
    let message = format!("An invitation is valid for 1 to {MAX_INVITATION_DAYS} days.");
    Violation::new("days", "out_of_range", message)
}

fn audit_effects(
    at: Timestamp,
    by: Option<UserId>,
    id: InvitationId,
    action: &'static str,
) -> SideEffects {
    SideEffects::of_object(at, by, format!("invitation:{id}"), action)
}

#[cfg(test)]
mod tests;
