//! Infrastructure of all domains: database, keys, licence and setup.
//!
//! The order of `open` matters: migrations run first, then the keys are checked
//! against the stored data, and only then is anything sealed or normalised.

use std::path::Path;
use std::sync::Arc;

use pia_console::AddressLocations;
use pia_kernel::{Clock, LiveSetting, Unavailable};
use pia_policy::{Feature, VerifyingKey};
use pia_sealing::{AcceptNew, KeyGuardOutcome, MasterKeyError, MasterKeys, Sealer, ServerSeal};
use pia_settings::{Encryption, LiveConfig};
use pia_storage::Database;
use pia_storage_identity::{SqlAddresses, SqlFirstAdmin};
use pia_storage_sealing::{SqlKeyRegister, SqlSalts};
use pia_storage_sync::SqlStampGaps;
use pia_sync::StampGaps;
use pia_upstream::Tls;

use super::ComposeError;
use crate::bridges::FeatureLicence;
use crate::licence::LicenceFile;
use crate::location_database::{LocationDatabase, LocationDatabaseError};
use crate::setup::{Administrators, Setup};
use crate::tls::ServedCertificate;

/// Infrastructure of all domains.
pub(super) struct Infrastructure<'a> {
    pub(super) config: &'a Arc<LiveConfig>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) db: Database,
    pub(super) sealer: Sealer,
    /// Seal of what belongs to no single user.
    pub(super) server_seal: ServerSeal,
    /// True if a mail relay is configured.
    pub(super) mail: LiveSetting<bool>,
    pub(super) licence: Arc<LicenceFile>,
    pub(super) setup: Setup,
    /// TLS configuration for outgoing connections.
    pub(super) tls: Tls,
    /// Certificate of incoming connections, if the server terminates TLS itself.
    pub(super) certificate: Option<ServedCertificate>,
    /// Gaps in which no stamps were issued.
    pub(super) stamp_gaps: StampGaps,
    /// Locations of IP addresses, if a database is configured.
    pub(super) locations: Option<Arc<dyn AddressLocations>>,
}

impl<'a> Infrastructure<'a> {
    pub(super) async fn open(
        config: &'a Arc<LiveConfig>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let start = config.latest();
        let certificate = start.server.tls.clone().map(ServedCertificate::load).transpose()?;
        let locations = open_locations(start.server.location_database.as_deref())?;
        let db = pia_storage::start(start.database.startup.clone()).await?;
        let encryption = &start.encryption;
        let accept = if encryption.accept_new_master_key { AcceptNew::Yes } else { AcceptNew::No };
        let keys = master_keys(encryption, accept, &db).await?;
        let stamp_gaps = SqlStampGaps::new(db.clone())
            .record_gap_until(clock.now())
            .await
            .map_err(ComposeError::Stamps)?;
        let mail = config.follow(|it| it.smtp.relay.is_some());
        fold_addresses(&db).await.map_err(ComposeError::Addresses)?;
        let server_seal = ServerSeal::new(keys.clone());
        let db = db.with_effects(server_seal.clone(), mail.clone());
        let path = start.license.path.clone();
        let key = VerifyingKey::built_in();
        let licence = Arc::new(LicenceFile::open(path, key, Arc::clone(&clock)));
        let admins = Administrators::load(Arc::new(SqlFirstAdmin::new(db.clone()))).await;
        let setup = Setup::open(Arc::clone(&licence), start.setup.token_path.clone(), admins);
        let sealer = Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())));
        let tls = Tls::native()?;

        Ok(Self {
            config,
            clock,
            db,
            sealer,
            server_seal,
            mail,
            licence,
            setup,
            tls,
            certificate,
            stamp_gaps,
            locations,
        })
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns the licence of a feature.
    pub(super) fn licence_of(&self, feature: Feature) -> FeatureLicence {
        FeatureLicence { state: self.licence.state(), clock: self.clock(), feature }
    }

    /// Returns the server's public URL.
    pub(super) fn public_url(&self) -> String {
        self.config.latest().server.public_url.as_str().to_owned()
    }
}

fn open_locations(
    path: Option<&Path>,
) -> Result<Option<Arc<dyn AddressLocations>>, LocationDatabaseError> {
    let Some(path) = path else { return Ok(None) };
    Ok(Some(Arc::new(LocationDatabase::open(path)?)))
}

/// Returns the keys that data is sealed with. Fails if the stored data was
/// sealed with another.
pub(crate) async fn master_keys(
    encryption: &Encryption,
    accept: AcceptNew,
    db: &Database,
) -> Result<MasterKeys, MasterKeyError> {
    let keys = MasterKeys {
        current: encryption.master_key.clone(),
        previous: encryption.previous_master_key.clone(),
    };

    match KeyGuardOutcome::check(&keys, accept, &SqlKeyRegister::new(db.clone())).await? {
        KeyGuardOutcome::Known => {}
        KeyGuardOutcome::Succeeded => tracing::info!("master key rotated from the previous one"),
        KeyGuardOutcome::Abandoned => {
            tracing::warn!("master key replaced; data encrypted under the old one is unreadable");
        }
    }

    Ok(keys)
}

/// Normalises addresses that earlier versions stored.
pub(crate) async fn fold_addresses(db: &Database) -> Result<(), Unavailable> {
    let outcome = SqlAddresses::new(db.clone()).fold().await?;
    if outcome.folded > 0 {
        tracing::info!(count = outcome.folded, "normalised the domains of stored email addresses");
    }
    for account in outcome.shared {
        tracing::warn!(
            %account,
            "two accounts have the same email address after normalisation; both are kept"
        );
    }
    Ok(())
}
