//! Pushes of a device.

use std::collections::BTreeMap;

use pia_server_testkit::client::TestResponse;
use serde_json::{Map, Value, json};

use super::device::{Device, Generation};
use super::fields::{Channel, SETTINGS};
use super::model::Sent;
use super::moment::Moment;
use super::read::{guid, moment, object, text};
use super::row::Row;
use super::wire::{dotnet, gzip};

/// Sessions in one request of a first push.
const SLICE: usize = 200;

/// Outcome of a push.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// Device had no changes.
    Nothing,
    /// Push was stored, with this number of conflicts.
    Stored(usize),
    /// Status of the refusal.
    Refused(u16),
    /// Response was lost; the push may have been stored.
    Lost,
}

/// Changes of one request.
#[derive(Default)]
struct Batch {
    rows: Vec<(Channel, Row)>,
    deleted: Vec<(Channel, String)>,
    /// True for the first request of a push of all rows.
    full: bool,
    delta: bool,
}

/// Form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    Delivered,
    /// The response does not arrive.
    ResponseLost,
    /// Compressed bytes whose header was lost.
    Unlabelled,
}

impl Device {
    pub(crate) async fn push(&mut self) -> Pushed {
        self.push_as(Sending::Delivered).await
    }

    /// Pushes all changes, or all rows without a cursor.
    pub(crate) async fn push_as(&mut self, sending: Sending) -> Pushed {
        let batches = self.batches();
        if batches.is_empty() {
            return Pushed::Nothing;
        }

        let mut conflict_count = 0;
        for batch in batches {
            let (answer, sent) = self.send_batch(&batch, sending).await;
            if answer.status != 200 {
                self.note_encryption(&answer);
                return Pushed::Refused(answer.status);
            }
            conflict_count += count_conflicts(&answer, &sent);
            for (channel, row) in &batch.rows {
                self.unpushed.remove(&(*channel, row.id.clone()));
            }
            if sending == Sending::ResponseLost {
                return Pushed::Lost;
            }
            self.stored(&batch);
        }
        Pushed::Stored(conflict_count)
    }

    /// Pushes all rows with their own times, as after encryption was enabled.
    pub(crate) async fn push_all(&mut self) -> Pushed {
        self.resync();
        self.push().await
    }

