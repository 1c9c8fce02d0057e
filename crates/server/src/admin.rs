//! `pia-server admin …`: administers accounts beside a running server.
//!
//! `administer` opens the database, the keys and the licence as a server does, but
//! starts no background work. The commands call the same use cases as the console,
//! with `None` as the acting administrator, and return their output as a text.

mod api_keys;
mod audit;
mod credits;
mod groups;
mod kb;
mod pods;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use pia_identity::{
    Administration, CallerCache, Invitation, InvitationEntry, InvitationFilter, InviteError,
    Member, Role, RoleError, Roles,
};
use pia_kernel::{Clock, InvitationId, LiveSetting, PageRequest, Unavailable};
use pia_knowledge::KnowledgeError;
use pia_pods::ConnectorError;
use pia_policy::{GroupError, VerifyingKey};
use pia_sealing::{AcceptNew, MasterKeyError, ServerSeal};
use pia_settings::{AdminCommand, AdminConfig};
use pia_storage::StartupError;
use pia_storage_identity::SqlAccounts;

use crate::compose::{AdministrationParts, administration, fold_addresses, master_keys};
use crate::licence::{LicenceFile, LicenceSeats};
use audit::AuditServices;
use credits::CreditServices;
use groups::GroupServices;
use kb::KbServices;
use pods::PodServices;
pub use pods::{PodProvisioned, provision_pod};

/// Warning about a role for an account whose address is not verified.
const UNVERIFIED: &str = "warning: the address is not verified; make sure that the account \
                          belongs to the right person\n";
/// Number of invitations read at once.
const INVITATIONS_PER_PAGE: u16 = 200;

/// Errors of administration from the command line.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] StartupError),
    /// The master key is not the one that the data was sealed with.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// No account has the address.
    #[error("no account has the address {0}")]
    NoAccount(String),
    /// No group has the name or id.
    #[error("no group has the name or id {0}")]
    NoGroup(String),
    /// No knowledge base has the name or id.
    #[error("no knowledge base has the name or id {0}")]
    NoKnowledgeBase(String),
    /// Knowledge base or document cannot be read or changed.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// File or folder cannot be read or written.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, std::io::Error),
    /// Folder of an export is not empty.
    #[error("the folder {} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// Role or account cannot be changed.
    #[error(transparent)]
    Role(#[from] RoleError),
    /// Invitation was not sent.
    #[error("cannot create the invitation: {}", reason(.0))]
    Invite(#[from] InviteError),
    /// Group cannot be read or changed.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// Licence includes no groups.
    #[error("no valid licence includes GroupManagement")]
    NoGroups,
    /// Skill of a pod cannot have this name.
    #[error(
        "invalid_skill_name: the name of the skill must have 1 to 100 letters, digits, hyphens, \
         dots and underscores"
    )]
    SkillName,
    /// Connector cannot be created or changed.
    #[error("{}: {}", connector_code(.0), .0)]
    Connector(#[from] ConnectorError),
    /// Licence includes no knowledge bases.
    #[error("no valid licence includes Knowledge")]
    NoKnowledge,
    /// No such API key.
    #[error("no such API key; it may have been revoked")]
    NoApiKey,
    /// Budgets contradict what is reserved in them, or the audit log
    /// contradicts what was written.
    #[error("{}", .0.trim_end())]
    Unsound(String),
    /// File of a checkpoint is not readable.
    #[error("{} is not a checkpoint: {reason}", file.display())]
    Checkpoint {
        /// File that the operator named.
        file: PathBuf,
        /// Error of reading or parsing the file.
        reason: String,
    },
    /// Audit log is empty.
    #[error("the audit log has no entries")]
    NoAuditEntries,
    /// No open invitation has this id.
    #[error("no such invitation; it may have been used")]
    NoInvitation,
    /// The database did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Returns the stable code of a refusal.
fn connector_code(err: &ConnectorError) -> &'static str {
    match err {
        ConnectorError::NotFound => "unknown_connector",
        ConnectorError::NameTaken => "name_taken",
        ConnectorError::InvalidName => "invalid_name",
        ConnectorError::UnknownGroup => "unknown_group",
        ConnectorError::SkillTaken => "skill_name_taken",
        ConnectorError::TooManyTokens => "too_many_tokens",
        ConnectorError::InvalidMcp => "invalid_mcp_server",
        ConnectorError::IsMcp => "mcp_connector",
        ConnectorError::NoPod => "unknown_pod",
        ConnectorError::Unavailable(_) => "unavailable",
    }
}

fn reason(err: &InviteError) -> String {
    match err {
        InviteError::Invalid(violation) => violation.message.clone(),
        other => other.to_string(),
    }
}

/// Services of administration, without a server around them.
struct AdminServices {
    accounts: Administration,
    groups: GroupServices,
    credits: CreditServices,
    kb: KbServices,
    pods: PodServices,
    audit: AuditServices,
}

/// Runs a command, and returns what to print. A running server notices the
/// change within the few seconds for which it caches accounts.
pub async fn administer(
    config: &AdminConfig,
    command: AdminCommand,
    clock: Arc<dyn Clock>,
) -> Result<String, AdminError> {
    let services = AdminServices::open(config, clock).await?;

    match command {
        AdminCommand::Grant { email, role } => services.grant(&email, role).await,
        AdminCommand::List => services.list().await,
        AdminCommand::Deactivate { email } => services.deactivate(&email).await,
        AdminCommand::Reactivate { email } => services.reactivate(&email).await,
        AdminCommand::Invite { email, role, days } => services.invite(email, role, days).await,
        AdminCommand::Invitations => services.invitations().await,
        AdminCommand::Revoke { id } => services.revoke(id).await,
        AdminCommand::Group(command) => {
            services.groups.run(&services.accounts.roles, command).await
        }
        AdminCommand::Kb(command) => services.kb.run(&services.groups, command).await,
        AdminCommand::ApiKey(command) => api_keys::run(&services.accounts, command).await,
        AdminCommand::Audit(command) => services.audit.run(command).await,
        AdminCommand::Pods(command) => services.pods.administer(command).await,
        AdminCommand::Credits(command) => services.credits.run(&services.groups, command).await,
    }
}

