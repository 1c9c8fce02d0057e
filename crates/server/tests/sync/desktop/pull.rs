//! Pulls of a device, which checks each page and applies it to its store.

use pia_server_testkit::client::TestResponse;
use serde_json::{Map, Value};

use super::device::{Device, Generation};
use super::fields::Channel;
use super::moment::Moment;
use super::read::{self, Page, Received};
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
const DEFAULT_LIMIT: usize = 500;

/// Request for one page of a pull.
struct PullRequest {
    since: Moment,
    /// Maximum number of rows.
    limit: usize,
    is_first: bool,
    /// True if the device has no data yet, so that the server must send all of it.
    is_initial: bool,
}

impl PullRequest {
    /// Returns whether the server may answer that the device is up to date.
    fn is_conditional(&self) -> bool {
        self.is_first && !self.is_initial
    }
}

impl Device {
    pub(crate) async fn pull(&mut self) -> Pulled {
        self.pull_by(DEFAULT_LIMIT).await
    }

    /// Pulls in pages of at most `limit` rows.
    pub(crate) async fn pull_by(&mut self, limit: usize) -> Pulled {
        let is_initial = !self.initialized;
        let mut since = self.cursor.unwrap_or(Moment::FIRST);
        let mut etag = None;
        let mut catalog = None;

        for number in 1..=MAX_PAGES {
            let request = PullRequest { since, limit, is_first: number == 1, is_initial };
            let answer = self.request_page(&request).await;
            match answer.status {
                200 => {}
                304 => {
                    let may_be_unmodified = request.is_conditional() && self.etag.is_some();
                    assert!(may_be_unmodified, "304 to an unconditional pull");
                    return Pulled::NotModified;
                }
                status if request.is_first => return Pulled::Refused(status),
                _ => return Pulled::Applied { pages: number - 1 },
            }

            let page = read::page(&answer);
            self.check(&page, &request);
            let is_encrypted = page.rows.iter().any(|(_, row)| row.sealed.is_some());
            if is_encrypted && self.umk.is_none() {
                self.onboarding = true;
                return Pulled::Locked;
            }

            self.apply(&page);
            self.cursor = Some(self.cursor_after(&page));
            if request.is_first {
                etag = page.etag;
                catalog = page.catalog;
            }

            let is_last = !page.more || page.timestamp <= since;
            if is_last {
                self.complete_pull(etag, catalog);
                return Pulled::Applied { pages: number };
            }
            since = page.timestamp;
        }
        panic!("a pull of more than {MAX_PAGES} pages");
    }

    async fn request_page(&mut self, request: &PullRequest) -> TestResponse {
        let PullRequest { since, limit, .. } = *request;
        if self.generation == Generation::March {
            let time = if since == Moment::FIRST { since.zoneless() } else { since.exact() };
            return self.get_json(&format!("/api/sync/pull?since={time}")).await;
        }

        let mut path = format!("/api/sync/pull?since={}&limit={limit}", since.exact());
        path.extend(self.named_catalog(request).map(|it| format!("&catalogVersion={it}")));
        let etag = if request.is_conditional() { self.etag.clone() } else { None };
        let headers: Vec<(&str, &str)> =
            etag.iter().map(|it| ("If-None-Match", it.as_str())).collect();
        self.call("GET", &path, &headers, &[]).await
    }

    /// Returns the version of the catalogue that the device names; `None` while it has no data.
    fn named_catalog(&self, request: &PullRequest) -> Option<i64> {
        let has_data = !(request.is_first && request.is_initial);
        if has_data { self.catalog } else { None }
    }

    /// Returns the cursor behind a page: the server's, or in March the device's own clock.
    fn cursor_after(&self, page: &Page) -> Moment {
        if self.generation == Generation::March { self.now() } else { page.timestamp }
    }

    /// Asserts the rules of every page.
    fn check(&self, page: &Page, request: &PullRequest) {
        let cursor_grows = page.timestamp > request.since;
        assert!(!page.more || cursor_grows, "more to come, but the cursor does not grow");
        if self.generation == Generation::March {
            assert!(!page.more, "a pull without a limit has one page");
            return;
        }
        assert!(!request.is_first || page.etag.is_some(), "the first page has an ETag");

        let named_catalog = self.named_catalog(request);
        if named_catalog.is_some() && page.catalog == named_catalog {
            let skipped = !page.has_personas && !page.has_policy;
            assert!(skipped, "a known catalogue is not sent");
        }
        assert!(
            page.timestamp <= self.time.now().plus_seconds(1),
            "the cursor is ahead of the server's clock"
        );
    }

    /// Stores what makes the next pull conditional.
    fn complete_pull(&mut self, etag: Option<String>, catalog: Option<i64>) {
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
        let Some(local_row) = self.store.get_mut(&key) else {
            if channel == Channel::Providers {
                self.remove_provider_like(&row);
            }
            self.store.insert(key, row);
            return;
        };

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
