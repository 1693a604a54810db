//! The API on a socket, for kubectl.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::Kubernetes;
use super::service::Body;

/// Serves the API by HTTP/1.1 until the listener fails or this future is dropped. The caller chooses the address: loopback only.
pub async fn serve(listener: TcpListener, kubernetes: Kubernetes) -> std::io::Result<()> {
    let client: Arc<str> = "http".into();
    loop {
        let (stream, _) = listener.accept().await?;
        let (kubernetes, client) = (kubernetes.clone(), Arc::clone(&client));
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(kubernetes.clone(), Arc::clone(&client), request));
            // A client that goes away in the middle of an answer is no concern of the server.
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(kubernetes: Kubernetes, client: Arc<str>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    match kubernetes.call_as(&client, Request::from_parts(parts, body)).into_response(&kubernetes) {
        Some(response) => Ok(response),
        None => std::future::pending().await,
    }
}
