//! Several servers, and several writes at once.

use std::sync::Arc;

use async_trait::async_trait;

use super::{HOUR, Recipient, create, manual, model, open, run, step};
use crate::Caller;
use crate::outbox::{Channel, Courier, Message, Transport, Undelivered};

/// Two servers whose clocks differ by an hour write to one item in turn.
#[tokio::test]
async fn clocks_that_differ_do_not_change_the_order() {
    let (store, early, late) = (model(), manual(), manual());
    late.advance(HOUR);
    let one = Arc::new(open(&store, late, 1).await);
    let two = Arc::new(open(&store, early.clone(), 2).await);
    run(&one, create("o")).await.unwrap();
    for number in 1..6 {
        let server = if number % 2 == 0 { &one } else { &two };
        run(server, step("o", number)).await.unwrap();
    }
    let recipient = Recipient::willing(&store);
    Courier::new(two, recipient.clone())
        .deliver()
        .await
        .unwrap();
    assert_eq!(recipient.on("mail"), [0, 1, 2, 3, 4, 5]);
}

/// A server that has a channel keeps others from delivering what is on it.
#[tokio::test]
async fn one_server_delivers_at_a_time() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    let (one, two) = (Recipient::willing(&store), Recipient::willing(&store));
    let first = Courier::new(partita.clone(), one.clone());
    let second = Courier::new(partita.clone(), two.clone());
    first.deliver().await.unwrap();
    run(&partita, create("o")).await.unwrap();
    assert_eq!(second.deliver().await.unwrap().delivered, 0);
    clock.advance(61_000);
    assert_eq!(second.deliver().await.unwrap().delivered, 3);
    assert_eq!(first.deliver().await.unwrap().delivered, 0);
}

/// The courier of a stage keeps the channels that it had in the stage before.
#[tokio::test]
async fn a_courier_does_not_wait_for_its_own_lease() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    let recipient = Recipient::willing(&store);
    let courier = Courier::new(partita.clone(), recipient.clone());
    courier.deliver().await.unwrap();
    run(&partita, create("o")).await.unwrap();
    let blueprint = crate::blueprint::Blueprint::new(partita.design().clone()).unwrap();
    let next = Arc::new(partita.at_stage(blueprint, partita.runner.gate.clone()));
    let courier = courier.at_stage(next);
    assert_eq!(courier.deliver().await.unwrap().delivered, 3);
    // Also when it has to renew them.
    clock.advance(50_000);
    run(&partita, step("o", 1)).await.unwrap();
    assert_eq!(courier.deliver().await.unwrap().delivered, 3);
}

/// A server that has no mail server leaves the mails to one that has.
#[tokio::test]
async fn a_server_leaves_to_others_what_it_cannot_deliver() {
    struct Mute(Arc<Recipient>);
    #[async_trait]
    impl Transport for Mute {
        async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
            self.0.deliver(message).await
        }
        fn serves(&self, channel: &Channel) -> bool {
            *channel != Channel::Mail
        }
    }
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock, 1).await);
    let (one, two) = (Recipient::willing(&store), Recipient::willing(&store));
    let mute = Courier::new(partita.clone(), Arc::new(Mute(one.clone()))).beside_others();
    let other = Courier::new(partita.clone(), two).beside_others();
    mute.deliver().await.unwrap();
    run(&partita, create("o")).await.unwrap();
    assert_eq!(other.deliver().await.unwrap().delivered, 1);
    assert_eq!(mute.deliver().await.unwrap().delivered, 2);
    let mails = one.seen.lock().unwrap();
    assert!(mails.iter().all(|(channel, ..)| channel != "mail"));
}

#[tokio::test]
async fn a_batch_may_write_an_item_twice() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock, 1).await);
    let both = vec![create("o"), step("o", 1), create("p")];
    partita.run_all(&Caller::default(), both).await.unwrap();
    let recipient = Recipient::willing(&store);
    Courier::new(partita, recipient.clone())
        .deliver()
        .await
        .unwrap();
    let mut seen = recipient.seen();
    seen.retain(|(channel, order, _)| channel == "mail" && order == "o");
    assert_eq!(
        seen.into_iter().map(|one| one.2).collect::<Vec<_>>(),
        [0, 1]
    );
}
