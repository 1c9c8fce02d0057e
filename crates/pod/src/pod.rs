//! Pod: its description, and the loop that keeps it connected.
//!
//! Set it up with the `with_…` methods, then call `run`. `run` repeats `serve`,
//! one connection each; `session.rs` is the conversation on it. Errors are
//! `Fatal`, which end the pod, or lead to another attempt after a delay.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::Secret;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::{ConnectionError, PodError};
use crate::messages::PodDescription;
use crate::renewal::{Renewal, TokenStore};
use crate::session::Session;
use crate::skill::PodSkill;
use crate::tool::Tool;

/// Interval of pings. The server counts a pod as gone after twice as long.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Tools by their names.
pub(crate) type Tools = BTreeMap<String, Arc<dyn Tool>>;

/// Program that serves calls of its tools, and runs skills, for a server.
pub struct Pod {
    endpoint: Endpoint,
    renewal: Renewal,
    name: String,
    version: String,
    max_concurrent_calls: usize,
    keep_alive: Duration,
    tools: watch::Sender<Tools>,
    skills: BTreeMap<String, Arc<dyn PodSkill>>,
}

impl Pod {
    /// Creates a pod for the server at this address, such as
    /// `https://pia.example`, with the token that the server issued for it.
    pub fn new(server: &str, token: &Secret<String>) -> Result<Self, PodError> {
        Ok(Self {
            endpoint: Endpoint::new(server, token)?,
            renewal: Renewal::default(),
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            max_concurrent_calls: 8,
            keep_alive: KEEP_ALIVE,
            tools: watch::Sender::default(),
            skills: BTreeMap::new(),
        })
    }

    /// Sets the name that administrators see.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Sets the version that administrators see.
    #[must_use]
    pub fn with_version(self, version: &str) -> Self {
        Self { version: version.to_owned(), ..self }
    }

    /// Sets the maximum number of calls that run at once, 8 by default. Others
    /// wait within their time limits.
    #[must_use]
    pub fn with_max_concurrent_calls(self, calls: usize) -> Self {
        Self { max_concurrent_calls: calls.max(1), ..self }
    }

    /// Sets the interval of pings, 15 seconds by default. A server that is
    /// silent for twice as long counts as gone.
    #[must_use]
    pub fn with_keep_alive(self, interval: Duration) -> Self {
        Self { keep_alive: interval, ..self }
    }

    /// Renews the token within 30 days of its end, and stores it here. Without
    /// a store the pod is refused once its token has ended.
    #[must_use]
    pub fn with_token_store(self, store: impl TokenStore) -> Self {
        Self { renewal: Renewal::new(store), ..self }
    }

    /// Adds a tool; it replaces one of the same name.
    #[must_use]
    pub fn with_tool(self, tool: impl Tool) -> Self {
        let name = tool.description().name;
        self.tools.send_modify(|it| drop(it.insert(name, Arc::new(tool))));
        self
    }

    /// Replaces all tools, also while the pod runs: it describes itself again.
    /// Calls in progress end as they would have.
    pub fn replace_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        let by_name = tools.into_iter().map(|it| (it.description().name, it)).collect();
        self.tools.send_replace(by_name);
    }

    /// Adds a skill; it replaces one of the same name.
    #[must_use]
    pub fn with_skill(mut self, skill: impl PodSkill) -> Self {
        self.skills.insert(skill.name().to_owned(), Arc::new(skill));
        self
    }

    /// Connects, and serves calls until `stop` is cancelled; then it takes no
    /// further ones and returns when those in progress have ended. A lost
    /// connection is opened again. Ends with an error if that cannot help.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), PodError> {
        let mut backoff = Backoff::new();
        loop {
            let error = match self.serve(&stop, &mut backoff).await {
                Err(ConnectionError::Fatal(error)) if error.is_of_token() && self.take_over() => {
                    continue;
                }
                Err(ConnectionError::Fatal(error)) => return Err(error),
                Err(error) if stop.is_cancelled() => {
                    tracing::warn!(%error, "the connection was lost while the pod stopped");
                    return Ok(());
                }
                Err(error) => error,
                Ok(()) => return Ok(()),
            };

            let delay = backoff.next_delay();
            tracing::warn!(%error, ?delay, "not connected; the pod tries again");
            if stop.run_until_cancelled(sleep(delay)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Serves one connection. It returns without an error if it was stopped.
    async fn serve(
        &self,
        stop: &CancellationToken,
        backoff: &mut Backoff,
    ) -> Result<(), ConnectionError> {
        let opening = Box::pin(Connection::open(&self.endpoint, self.keep_alive * 2));
        let Some(connection) = stop.run_until_cancelled(opening).await else { return Ok(()) };
        Session::new(self, connection?).run(stop, backoff).await
    }

    /// Continues with a token that could not be stored, if there is one: the last step in
    /// `renewal.rs`.
    fn take_over(&self) -> bool {
        let Some(new) = self.renewal.take_over() else { return false };
        tracing::warn!("the token has ended; the pod goes on with one that could not be stored");
        self.endpoint.set_token(&new.token).is_ok()
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn renewal(&self) -> &Renewal {
        &self.renewal
    }

    pub(crate) fn describe(&self) -> PodDescription<'_> {
        let tools = self.tools.borrow().values().map(|it| it.description()).collect();
        let skills = self
            .skills
            .iter()
            .map(|(name, skill)| match skill.timeout_seconds() {
                Some(limit) => json!({ "name": name, "timeoutSeconds": limit }),
                None => json!(name),
            })
            .collect();
        PodDescription::new(&self.name, &self.version, tools, skills, self.max_concurrent_calls)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.borrow().get(name).map(Arc::clone)
    }

    /// Returns a receiver that is notified when tools are replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Tools> {
        self.tools.subscribe()
    }

    pub(crate) fn skill(&self, name: &str) -> Option<Arc<dyn PodSkill>> {
        self.skills.get(name).map(Arc::clone)
    }

    pub(crate) fn max_concurrent_calls(&self) -> usize {
        self.max_concurrent_calls
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        self.keep_alive
    }
}

impl fmt::Debug for Pod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pod").field("name", &self.name).finish_non_exhaustive()
    }
}
