//! Accounts, and as much of them as the gates ask.

use pia_kernel::{SessionId, Timestamp, UserId};

/// In which capacity a person uses the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CustomerType {
    /// They have not said so yet.
    #[default]
    NotDeclared,
    /// As a trader.
    Business,
    /// As a consumer.
    Consumer,
}

impl CustomerType {
    /// The number it has on the wire and in the database.
    pub fn number(self) -> i32 {
        match self {
            Self::NotDeclared => 0,
            Self::Business => 1,
            Self::Consumer => 2,
        }
    }

    /// The type with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::NotDeclared),
            1 => Some(Self::Business),
            2 => Some(Self::Consumer),
            _ => None,
        }
    }
}

/// A person's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Whose it is. Never changes: it is part of what clients encrypt.
    pub user: UserId,
    /// Their address, as they spelled it.
    pub email: String,
    /// What they are called.
    pub display_name: Option<String>,
    /// Who vouches for them: `local` for a password.
    pub provider: String,
    /// In which capacity they use the service.
    pub customer: CustomerType,
    /// The company of a trader.
    pub company_name: Option<String>,
    /// When the account was made.
    pub created_at: Timestamp,
}

/// As much of a caller as is looked at on every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Who calls.
    pub user: UserId,
    /// The sign-in they call with.
    pub session: SessionId,
    /// In which capacity they use the service.
    pub customer: CustomerType,
}

/// What accounts owe before they may use the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountRules {
    /// Whether each must have declared whether it is a trader.
    pub require_declaration: bool,
}

impl AccountRules {
    /// Whether an account of this type owes its declaration.
    pub fn owes_declaration(&self, customer: CustomerType) -> bool {
        self.require_declaration && customer == CustomerType::NotDeclared
    }
}