    fn batches(&self) -> Vec<Batch> {
        match (self.generation, self.cursor) {
            (Generation::March, cursor) => vec![self.every_row(cursor)],
            (_, None) => self.first_batches(),
            (_, Some(cursor)) => self.delta(cursor).into_iter().collect(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (Channel, &Row)> {
        let muted = |channel| channel == Channel::Settings && self.settings_muted;
        let is_pushed = move |channel| self.knows(channel) && !muted(channel);
        self.store
            .iter()
            .filter(move |((channel, _), _)| is_pushed(*channel))
            .map(|((channel, _), row)| (*channel, row))
    }

    /// Returns a push of March: all rows but older sessions, in one body.
    fn every_row(&self, cursor: Option<Moment>) -> Batch {
        let since = cursor.unwrap_or(Moment::FIRST);
        let is_pushed = |it: &(Channel, &Row)| it.0 != Channel::Sessions || it.1.created >= since;
        let rows = self.rows().filter(is_pushed).map(|(channel, row)| (channel, row.clone()));
        Batch { rows: rows.collect(), full: true, ..Batch::default() }
    }

    fn first_batches(&self) -> Vec<Batch> {
        let all = self.rows().map(|(channel, row)| (channel, row.clone()));
        let (sessions, mut first_rows): (Vec<_>, Vec<_>) =
            all.partition(|(channel, _)| *channel == Channel::Sessions);
        let mut slices = sessions.chunks(SLICE);
        first_rows.extend_from_slice(slices.next().unwrap_or_default());
        let mut batches = vec![Batch { rows: first_rows, full: true, ..Batch::default() }];
        batches.extend(slices.map(|it| Batch { rows: it.to_vec(), ..Batch::default() }));
        batches
    }

    /// Returns the rows that are not older than the cursor.
    fn delta(&self, cursor: Moment) -> Option<Batch> {
        let settings = self.store.get(&(Channel::Settings, SETTINGS.to_owned()));
        let settings_changed = settings.map(|it| &it.fields) != self.pushed_settings.as_ref();
        let is_pushed = |(channel, row): &(Channel, &Row)| match channel {
            Channel::Settings => settings_changed,
            _ => row.updated >= cursor,
        };
        let rows: Vec<_> = self.rows().filter(is_pushed).map(|it| (it.0, it.1.clone())).collect();
        let deleted: Vec<_> = self.deleted.iter().cloned().collect();
        let is_empty = rows.is_empty() && deleted.is_empty();
        (!is_empty).then_some(Batch { rows, deleted, full: false, delta: true })
    }

    async fn send_batch(&mut self, batch: &Batch, sending: Sending) -> (TestResponse, Sent) {
        let claimed = self.now();
        let mut sent = self.journal.begin(claimed, self.time.now());
        let body = self.body(batch, claimed, &mut sent);
        let (headers, bytes) = self.encode(batch, &body, sending);
        let headers: Vec<_> = headers.iter().map(|it| (it.0, it.1)).collect();
        let answer = self.call("POST", "/api/sync/push", &headers, &bytes).await;
        if answer.status == 200 {
            sent.deleted.extend(batch.deleted.iter().cloned());
            self.journal.end(sent.clone(), self.time.now());
        }
        (answer, sent)
    }

    /// Encodes a request like clients of this generation.
    fn encode(
        &self,
        batch: &Batch,
        body: &Value,
        sending: Sending,
    ) -> (Vec<(&'static str, &'static str)>, Vec<u8>) {
        let json = ("Content-Type", "application/json; charset=utf-8");
        let packed = ("Content-Encoding", "gzip");
        let cased = match self.generation {
            Generation::Spring if batch.delta => pascal(body),
            _ => body.clone(),
        };
        let plain = dotnet(&cased).into_bytes();
        match self.generation {
            _ if sending == Sending::Unlabelled => (vec![json], gzip(&plain)),
            Generation::March => (vec![json], plain),
            Generation::Spring if !batch.delta => (vec![json], plain),
            _ => (vec![json, packed], gzip(&plain)),
        }
    }

    fn body(&self, batch: &Batch, claimed: Moment, sent: &mut Sent) -> Value {
        let sealer = self.sealer();
        let last = match self.cursor {
            Some(cursor) => cursor.to_string(),
            None => Moment::FIRST.zoneless(),
        };
        let mut body = Map::new();
        body.insert("clientTimestamp".to_owned(), json!(claimed.to_string()));
        body.insert("lastSyncTimestamp".to_owned(), json!(last));
        body.insert("deviceId".to_owned(), json!(self.id));
        body.insert("isE2EEEncrypted".to_owned(), json!(sealer.is_some()));

        let mut lists: BTreeMap<Channel, (Vec<Value>, Vec<&str>)> = BTreeMap::new();
        for (channel, row) in &batch.rows {
            let mut row = row.clone();
            if *channel == Channel::Settings {
                row.updated = claimed;
            }
            sent.record(*channel, &row);
            let mut wire = row.on_wire(*channel, sealer.as_ref());
            if self.generation == Generation::March {
                write_nulls(*channel, &mut wire);
            }
            if *channel == Channel::Settings {
                body.insert("settings".to_owned(), wire);
            } else {
                lists.entry(*channel).or_default().0.push(wire);
            }
        }
        for (channel, id) in &batch.deleted {
            lists.entry(*channel).or_default().1.push(id);
        }

        for channel in Channel::ROWS.into_iter().filter(|it| self.knows(*it)) {
            let (rows, deleted) = lists.remove(&channel).unwrap_or_default();
            let changes = json!({ channel.list(): rows, "deleted": deleted });
            body.insert(channel.name().to_owned(), changes);
        }
        if self.generation == Generation::Newest {
            body.insert("researchSessions".to_owned(), json!({ "upserted": [], "deleted": [] }));
            body.insert("pluginPreferences".to_owned(), json!([]));
        }
        Value::Object(body)
    }

    /// Updates the client's state after a push was stored.
    fn stored(&mut self, batch: &Batch) {
        if batch.delta {
            self.deleted.clear();
        }
        let settings = batch.rows.iter().find(|(channel, _)| *channel == Channel::Settings);
        if let Some((_, settings)) = settings {
            self.pushed_settings = Some(settings.fields.clone());
        }
        debug_assert!(!batch.full || !batch.delta);
    }

    /// Starts onboarding if the answer has the code that the client looks for.
    pub(crate) fn note_encryption(&mut self, answer: &TestResponse) {
        if answer.status == 403 && answer.text().contains("e2ee_required") {
            self.onboarding = true;
        }
    }
}

/// Parses the answer to a push, and returns the number of conflicts.
fn count_conflicts(answer: &TestResponse, sent: &Sent) -> usize {
    let body = object(answer, "a push");
    moment(body.get("serverTimestamp"), "serverTimestamp of a push");
    let conflicts = body
        .get("conflicts")
        .map(|it| it.as_array().expect("conflicts are an array").as_slice())
        .unwrap_or_default();
    for conflict in conflicts {
        let entity = text(conflict.get("entity"), "entity of a conflict");
        let resolution = text(conflict.get("resolution"), "resolution of a conflict");
        let is_known = ["server_wins", "client_wins"].contains(&resolution.as_str());
        assert!(is_known, "an unknown resolution: {resolution}");
        if entity != "settings" {
            let id = guid(conflict.get("id"), "id of a conflict");
            let was_pushed = sent.versions.iter().any(|it| it.0.name() == entity && it.1.id == id);
            assert!(was_pushed, "a conflict about {entity} {id}, which was not pushed");
        }
    }
    conflicts.len()
}

/// Adds keys without a value as null, like clients of March.
fn write_nulls(channel: Channel, wire: &mut Value) {
    let fields = wire.as_object_mut().expect("an object");
    let names = channel.fields().iter().map(|it| it.name);
    for name in names.chain(["encryptedPayload", "wrappedDek"]) {
        fields.entry(name).or_insert(Value::Null);
    }
}

fn pascal(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(pascal).collect(),
        Value::Object(all) => {
            let cased = |name: &str| {
                let (first, rest) = name.split_at(1);
                first.to_ascii_uppercase() + rest
            };
            all.iter().map(|(name, it)| (cased(name), pascal(it))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}
