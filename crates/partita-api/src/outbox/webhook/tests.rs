//! Signatures and documents, against values of the specification.

use partita_store::surroundings::ManualClock;

use super::*;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn receiver(url: &str, secret: &str) -> Result<Receiver, ReceiverError> {
    Receiver::new(url, secret, Arc::new(ManualClock::at(1_614_265_330_000)))
}

/// The example of the specification of Standard Webhooks.
#[test]
fn a_signature_is_the_one_of_the_specification() {
    let receiver = receiver("http://127.0.0.1:1/", SECRET).unwrap();
    let signature = receiver.signature(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        r#"{"test": 2432232314}"#,
    );
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn a_receiver_needs_a_url_and_a_secret() {
    for (url, secret) in [
        ("ftp://example.org/", SECRET),
        ("http://user@example.org/", SECRET),
        ("example.org", SECRET),
        ("http://example.org/", "whsec_c2hvcnQ="),
        ("http://example.org/", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ] {
        assert!(receiver(url, secret).is_err(), "{url} {secret}");
    }
}

/// A server that gives every connection the same answer, and how many connections it had.
async fn answering(answer: String) -> (String, Arc<std::sync::atomic::AtomicUsize>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let connections = count.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            connections.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            // It never ends what it says.
            tokio::spawn(async move { while stream.write_all(&[b'x'; 1024]).await.is_ok() {} });
        }
    });
    (url, count)
}

fn message() -> (Message, Event) {
    let event = Event {
        kind: "shop.Order.paid".to_owned(),
        subject: "Order/17".to_owned(),
        data: json!({ "orderId": "17" }),
    };
    let message = Message {
        id: "01JGFJJZ00000000000000DVNE".to_owned(),
        design: "shop".to_owned(),
        created_millis: 0,
        content: partita_plan::outbox::Content::Event {
            receiver: "billing".to_owned(),
            event: event.clone(),
        },
    };
    (message, event)
}

#[tokio::test]
async fn the_status_of_an_answer_decides_and_nothing_else_is_read_or_followed() {
    let (message, event) = message();
    let endless = "\r\ncontent-length: 999999999\r\n\r\n";
    for (head, expected) in [
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), Ok(())),
        (format!("HTTP/1.1 200 OK{endless}"), Ok(())),
        (format!("HTTP/1.1 410 Gone{endless}"), Err(true)),
        (format!("HTTP/1.1 500 Oh{endless}"), Err(false)),
        (format!("HTTP/1.1 404 No{endless}"), Err(false)),
        (
            "HTTP/1.1 302 Found\r\nlocation: /hook\r\n\r\n".to_owned(),
            Err(false),
        ),
        ("nonsense".to_owned(), Err(false)),
    ] {
        let (url, connections) = answering(head.clone()).await;
        let receiver = receiver(&url, SECRET).unwrap();
        let outcome = receiver.deliver(&message, &event).await;
        let is_final = |one: Undelivered| matches!(one, Undelivered::Never(_));
        assert_eq!(outcome.map_err(is_final), expected, "{head}");
        let asked = connections.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(asked, 1, "{head}");
    }
    let closed = receiver("http://127.0.0.1:1/", SECRET).unwrap();
    let outcome = closed.deliver(&message, &event).await;
    assert!(matches!(outcome, Err(Undelivered::Later(_))), "{outcome:?}");
}
