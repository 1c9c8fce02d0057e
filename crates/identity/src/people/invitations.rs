//! Inviting people to make accounts.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, GroupId, InvitationId, PageRequest, QueuedEmail, Secret, SideEffects, Timestamp,
    Unavailable, UserId,
};

use crate::people;
use crate::people::role::Role;
use crate::ports::{InvitationEntry, InvitationStore, NewInvitation, TokenHash};
use crate::sessions::{refresh_tokens, token_hash};
use crate::violation::Violation;

/// Longer texts are no tokens of ours; those have 43 letters.
const MAX_TOKEN_BYTES: usize = 128;

/// Offer of an account with a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The one address that it is for; any if there is none.
    pub email: Option<String>,
    /// Role of the account.
    pub role: Role,
    /// The group that they are in; the default one if there is none.
    pub group: Option<GroupId>,
    /// Lifetime of the invitation.
    pub lifetime: Duration,
}

/// An invitation that was made.
#[derive(Debug, Clone)]
pub struct Invited {
    /// Id of the invitation.
    pub id: InvitationId,
    /// Link to register with it. Shown once.
    pub link: Secret<String>,
    /// Time at which it ends.
    pub expires_at: Timestamp,
}

/// Reasons why nobody was invited.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// No mail could be sent to the address.
    #[error("the invitation is not filled in correctly")]
    Invalid(Violation),
    /// No such group.
    #[error("there is no such group")]
    NoSuchGroup,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Makes invitations, lists them and takes them back.
///
/// An invitation says nothing about who has the mailbox of its address: who
/// made it has seen the link too. So an invited person shows that like all
/// others.
#[derive(Clone)]
pub struct Invitations {
    store: Arc<dyn InvitationStore>,
    /// Under which address browsers know the server.
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl Invitations {
    /// Invitations in the given store, to the server with this address.
    pub fn new(store: Arc<dyn InvitationStore>, public_url: String, clock: Arc<dyn Clock>) -> Self {
        Self { store, public_url, clock }
    }

    /// Makes an invitation; one for an address goes there by mail too.
    pub async fn create(
        &self,
        by: Option<UserId>,
        invitation: Invitation,
    ) -> Result<Invited, InviteError> {
        let email = invitation.email.as_deref().map(people::email::parse).transpose();
        let email = email.map_err(InviteError::Invalid)?;
        let (token, id, at) =
            (refresh_tokens::fresh()?, InvitationId::generate(), self.clock.now());
        let link = format!("{}/auth/register.html?invitation={}", self.public_url, token.expose());
        let mut effects = done(at, by, id, "invitation.created");
        if let Some(email) = &email {
            let letter = QueuedEmail::new("invitation").with("link", link.clone());
            effects = effects.and_mail(letter.to_address(at, email.clone()));
        }
        let expires_at = at + invitation.lifetime;
        let Invitation { role, group, .. } = invitation;
        let hash = token_hash::of_ours(&token);
        let new = NewInvitation { id, hash, email, role, group, by, at, expires_at };
        if !self.store.add(new, effects).await? {
            return Err(InviteError::NoSuchGroup);
        }
        Ok(Invited { id, link: Secret::new(link), expires_at })
    }

    /// A part of those that are still good, the newest first.
    pub async fn page(&self, page: PageRequest) -> Result<Vec<InvitationEntry>, Unavailable> {
        self.store.page(self.clock.now(), page).await
    }

    /// Takes an invitation back. Answers whether it was there.
    pub async fn revoke(&self, by: Option<UserId>, id: InvitationId) -> Result<bool, Unavailable> {
        let effects = done(self.clock.now(), by, id, "invitation.revoked");
        self.store.revoke(id, effects).await
    }

    /// Forgets invitations that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.store.sweep(self.clock.now()).await
    }
}

/// Returns the hash of a presented token; nothing if it cannot be one.
pub(crate) fn hash(token: &Secret<String>) -> Option<TokenHash> {
    (1..=MAX_TOKEN_BYTES).contains(&token.expose().len()).then(|| token_hash::of_ours(token))
}

fn done(at: Timestamp, by: Option<UserId>, id: InvitationId, action: &'static str) -> SideEffects {
    SideEffects::of_object(at, by, format!("invitation:{id}"), action)
}

#[cfg(test)]
mod tests;
