//! The API as a service without sockets, for `kube::Client`.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use kube::client::Body as ClientBody;
use tokio::time::{Instant, Sleep};

use super::watch::Watch;
use super::{Answer, Kubernetes};

/// How often a watch that wants to know is told up to where it knows everything, and how long before its end once more: as kube-apiserver.
const BOOKMARKS: Duration = Duration::from_secs(60);
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// One client's way to the API.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) kubernetes: Kubernetes,
    pub(crate) client: Arc<str>,
}

/// The body of an answer: whole, or growing with a watch.
pub enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Event by event, until the server ends it or its time is over.
    Watch {
        /// Where the events come from.
        watch: Watch,
        /// When it ends by itself.
        end: Option<Pin<Box<Sleep>>>,
        /// When it is told next that it knows everything.
        bookmarks: Bookmarks,
    },
}

/// The bookmarks of a watch.
pub struct Bookmarks {
    kubernetes: Kubernetes,
    end: Option<Instant>,
    next: Pin<Box<Sleep>>,
}

impl Bookmarks {
    fn new(kubernetes: Kubernetes, end: Option<Instant>) -> Self {
        let next = Box::pin(tokio::time::sleep_until(Self::after(Instant::now(), end)));
        Self { kubernetes, end, next }
    }

    fn after(now: Instant, end: Option<Instant>) -> Instant {
        let last = end.and_then(|end| end.checked_sub(BEFORE_THE_END)).filter(|last| *last > now);
        last.into_iter().chain([now + BOOKMARKS]).min().unwrap_or(now)
    }

    /// Sends one if it is time; says whether it did.
    fn send_if_due(&mut self, watch: &Watch, context: &mut Context<'_>) -> bool {
        let due = self.next.as_mut().poll(context).is_ready();
        if due {
            self.kubernetes.send_bookmark(watch.id);
            self.next.as_mut().reset(Self::after(Instant::now(), self.end));
        }
        due
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Watch { watch, end, bookmarks } => loop {
                if let Poll::Ready(line) = watch.poll_next(context) {
                    return Poll::Ready(line.map(|line| Ok(Frame::data(line))));
                }
                if end.as_mut().is_some_and(|end| end.as_mut().poll(context).is_ready()) {
                    return Poll::Ready(None);
                }
                if !bookmarks.send_if_due(watch, context) {
                    return Poll::Pending;
                }
            },
        }
    }
}

impl Answer {
    /// The answer as an HTTP response; none if it never comes.
    pub(crate) fn into_response(self, kubernetes: &Kubernetes) -> Option<Response<Body>> {
        match self {
            Self::Whole(response) => Some(response.map(|bytes| Body::Whole(Some(bytes.into())))),
            Self::Watch { watch, timeout } => {
                let end = timeout.map(|timeout: Duration| Instant::now() + timeout);
                let bookmarks = Bookmarks::new(kubernetes.clone(), end);
                let end = end.map(|end| Box::pin(tokio::time::sleep_until(end)));
                let mut response = Response::new(Body::Watch { watch, end, bookmarks });
                response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
                Some(response)
            }
            Self::Never | Self::Late(..) | Self::Slow(..) => None,
        }
    }
}

impl tower::Service<Request<ClientBody>> for Service {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            let mut answer = service.kubernetes.call_as(&service.client, Request::from_parts(parts, body));
            if let Answer::Late(after, call) = answer {
                // In a task of its own: it arrives even if nobody waits for it any more.
                let kubernetes = service.kubernetes.clone();
                let arriving = tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    kubernetes.arrive(call)
                });
                answer = arriving.await.unwrap_or(Answer::Never);
            }
            if let Answer::Slow(after, whole) = answer {
                tokio::time::sleep(after).await;
                answer = *whole;
            }
            match answer.into_response(&service.kubernetes) {
                Some(response) => Ok(response),
                None => std::future::pending().await,
            }
        })
    }
}
