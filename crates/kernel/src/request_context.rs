//! Context of a request, available wherever it is handled.
//!
//! `surface` of `web` opens the scope; `Runner` of `web` carries it to the main
//! runtime; `storage/src/effects` reads it when audit entries and emails are
//! written. Each poll of a `Scoped` future sets a thread-local variable and
//! restores the previous value afterwards, so a context never leaks to another
//! future of the same thread.

use std::cell::RefCell;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::Language;

/// Context that everything caused by one request shares, as a logging span
/// does: audit entries and emails record it without each use case passing it
/// on.
///
/// No decision depends on it. Outside of a request it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestContext {
    /// Client address, as reported by trusted proxies.
    pub address: Option<IpAddr>,
    /// User agent of the client.
    pub agent: Option<Arc<str>>,
    /// Id under which the request is logged.
    pub request: Option<Arc<str>>,
    /// Language of the client, if known.
    pub language: Option<Language>,
}

thread_local! {
    static CURRENT: RefCell<RequestContext> = RefCell::default();
}

impl RequestContext {
    /// Returns the context of the future that is being polled; an empty one
    /// outside of any.
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Runs `future` in this context, on whichever thread it is polled.
    pub fn scope<F: Future>(self, future: F) -> Scoped<F> {
        Scoped { future, context: self }
    }
}

pin_project! {
    /// Future with its [`RequestContext`].
    pub struct Scoped<F> {
        #[pin]
        future: F,
        context: RequestContext,
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _guard = ContextGuard(CURRENT.replace(this.context.clone()));
        this.future.poll(cx)
    }
}

/// Guard that restores the outer context, after a panic too.
struct ContextGuard(RequestContext);

impl Drop for ContextGuard {
    fn drop(&mut self) {
        drop(CURRENT.replace(std::mem::take(&mut self.0)));
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn context(request: &str) -> RequestContext {
        RequestContext { request: Some(request.into()), ..RequestContext::default() }
    }

    fn poll_once<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(it) => it,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn a_context_is_visible_inside_its_future_only() {
        let nested = async {
            let inner = context("inner").scope(async { RequestContext::current() }).await;
            (inner, RequestContext::current())
        };

        assert_eq!(poll_once(context("outer").scope(nested)), (context("inner"), context("outer")));
        assert_eq!(RequestContext::current(), RequestContext::default());
    }

    #[test]
    fn a_panicking_future_leaves_no_context_behind() {
        let panics = context("lost").scope(async { panic!("on purpose") });

        assert!(catch_unwind(AssertUnwindSafe(|| poll_once::<_>(panics))).is_err());
        assert_eq!(RequestContext::current(), RequestContext::default());
        assert_eq!(poll_once(ready(1)), 1);
    }
}
