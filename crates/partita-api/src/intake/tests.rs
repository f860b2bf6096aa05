use axum::body::Body;
use futures::executor::block_on;
use futures::stream;

use super::*;

const LIMITS: BodyLimits = BodyLimits {
    bytes: 100,
    time: Duration::from_secs(1),
};

fn body(chunks: &[&'static str]) -> Body {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, String>(*chunk)).collect();
    Body::from_stream(stream::iter(chunks))
}

#[tokio::test]
async fn a_body_is_read_in_however_many_pieces_it_comes() {
    let intake = Intake::new(1_000);
    for chunks in [&[][..], &["abc"], &["a", "bc"], &["a", "", "b", "c"]] {
        let read = intake.read(Sender::Known, LIMITS, body(chunks)).await;
        assert_eq!(read.unwrap().bytes, chunks.concat());
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_told_apart() {
    let intake = Intake::new(1_000);
    let read = |body: Body| intake.read(Sender::Known, LIMITS, body);
    let large = "x".repeat(101);
    let refused = read(Body::from(large)).await.unwrap_err();
    assert_eq!(refused, Unread::TooLarge);
    let trickled = body(&["0123456789"; 11]);
    assert_eq!(read(trickled).await.unwrap_err(), Unread::TooLarge);
    let broken = stream::iter([Ok("abc"), Err("not a chunk".to_owned())]);
    let refused = read(Body::from_stream(broken)).await.unwrap_err();
    assert_eq!(refused, Unread::Malformed);
    let limits = BodyLimits {
        time: Duration::ZERO,
        ..LIMITS
    };
    let endless = Body::from_stream(stream::pending::<Result<Bytes, String>>());
    let refused = intake.read(Sender::Known, limits, endless).await;
    assert_eq!(refused.unwrap_err(), Unread::TooSlow);
}

#[tokio::test]
async fn who_is_not_known_takes_no_room_of_who_is() {
    let intake = Intake::new(40);
    let read = |sender, bytes: usize| intake.read(sender, LIMITS, Body::from("x".repeat(bytes)));
    let first = read(Sender::Unknown, 6).await.unwrap();
    let refused = read(Sender::Unknown, 5).await.unwrap_err();
    assert_eq!(refused, Unread::NoRoom);
    let mut known = read(Sender::Known, 30).await.unwrap();
    assert_eq!(known.grow(11), Err(Unread::NoRoom));
    assert_eq!(known.grow(10), Ok(()));
    assert!(read(Sender::Known, 1).await.is_err());
    // What was refused is not counted, and what is answered is not any more.
    drop((first, known));
    assert!(read(Sender::Unknown, 10).await.is_ok());
    assert!(read(Sender::Known, 40).await.is_ok());
}

#[test]
fn long_work_is_done_where_others_go_on() {
    let intake = Intake::default();
    let on_this_thread = intake.carry_out(usize::MAX, async { 1 });
    assert_eq!(block_on(on_this_thread), 1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    // The only worker waits for a task that could not run if the worker were blocked.
    let done = runtime.block_on(async {
        let other = async {
            intake_of_its_own().await;
            work_on(usize::MAX, || {
                let (send, receive) = std::sync::mpsc::channel();
                tokio::spawn(async move { send.send(2) });
                receive.recv().unwrap()
            })
        };
        tokio::spawn(other).await.unwrap()
    });
    assert_eq!(done, 2);
}

async fn intake_of_its_own() {
    let (send, receive) = tokio::sync::oneshot::channel();
    tokio::spawn(async move { send.send(()) });
    let intake = Intake::default();
    intake.carry_out(usize::MAX, receive).await.unwrap();
}
