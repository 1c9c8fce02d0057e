//! Locations of IP addresses, from a file in the MMDB format.

use std::net::IpAddr;
use std::path::Path;

use maxminddb::{Reader, path};
use pia_console::AddressLocations;
use pia_kernel::Language;

/// Reason why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("SVC-RUN-013: the location database {path} cannot be used: {cause}")]
pub struct LocationDatabaseError {
    path: String,
    cause: String,
}

/// Database of locations, in memory.
pub(crate) struct LocationDatabase(Reader<Vec<u8>>);

impl LocationDatabase {
    /// Reads the file.
    pub(crate) fn open(path: &Path) -> Result<Self, LocationDatabaseError> {
        let reader = Reader::open_readfile(path).map_err(|err| LocationDatabaseError {
            path: path.display().to_string(),
            cause: err.to_string(),
        })?;
        tracing::info!(kind = %reader.metadata().database_type, "location database read");
        Ok(Self(reader))
    }
}

impl AddressLocations for LocationDatabase {
    fn location(&self, address: IpAddr, language: Language) -> Option<String> {
        // A database of IPv4 addresses refuses others.
        let record = self.0.lookup(address).ok()?;
        let name = |part: &str| {
            let tags = [language.tag(), Language::En.tag()];
            let mut names = tags.into_iter().map(|tag| path![part, "names", tag]);
            names.find_map(|it| record.decode_path::<String>(&it).ok().flatten())
        };
        let names: Vec<_> = ["city", "country"].into_iter().filter_map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use pia_testkit::location_database;

    use super::*;

    const HOME: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
    const VIENNA: &[(&str, &str)] = &[("de", "Wien"), ("en", "Vienna")];
    const AUSTRIA: &[(&str, &str)] = &[("en", "Austria")];

    fn open(content: &[u8]) -> Result<LocationDatabase, LocationDatabaseError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("city.mmdb");
        std::fs::write(&path, content).unwrap();
        LocationDatabase::open(&path)
    }

    fn locate(record: &[(&str, &[(&str, &str)])], language: Language) -> Option<String> {
        open(&location_database(HOME, record)).unwrap().location(HOME.into(), language)
    }

    #[test]
    fn a_location_is_a_city_and_a_country_in_the_language_or_in_english() {
        let record = [("city", VIENNA), ("country", AUSTRIA)];

        assert_eq!(locate(&record, Language::En).unwrap(), "Vienna, Austria");
        assert_eq!(locate(&record, Language::De).unwrap(), "Wien, Austria");
        assert_eq!(locate(&[("country", AUSTRIA)], Language::De).unwrap(), "Austria");
        assert_eq!(locate(&[("continent", AUSTRIA)], Language::En), None);
    }

    #[test]
    fn other_addresses_have_no_location() {
        let database = open(&location_database(HOME, &[("city", VIENNA)])).unwrap();

        for other in ["203.0.113.6", "203.0.113.135", "0.0.0.0", "2001:db8::7"] {
            assert_eq!(database.location(other.parse().unwrap(), Language::En), None, "{other}");
        }
    }

    #[test]
    fn another_file_is_refused_with_its_path() {
        let message = open(b"no database").err().unwrap().to_string();

        assert!(message.starts_with("SVC-RUN-013: "), "{message}");
        assert!(message.contains("/city.mmdb cannot be used: "), "{message}");
    }
}
