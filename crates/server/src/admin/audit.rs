//! `pia-server admin audit …`: verifies the audit log beside a running server.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{ChainReport, Clock};
use pia_settings::AuditCommand;
use pia_storage::Database;
use pia_storage_lifecycle::{AuditCheckpoint, SqlAuditChain};

use super::{AdminError, line};

/// Services that verify the audit log, without a server around them.
pub(super) struct AuditServices {
    chain: SqlAuditChain,
    retention: Duration,
    clock: Arc<dyn Clock>,
}

impl AuditServices {
    pub(super) fn open(db: &Database, retention: Duration, clock: &Arc<dyn Clock>) -> Self {
        Self { chain: SqlAuditChain::new(db.clone()), retention, clock: Arc::clone(clock) }
    }

    /// Runs a command, and returns what to print.
    pub(super) async fn run(&self, command: AuditCommand) -> Result<String, AdminError> {
        match command {
            AuditCommand::Verify { checkpoint } => self.verify(checkpoint.as_deref()).await,
            AuditCommand::Checkpoint => self.checkpoint().await,
        }
    }

    async fn verify(&self, file: Option<&Path>) -> Result<String, AdminError> {
        let checkpoint = file.map(read_checkpoint).transpose()?;
        let since = self.clock.now() - self.retention;
        let report = self.chain.verify(checkpoint.as_ref(), since).await?;
        let text = describe(&report);
        if report.faults.is_empty() { Ok(text) } else { Err(AdminError::Unsound(text)) }
    }

    /// Chains what waits first, so that the checkpoint covers all entries.
    async fn checkpoint(&self) -> Result<String, AdminError> {
        loop {
            let chained_entries = self.chain.extend().await?;
            if chained_entries == 0 {
                break;
            }
        }
        let checkpoint = self.chain.checkpoint().await?.ok_or(AdminError::NoAuditEntries)?;
        Ok(checkpoint.to_json() + "\n")
    }
}

fn read_checkpoint(file: &Path) -> Result<AuditCheckpoint, AdminError> {
    let unreadable = |err: &dyn std::fmt::Display| AdminError::Checkpoint {
        file: file.to_owned(),
        reason: err.to_string(),
    };
    let text = fs::read_to_string(file).map_err(|err| unreadable(&err))?;
    AuditCheckpoint::parse(&text).map_err(|err| unreadable(&err))
}

fn describe(report: &ChainReport) -> String {
    let ChainReport { entries, waiting, deleted_until, last, faults } = report;
    let mut text = String::new();
    if !faults.is_empty() {
        line(&mut text, format_args!("the audit log failed verification"));
    }

    for fault in faults {
        line(&mut text, format_args!("{fault}"));
    }

    if let Some((position, at)) = deleted_until {
        line(
            &mut text,
            format_args!("Entries up to {position} ({at}) were deleted after their retention"),
        );
    }

    let result = match faults.len() {
        0 => "no changes found".to_owned(),
        1 => "1 problem found".to_owned(),
        more => format!("{more} problems found"),
    };
    line(&mut text, format_args!("{entries} entries up to {last} verified, {result}"));

    if *waiting > 0 {
        line(&mut text, format_args!("{waiting} new entries are not chained yet"));
    }

    text
}
