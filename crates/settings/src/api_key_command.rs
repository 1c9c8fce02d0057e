//! `pia-server admin api-key …`: arguments of the administration of API keys.

use pia_kernel::ApiKeyId;

use super::command::invalid_admin_command;
use super::error::Reason;

const VERBS: &str = "unknown `admin api-key` command: use list EMAIL or revoke ID";

/// Administration of API keys from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiKeyCommand {
    /// Lists the keys of an account.
    List {
        /// Email address of the account.
        email: String,
    },
    /// Revokes a key.
    Revoke {
        /// Id of the key.
        id: ApiKeyId,
    },
}

impl ApiKeyCommand {
    /// Parses the arguments after `admin api-key`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        match words {
            ["list", email] => Ok(Self::List { email: (*email).to_owned() }),
            ["revoke", id] => {
                let id = uuid::Uuid::parse_str(id).map(ApiKeyId);
                let invalid = |_err| Reason::source("expected an API key's id");
                Ok(Self::Revoke { id: id.map_err(invalid)? })
            }
            [verb, ..] => Err(invalid_admin_command(&format!("api-key {verb}"), VERBS)),
            [] => Err(Reason::source(VERBS)),
        }
    }
}
