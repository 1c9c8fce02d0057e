//! `GET /api/sync/pull`: what changed since a device last looked.

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

enum PullOutcome {
    /// Client has the current snapshot.
    Unchanged,
    Changed(Box<Pulled>),
}

/// Answers what changed, and nothing of what the caller has. If it says what
/// that is, whether it is all is seen before anything else is read.
pub(crate) async fn pull(
    caller: Caller,
    api: Data<Api>,
    request: HttpRequest,
    query: PullQuery,
) -> Result<HttpResponse, HttpError> {
    let (pulling, user) = (api.sync.pulling.clone(), caller.0.user);
    let known = known_tags(&request).filter(|_| *api.sync.fast_path.get());
    let ask = query.0;
    let looked = async move { pull_outcome(&pulling, user, &ask, known).await };
    let (tag, answer) = api.run(looked).await?;
    Ok(match answer {
        PullOutcome::Unchanged => HttpResponse::NotModified().insert_header((ETAG, tag)).finish(),
        PullOutcome::Changed(pulled) => {
            let mut response = HttpResponse::Ok();
            json_in_chunks(response.insert_header((ETAG, tag)), &SyncPullResponse::from(*pulled))
        }
    })
}

async fn pull_outcome(
    pulling: &pia_sync::PullService,
    user: UserId,
    ask: &PullRequest,
    known: Option<String>,
) -> Result<(String, PullOutcome), PullError> {
    let Some(known) = known else {
        let (standing, pulled) = pulling.pull_at_once(user, ask).await?;
        return Ok((tag(&standing), PullOutcome::Changed(Box::new(pulled))));
    };
    let standing = pulling.pull_state(user, ask.since).await?;
    let tag = tag(&standing);
    if known.split(',').any(|it| strip_weak_prefix(it) == strip_weak_prefix(&tag)) {
        return Ok((tag, PullOutcome::Unchanged));
    }
    let pulled = pulling.pull(user, ask, &standing).await?;
    Ok((tag, PullOutcome::Changed(Box::new(pulled))))
}

fn tag(standing: &PullState) -> String {
    format!("W/\"{}\"", standing.tag())
}

fn known_tags(request: &HttpRequest) -> Option<String> {
    Some(request.headers().get(IF_NONE_MATCH)?.to_str().ok()?.to_owned())
}

/// A tag without whether it is weak: to a reader it is the same.
fn strip_weak_prefix(tag: &str) -> &str {
    let tag = tag.trim();
    tag.strip_prefix("W/").unwrap_or(tag)
}
