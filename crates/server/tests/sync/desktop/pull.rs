//! Pulls of a device.

use pia_server_testkit::client::TestResponse;
use serde_json::{Map, Value};

use super::device::{Device, Generation};
use super::fields::Channel;
use super::moment::Moment;
use super::read::{self, Page, Received, page};
use super::row::Row;

/// Outcome of a pull.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    NotModified,
    Applied {
        pages: usize,
    },
    /// Status of the first page.
    Refused(u16),
    /// Body is ciphertext and the key is missing: nothing was applied.
    Locked,
}

const MAX_PAGES: usize = 1000;

impl Device {
    pub(crate) async fn pull(&mut self) -> Pulled {
        self.pull_by(500).await
    }

    /// Pulls in pages of at most `limit` rows.
    pub(crate) async fn pull_by(&mut self, limit: usize) -> Pulled {
        let forced = !self.initialized;
        let mut since = self.cursor.unwrap_or(Moment::FIRST);
        let mut etag = None;
        let mut catalog = None;
        for number in 1..=MAX_PAGES {
            let first = number == 1;
            let answer = self.request_page(since, limit, first && !forced, first).await;
            match answer.status {
                200 => {}
                304 => {
                    assert!(
                        first && !forced && self.etag.is_some(),
                        "304 to an unconditional pull"
                    );
                    return Pulled::NotModified;
                }
                other if first => return Pulled::Refused(other),
                _ => return Pulled::Applied { pages: number - 1 },
            }
            let page = page(&answer);
            self.check(&page, since, first, forced);
            if self.umk.is_none() && page.rows.iter().any(|(_, row)| row.sealed.is_some()) {
                self.onboarding = true;
                return Pulled::Locked;
            }
            self.apply(&page);
            if first {
                (etag, catalog) = (page.etag.clone(), page.catalog);
            }
            let previous_since = since;
            since = page.timestamp;
            self.cursor = Some(if self.generation == Generation::March {
                // Its own clock, not the server's.
                self.now()
            } else {
                since
            });
            if !page.more || since <= previous_since {
                self.applied(etag, catalog);
                return Pulled::Applied { pages: number };
            }
        }
        panic!("a pull of more than {MAX_PAGES} pages");
    }

    async fn request_page(
        &mut self,
        since: Moment,
        limit: usize,
        by_tag: bool,
        first: bool,
    ) -> TestResponse {
        if self.generation == Generation::March {
            let since = if since == Moment::FIRST { since.zoneless() } else { since.exact() };
            return self.get_json(&format!("/api/sync/pull?since={since}")).await;
        }
        let mut path = format!("/api/sync/pull?since={}&limit={limit}", since.exact());
        let catalog = if by_tag || !first { self.catalog } else { None };
        path.extend(catalog.map(|it| format!("&catalogVersion={it}")));
        let etag = if by_tag { self.etag.clone() } else { None };
        let headers: Vec<(&str, &str)> =
            etag.iter().map(|it| ("If-None-Match", it.as_str())).collect();
        self.call("GET", &path, &headers, &[]).await
    }

    /// Asserts the rules of every page.
    fn check(&self, page: &Page, since: Moment, first: bool, forced: bool) {
        let cursor_grows = page.timestamp > since;
        assert!(!page.more || cursor_grows, "more to come, but the cursor does not grow");
        if self.generation == Generation::March {
            assert!(!page.more, "a pull without a limit has one page");
            return;
        }
        assert!(!first || page.etag.is_some(), "the first page has an ETag");

        let known = if first && forced { None } else { self.catalog };
        if known.is_some() && page.catalog == known {
            let skipped = !page.has_personas && !page.has_policy;
            assert!(skipped, "a known catalogue is not sent");
        }
        assert!(
            page.timestamp <= self.time.now().plus_seconds(1),
            "the cursor is ahead of the server's clock"
        );
    }

    fn applied(&mut self, etag: Option<String>, catalog: Option<i64>) {
        if self.generation == Generation::March {
            return;
        }
        self.etag = etag;
        self.catalog = catalog.or(self.catalog);
        self.initialized = true;
    }

    fn apply(&mut self, page: &Page) {
        let rows = page.rows.iter().map(|(channel, row)| (*channel, row.id.clone()));
        self.last_pulled = rows.chain(page.deleted.iter().cloned()).collect();
        for (channel, row) in &page.rows {
            if self.knows(*channel) {
                self.apply_row(*channel, row);
            }
        }
        for (channel, id) in &page.deleted {
            self.forget(*channel, id);
        }
    }

    fn apply_row(&mut self, channel: Channel, received: &Received) {
        let Some(row) = self.decrypt(channel, received) else { return };
        let key = (channel, row.id.clone());
        let built_in = row.id.starts_with("0000000a-0000-0000-0000-");
        if built_in && matches!(channel, Channel::Templates | Channel::Personas) {
            return;
        }
        if let Some(local_row) = self.store.get_mut(&key) {
            if channel == Channel::Sessions || row.updated < local_row.updated {
                return;
            }
            self.unpushed.remove(&key);
            if channel == Channel::Settings {
                // Pushed back, they would circulate between three devices.
                self.pushed_settings = Some(row.fields.clone());
            }
            if channel == Channel::Memories {
                local_row.updated = row.updated;
                let is_applied = |name: &str| ["label", "data"].contains(&name);
                let fields = row.fields.into_iter().filter(|(name, _)| is_applied(name));
                local_row.fields.extend(fields);
            } else {
                *local_row = row;
            }
            return;
        }
        if channel == Channel::Providers {
            self.remove_provider_like(&row);
        }
        self.store.insert(key, row);
    }

    /// Removes the provider with the settings of this one, whose id replaces it.
    fn remove_provider_like(&mut self, provider: &Row) {
        let settings_of = |row: &Row| {
            ["providerType", "endpoint", "modelName", "azureDeploymentName"]
                .map(|name| row.fields.get(name).cloned())
        };
        let settings = settings_of(provider);
        self.store.retain(|(channel, _), local_row| {
            *channel != Channel::Providers || settings_of(local_row) != settings
        });
    }

    /// Decrypts a row; `None`, which is skipped, if that fails.
    fn decrypt(&self, channel: Channel, received: &Received) -> Option<Row> {
        let mut fields = received.open.clone();
        if let Some(blobs) = &received.sealed {
            let sealer = self.sealer()?;
            let json = sealer.unseal(channel.entity(), &received.id, blobs)?;
            let hidden: Map<String, Value> = serde_json::from_slice(&json).expect("our own JSON");
            for field in channel.fields().iter().filter(|it| it.sealed) {
                let value = hidden.get(field.name).filter(|it| !it.is_null());
                fields.extend(value.map(|it| {
                    (field.name.to_owned(), read::read(field, it, "an encrypted field"))
                }));
            }
        }
        let &Received { created, updated, .. } = received;
        Some(Row { id: received.id.clone(), created, updated, fields })
    }

    /// Applies a deletion; the client repeats it with its next push.
    fn forget(&mut self, channel: Channel, id: &str) {
        if channel == Channel::KanbanColumns {
            return;
        }
        let key = (channel, id.to_owned());
        self.unpushed.remove(&key);
        if self.store.remove(&key).is_some() && self.generation != Generation::March {
            self.deleted.insert(key);
        }
    }
}
