//! `pia-server admin api-key …`: administers API keys beside a running server.

use pia_identity::{Administration, ApiKeyEntry, RemoveApiKeyError};
use pia_settings::ApiKeyCommand;

use super::{AdminError, find_member, line};

/// Runs a command, and returns what to print.
pub(super) async fn run(
    accounts: &Administration,
    command: ApiKeyCommand,
) -> Result<String, AdminError> {
    match command {
        ApiKeyCommand::List { email } => list(accounts, &email).await,
        ApiKeyCommand::Revoke { id } => match accounts.api_keys.revoke(None, id).await {
            Ok(()) => Ok(format!("API key {id} revoked\n")),
            Err(RemoveApiKeyError::Unknown) => Err(AdminError::NoApiKey),
            Err(RemoveApiKeyError::Unavailable(err)) => Err(err.into()),
        },
    }
}

async fn list(accounts: &Administration, email: &str) -> Result<String, AdminError> {
    let member = find_member(&accounts.roles, email).await?;
    let mut output = String::new();
    for ApiKeyEntry { id, name, weekly_credits, created_at, expires_at, used_at, scopes: _ } in
        accounts.api_keys.list(member.user).await?
    {
        let end = expires_at.map(|it| format!(", expires {it}")).unwrap_or_default();
        let last_use =
            used_at.map_or_else(|| ", never used".to_owned(), |it| format!(", last used {it}"));
        let budget = match weekly_credits {
            0 => String::new(),
            credits => format!(", {credits} credits per week"),
        };
        line(&mut output, format_args!("{id} {name}, created {created_at}{end}{last_use}{budget}"));
    }

    if output.is_empty() {
        Ok(format!("User {} has no API keys\n", member.email))
    } else {
        Ok(output)
    }
}
