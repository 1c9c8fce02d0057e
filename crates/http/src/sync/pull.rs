//! `GET /api/sync/pull`: changes since the last pull of a device.

use actix_web::http::header::{ETAG, IF_NONE_MATCH};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_kernel::UserId;
use pia_sync::{PullError, PullRequest, PullState, Pulled};
use pia_web::Caller;

use super::pull_query::PullQuery;
use super::pull_response::SyncPullResponse;
use crate::pieces::json_in_chunks;
use crate::{Api, HttpError};

/// Returns the changes since the last pull. If the client sends an entity tag,
/// it is compared before anything else is read.
pub(crate) async fn pull(
    caller: Caller,
    api: Data<Api>,
    request: HttpRequest,
    query: PullQuery,
) -> Result<HttpResponse, HttpError> {
    let user = caller.0.user;
    let compares_tags = *api.sync.fast_path.get();
    let cached_tags = if compares_tags { read_cached_tags(&request) } else { None };
    let pull_request = query.0;
    let (tag, outcome) = api
        .run(|api| async move {
            pull_outcome(&api.sync.pulling, user, &pull_request, cached_tags).await
        })
        .await?;
    Ok(match outcome {
        PullOutcome::Unchanged => HttpResponse::NotModified().insert_header((ETAG, tag)).finish(),
        PullOutcome::Changed(pulled) => {
            let mut response = HttpResponse::Ok();
            json_in_chunks(response.insert_header((ETAG, tag)), &SyncPullResponse::from(*pulled))
        }
    })
}

enum PullOutcome {
    /// Client has the current snapshot.
    Unchanged,
    Changed(Box<Pulled>),
}

async fn pull_outcome(
    pulling: &pia_sync::PullService,
    user: UserId,
    pull_request: &PullRequest,
    cached_tags: Option<String>,
) -> Result<(String, PullOutcome), PullError> {
    let Some(cached_tags) = cached_tags else {
        let (state, pulled) = pulling.pull_at_once(user, pull_request).await?;
        return Ok((tag_of(&state), PullOutcome::Changed(Box::new(pulled))));
    };
    let state = pulling.pull_state(user, pull_request.since).await?;
    let tag = tag_of(&state);
    if cached_tags.split(',').any(|it| strip_weak_prefix(it) == strip_weak_prefix(&tag)) {
        return Ok((tag, PullOutcome::Unchanged));
    }
    let pulled = pulling.pull(user, pull_request, &state).await?;
    Ok((tag, PullOutcome::Changed(Box::new(pulled))))
}

fn tag_of(state: &PullState) -> String {
    format!("W/\"{}\"", state.tag())
}

fn read_cached_tags(request: &HttpRequest) -> Option<String> {
    Some(request.headers().get(IF_NONE_MATCH)?.to_str().ok()?.to_owned())
}

/// Removes the prefix of a weak tag, which does not matter to clients.
fn strip_weak_prefix(tag: &str) -> &str {
    let trimmed = tag.trim();
    trimmed.strip_prefix("W/").unwrap_or(trimmed)
}
