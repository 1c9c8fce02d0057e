//! Version of the catalogue that members pull.

/// Locks the catalogue's row until the commit, so that writes to the catalogue
/// are serialised.
macro_rules! lock_catalogue {
    ($conn:expr) => {
        diesel::update(pia_storage::schema::catalogue::table)
            .set(
                pia_storage::schema::catalogue::version.eq(pia_storage::schema::catalogue::version),
            )
            .execute($conn)
            .await?
    };
}

/// Increments the version of the catalogue.
macro_rules! bump_catalogue {
    ($conn:expr) => {
        diesel::update(pia_storage::schema::catalogue::table)
            .set(
                pia_storage::schema::catalogue::version
                    .eq(pia_storage::schema::catalogue::version + 1),
            )
            .execute($conn)
            .await?
    };
}

pub(crate) use {bump_catalogue, lock_catalogue};
