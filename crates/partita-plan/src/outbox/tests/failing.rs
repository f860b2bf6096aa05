//! What fails is tried again, holds nobody else, and is parked in the end.

use std::sync::{Arc, Mutex};

use partita_store::Clock as _;

use super::{HOUR, Recipient, START, Say, create, delivery, drain, manual, model, open, run, step};
use crate::keyring::KeyRing;
use crate::outbox::{Channel, Courier, OutboxState, Undelivered};

#[tokio::test]
async fn a_receiver_that_is_down_holds_nobody_else() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    for order in 0..40 {
        let name = format!("o{order}");
        run(&partita, create(&name)).await.unwrap();
        run(&partita, step(&name, 1)).await.unwrap();
    }
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (times, now) = (asked.clone(), clock.clone());
    let before: Say = Box::new(move |message| {
        let is_down = now.now_millis() < START + HOUR;
        if message.content.channel() == Channel::Receiver("billing".into()) && is_down {
            times.lock().unwrap().push(now.now_millis());
            return Err(Undelivered::Later("it answers 500".to_owned()));
        }
        Ok(())
    });
    let recipient = Recipient::new(&store, before, Box::new(|_| Ok(())));
    let courier = Courier::new(partita.clone(), recipient.clone());
    courier.deliver().await.unwrap();
    assert_eq!(recipient.on("mail").len(), 80);
    assert_eq!(recipient.on("send:archive").len(), 80);
    assert!(recipient.on("send:billing").is_empty());
    drain(&partita, &courier, &clock).await;
    assert_eq!(recipient.on("send:billing").len(), 80);
    // It was asked now and then, and not once for each of the messages that wait for it.
    let asked = asked.lock().unwrap().len();
    assert!((10..150).contains(&asked), "it was asked {asked} times");
}

#[tokio::test]
async fn messages_that_fail_themselves_do_not_hold_the_others() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    for order in 0..8 {
        run(&partita, create(&format!("bad{order}"))).await.unwrap();
    }
    let before: Say = Box::new(|message| {
        let is_refused = delivery(message).1.starts_with("bad");
        let refusal = Undelivered::Refused("451 not now".to_owned());
        if is_refused { Err(refusal) } else { Ok(()) }
    });
    let recipient = Recipient::new(&store, before, Box::new(|_| Ok(())));
    let courier = Courier::new(partita.clone(), recipient.clone());
    courier.deliver().await.unwrap();
    run(&partita, create("good")).await.unwrap();
    courier.deliver().await.unwrap();
    assert_eq!(recipient.on("mail").len(), 1);
}

#[tokio::test]
async fn what_fails_for_good_is_parked_and_retried_by_hand() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    run(&partita, create("o")).await.unwrap();
    run(&partita, step("o", 1)).await.unwrap();
    let is_closed = Arc::new(Mutex::new(true));
    let closed = is_closed.clone();
    let before: Say = Box::new(move |message| {
        if *closed.lock().unwrap() && message.content.channel() == Channel::Mail {
            return Err(Undelivered::Never("there is no such address".to_owned()));
        }
        Ok(())
    });
    let recipient = Recipient::new(&store, before, Box::new(|_| Ok(())));
    let courier = Courier::new(partita.clone(), recipient.clone());
    assert_eq!(courier.deliver().await.unwrap().parked, 2);
    let parked = partita.outbox(10).await.unwrap();
    assert!(parked.iter().all(|one| one.state == OutboxState::Parked));
    let errors = parked.iter().map(|one| one.last_error.as_deref());
    assert!(errors.eq([Some("there is no such address"); 2]));
    assert!(
        !partita
            .retry_message("01JGFJJZ00000000000000DVNE")
            .await
            .unwrap()
    );
    assert!(!partita.retry_message("nonsense").await.unwrap());
    assert!(partita.retry_message(&parked[1].id).await.unwrap());
    assert!(partita.drop_message(&parked[0].id).await.unwrap());
    assert!(!partita.drop_message(&parked[0].id).await.unwrap());
    *is_closed.lock().unwrap() = false;
    assert_eq!(courier.deliver().await.unwrap().delivered, 1);
    assert_eq!(recipient.on("mail"), [1]);
    assert!(partita.outbox(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_fails_for_days_is_parked() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    run(&partita, create("o")).await.unwrap();
    let before: Say = Box::new(|_| Err(Undelivered::Later("it answers 500".to_owned())));
    let recipient = Recipient::new(&store, before, Box::new(|_| Ok(())));
    let courier = Courier::new(partita.clone(), recipient);
    assert_eq!(drain(&partita, &courier, &clock).await.parked, 3);
    assert!(clock.now_millis() - START >= 72 * HOUR);
}

/// Another server cannot read what this one has sealed.
#[tokio::test]
async fn a_text_of_another_secret_is_parked() {
    let (store, clock) = (model(), manual());
    let partita = open(&store, clock.clone(), 1).await;
    run(&partita, create("o")).await.unwrap();
    let mut other = open(&store, clock, 2).await;
    other.text_seal = Arc::new(crate::outbox::seal::TextSeal::new(Arc::new(KeyRing::new(
        [8; 32],
    ))));
    let courier = Courier::new(Arc::new(other), Recipient::willing(&store));
    let round = courier.deliver().await.unwrap();
    assert_eq!((round.delivered, round.parked), (2, 1));
}

/// A row that nobody can read is parked, and holds nobody.
#[tokio::test]
async fn what_cannot_be_read_is_parked_and_the_others_go_on() {
    use partita_core::Value;
    use partita_store::request::{PutItem, ReturnValues};

    use crate::outbox::row::partition;
    use crate::sidecar;

    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    for order in ["o", "p", "q", "r"] {
        run(&partita, create(order)).await.unwrap();
    }
    let billing = Channel::Receiver("billing".to_owned());
    let ids = ["01JGFJJZ00000000000000DVNE", "01JGFJJZ00000000000000DVNF"];
    for (at, id) in ids.into_iter().enumerate() {
        // One is not even where its id belongs.
        let shards = 0..crate::outbox::row::SHARDS;
        let shard = shards.clone().nth(at).unwrap_or_default();
        let mut item = sidecar::key(&partition(&billing, shard), id);
        item.insert("of", Value::from("Order o"));
        let put = PutItem::new(partita.blueprint.sidecar.clone(), item);
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
    let recipient = Recipient::willing(&store);
    let courier = Courier::new(partita.clone(), recipient.clone());
    let round = courier.deliver().await.unwrap();
    assert_eq!((round.delivered, round.parked), (12, 2));
    let left = partita.outbox(10).await.unwrap();
    assert_eq!(left.len(), 2);
    for one in &left {
        assert_eq!(one.state, OutboxState::Parked);
        assert_eq!(
            (one.channel.as_str(), one.of.as_str()),
            ("send:billing", "Order o")
        );
        let error = one.last_error.as_deref();
        assert_eq!(error, Some("it has not the form of a message"));
    }
    let states = partita.outbox_state().await.unwrap();
    assert_eq!(states["send:billing"].parked, 2);
    // Tried again, it is parked again.
    assert!(partita.retry_message(ids[0]).await.unwrap());
    assert_eq!(courier.deliver().await.unwrap().parked, 1);
    assert!(partita.drop_message(ids[0]).await.unwrap());
    assert_eq!(partita.outbox(10).await.unwrap().len(), 1);
}
