//! Web searches, with the keys and limits of their catalogue entry.

use pia_kernel::GroupId;

use crate::gateway::Gateway;
use crate::routing::attempts::AttemptOutcome;
use crate::routing::catalogue::SearchProvider;
use crate::routing::keys::requested_cooldown;
use crate::routing::upstream_limiter::CallDemand;
use crate::tools::web_search::SearchResult;

impl Gateway {
    /// Searches the web for `query`. Returns `None` if the search failed, or if
    /// the process is to stop.
    pub(crate) async fn search_unless_stopped(
        &self,
        provider: &SearchProvider,
        group: GroupId,
        query: &str,
    ) -> Option<Vec<SearchResult>> {
        self.unless_stopped(self.search_with_keys(provider, group, query)).await.flatten()
    }

    /// Waits for a permit, and then tries one key after the other while the key
    /// may be the cause, or the provider is unreachable. A failure is logged; the
    /// model learns only that the search failed.
    async fn search_with_keys(
        &self,
        provider: &SearchProvider,
        group: GroupId,
        query: &str,
    ) -> Option<Vec<SearchResult>> {
        let max_wait = self.settings.get().max_wait;
        let demand = CallDemand { group, tokens: 0 };
        // Lives until the search has ended: the limits count open calls.
        let Ok(_permit) =
            self.upstream_limiter.acquire(provider, demand, max_wait, &self.timer).await
        else {
            tracing::warn!(
                provider = provider.id,
                "web search rejected: concurrency limit reached"
            );
            return None;
        };

        for key in self.keys.order(&provider.keys, self.timer.elapsed()) {
            let err = match self.search.search(provider, &key, query).await {
                Ok(results) => {
                    self.attempts.count_of(&provider.id, AttemptOutcome::Answered);
                    return Some(results);
                }
                Err(err) => err,
            };
            tracing::warn!(provider = provider.id, error = %err, "web search failed");
            let outcome = AttemptOutcome::from_error(&err);
            self.attempts.count_of(&provider.id, outcome);

            if outcome.is_key_failure() {
                self.keys.set_cooldown(&key, self.timer.elapsed(), requested_cooldown(&err));
            } else if outcome != AttemptOutcome::Unreachable {
                break;
            }
        }

        None
    }
}
