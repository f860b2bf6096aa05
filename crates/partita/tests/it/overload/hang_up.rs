//! Clients that hang up before they are answered.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use hyper::service::service_fn;
use hyper::{Request, Response};
use partita_api::Limits;
use tokio::sync::{Semaphore, oneshot};

use super::get;

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";

/// How far the requests are that a server has.
#[derive(Default)]
struct Progress {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Progress {
    async fn has_begun(&self, count: usize) {
        while self.begun.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Also when the server is asked to stop meanwhile, what has begun is carried out.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_begun_is_carried_out() {
    let (progress, gate) = (Arc::new(Progress::default()), Arc::new(Semaphore::new(0)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, open) = (progress.clone(), gate.clone());
    let service = service_fn(move |_: Request<hyper::body::Incoming>| {
        let (progress, gate) = (seen.clone(), open.clone());
        async move {
            progress.begun.fetch_add(1, Ordering::SeqCst);
            let _permit = gate.acquire().await.unwrap();
            progress.ended.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Response::new(Body::empty()))
        }
    });
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(partita_api::serve(
        listener,
        service,
        Limits::default(),
        async { stopped.await.unwrap() },
    ));
    for count in 1..=8 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(REQUEST).unwrap();
        progress.has_begun(count).await;
        drop(stream);
    }
    // The server has time to notice.
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.send(()).unwrap();
    gate.add_permits(1);
    server.await.unwrap().unwrap();
    assert_eq!(progress.ended.load(Ordering::SeqCst), 8);
}

/// Those who hang up have no more requests at once than those who wait.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_out_keeps_its_place() {
    let (progress, gate) = (Arc::new(Progress::default()), Arc::new(Semaphore::new(0)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, open) = (progress.clone(), gate.clone());
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (progress, gate) = (seen.clone(), open.clone());
        async move {
            progress.begun.fetch_add(1, Ordering::SeqCst);
            if request.method() == hyper::Method::POST {
                let _permit = gate.acquire().await.unwrap();
            }
            progress.ended.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Response::new(Body::from("done")))
        }
    });
    let limits = Limits {
        connections: 2,
        reserved: 0,
        ..Limits::default()
    };
    let server = partita_api::serve(listener, service, limits, std::future::pending());
    let server = tokio::spawn(server);
    for count in 1..=2 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(REQUEST).unwrap();
        progress.has_begun(count).await;
        drop(stream);
    }
    let address = address.to_string();
    let third = tokio::task::spawn_blocking(move || get(&address, "/", "").body);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(progress.begun.load(Ordering::SeqCst), 2);
    gate.add_permits(1);
    assert_eq!(third.await.unwrap(), "done");
    assert_eq!(progress.ended.load(Ordering::SeqCst), 3);
    server.abort();
}