impl AdminServices {
    async fn open(config: &AdminConfig, clock: Arc<dyn Clock>) -> Result<Self, AdminError> {
        let db = pia_storage::start(config.database.startup.clone()).await?;
        // Never a new one: what the old one sealed is the server's to give up.
        let keys = master_keys(&config.encryption, AcceptNew::No, &db).await?;
        fold_addresses(&db).await?;
        let db =
            db.with_effects(ServerSeal::new(keys), LiveSetting::new(config.smtp.relay.is_some()));
        let path = config.license.path.clone();
        let licence = LicenceFile::open(path, VerifyingKey::built_in(), Arc::clone(&clock));
        let seats = Arc::new(LicenceSeats::new(licence.state(), Arc::clone(&clock)));
        let accounts = Arc::new(SqlAccounts::new(db.clone()));
        let callers = CallerCache::new(accounts, Arc::clone(&clock));
        let groups = GroupServices::open(&db, &callers, licence.state(), &clock, &config.catalogue);
        let credits = CreditServices::open(&db, &clock);
        let kb = KbServices::open(&db, config, licence.state(), &clock);
        let pods = PodServices::open(&db, licence.state(), &clock);
        let audit = AuditServices::open(&db, config.audit.retention, &clock);
        let public_url = config.server.public_url.to_string();
        let parts = AdministrationParts { seats, callers, public_url, clock };

        Ok(Self { accounts: administration(&db, parts), groups, credits, kb, pods, audit })
    }

    async fn grant(&self, email: &str, role: Role) -> Result<String, AdminError> {
        let member = find_member(&self.accounts.roles, email).await?;
        self.accounts.roles.grant(None, member.user, role).await?;
        let mut output = format!("Role {} assigned to {}\n", role.name(), member.email);
        if member.deactivated_at.is_some() {
            output.push_str("note: the account is deactivated; see `admin reactivate`\n");
        }
        if role != Role::User && member.email_verified_at.is_none() {
            output.push_str(UNVERIFIED);
        }
        Ok(output)
    }

    async fn list(&self) -> Result<String, AdminError> {
        let admins = self.accounts.roles.admins().await?;
        if admins.is_empty() {
            return Ok("No administrators; create one with `admin grant EMAIL`\n".to_owned());
        }
        let mut output = String::new();
        for Member { email, deactivated_at, .. } in admins {
            let since = deactivated_at.map(|it| format!(" (deactivated {it})")).unwrap_or_default();
            line(&mut output, format_args!("{email}{since}"));
        }
        Ok(output)
    }

    async fn deactivate(&self, email: &str) -> Result<String, AdminError> {
        let Member { user, email, .. } = find_member(&self.accounts.roles, email).await?;
        self.accounts.roles.deactivate(None, user).await?;
        Ok(format!("User {email} deactivated and signed out of all sessions\n"))
    }

    async fn reactivate(&self, email: &str) -> Result<String, AdminError> {
        let Member { user, email, .. } = find_member(&self.accounts.roles, email).await?;
        self.accounts.roles.reactivate(None, user).await?;
        Ok(format!("User {email} reactivated\n"))
    }

    async fn invite(
        &self,
        email: Option<String>,
        role: Role,
        days: u16,
    ) -> Result<String, AdminError> {
        let invitation = Invitation { email, role, group: None, days };
        let created = self.accounts.invitations.create(None, invitation).await?;
        Ok(format!(
            "Invitation {} created with role {}, expires {}:\n{}\n",
            created.id,
            role.name(),
            created.expires_at,
            created.link.expose()
        ))
    }

    async fn invitations(&self) -> Result<String, AdminError> {
        let mut output = String::new();
        let mut after = None;
        loop {
            let request = PageRequest { limit: INVITATIONS_PER_PAGE, after };
            let page =
                self.accounts.invitations.page(&InvitationFilter::default(), request).await?;
            for InvitationEntry { id, email, role, expires_at, .. } in &page.items {
                let whom = email.as_deref().unwrap_or("anyone with the link");
                let role = role.name();
                line(
                    &mut output,
                    format_args!("{id} for {whom}, role {role}, expires {expires_at}"),
                );
            }

            after = page.next;
            if after.is_none() {
                break;
            }
        }

        if output.is_empty() { Ok("No invitations\n".to_owned()) } else { Ok(output) }
    }

    async fn revoke(&self, id: InvitationId) -> Result<String, AdminError> {
        if !self.accounts.invitations.revoke(None, id).await? {
            return Err(AdminError::NoInvitation);
        }
        Ok(format!("Invitation {id} revoked\n"))
    }
}

/// Returns the account with this address.
async fn find_member(roles: &Roles, email: &str) -> Result<Member, AdminError> {
    roles.member(email).await.map_err(|err| match err {
        RoleError::Unknown => AdminError::NoAccount(email.to_owned()),
        other => other.into(),
    })
}

fn line(output: &mut String, text: std::fmt::Arguments<'_>) {
    // A text takes all that is written to it.
    let _infallible = writeln!(output, "{text}");
}
