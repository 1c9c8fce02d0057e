//! Origin of a request, available wherever it is carried out.

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
/// Nothing is decided by it. Outside of a request there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestContext {
    /// From where it came, as trusted proxies tell it.
    pub address: Option<IpAddr>,
    /// The program that sent it, as programs name themselves.
    pub agent: Option<Arc<str>>,
    /// Id that the request is logged under.
    pub request: Option<Arc<str>>,
    /// Language of the sender, where known.
    pub language: Option<Language>,
}

thread_local! {
    static CURRENT: RefCell<RequestContext> = RefCell::default();
}

impl RequestContext {
    /// Context of the future that is being polled; an empty one outside of any.
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// `future` with this origin, on whichever thread it is polled.
    pub fn scope<F: Future>(self, future: F) -> Scoped<F> {
        Scoped { future, origin: self }
    }
}

pin_project! {
    /// A future with its [`RequestContext`].
    pub struct Scoped<F> {
        #[pin]
        future: F,
        origin: RequestContext,
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _outer = Entered(CURRENT.replace(this.origin.clone()));
        this.future.poll(cx)
    }
}

/// Puts the outer origin back, after a panic too.
struct Entered(RequestContext);

impl Drop for Entered {
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

    fn origin(request: &str) -> RequestContext {
        RequestContext { request: Some(request.into()), ..RequestContext::default() }
    }

    fn polled<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(it) => it,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn an_origin_is_known_inside_of_its_future_alone() {
        let nested = async {
            let inner = origin("inner").scope(async { RequestContext::current() }).await;
            (inner, RequestContext::current())
        };

        assert_eq!(polled(origin("outer").scope(nested)), (origin("inner"), origin("outer")));
        assert_eq!(RequestContext::current(), RequestContext::default());
    }

    #[test]
    fn a_future_that_panics_leaves_no_origin_behind() {
        let panics = origin("lost").scope(async { panic!("on purpose") });

        assert!(catch_unwind(AssertUnwindSafe(|| polled::<_>(panics))).is_err());
        assert_eq!(RequestContext::current(), RequestContext::default());
        assert_eq!(polled(ready(1)), 1);
    }
}
