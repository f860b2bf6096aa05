//! Generated requests, sent to Partita and to DynamoDB Local in the same order: status, type of
//! error and payload are the same, or the request is in `differential/known.txt` with the reason;
//! the words of an error are the same, or are in `differential/words.txt` beside DynamoDB Local's.
//!
//! ```text
//! seed -> Generator -> request -> both -> normal form -> equal?
//!                        |
//!                        +-> mutated, so that something is wrong with it
//! ```
//!
//! A few dozen requests for each operation run with the other tests. `PARTITA_LONG=1` runs at
//! least 300 that are right and 300 that are wrong for each of them; `PARTITA_SEED` chooses
//! others, of which the words of errors are not compared. Counts are printed for each operation
//! and type of error.

mod ask;
mod attribute;
mod expressions;
mod generator;
mod known;
mod legacy;
mod mutation;
mod normal;
mod removals;
mod statements;
mod tables;
mod tally;

use partita_testkit::dynamodb_local::DynamoDbLocal;

use self::ask::{Local, Ours};
use self::generator::{Generator, OPERATIONS};
use self::known::Known;
use self::normal::Answer;
use self::tally::Tally;

/// One request of an operation.
#[derive(Clone, Debug)]
struct Request {
    operation: &'static str,
    body: serde_json::Value,
}

/// How many requests of each kind are wanted for each operation.
fn wanted() -> usize {
    match std::env::var_os("PARTITA_LONG") {
        Some(_) => 300,
        None => 20,
    }
}

/// The seed of the requests that every run sends by default.
const SEED: u64 = 1;

fn seed() -> u64 {
    let seed = std::env::var("PARTITA_SEED").ok();
    seed.map_or(SEED, |seed| seed.parse().expect("a seed is a number"))
}

/// How many differences are shown before it is enough.
const SHOWN_MAX: usize = 25;

#[tokio::test]
async fn generated_requests_are_answered_alike() {
    let Some(server) = tokio::task::spawn_blocking(DynamoDbLocal::start)
        .await
        .unwrap()
    else {
        return;
    };
    let (ours, local) = (Ours::start(), Local::new(&server));
    let mut known = Known::read(seed());
    let mut tally = Tally::new(wanted());
    let mut different = Vec::new();
    let mut generator = Generator::new(seed());
    for request in tables::create() {
        let answers = (ours.send(&request).await, local.send(&request).await);
        assert_eq!((answers.0.status, answers.1.status), (200, 200));
    }
    'requests: while let Some((operation, is_right)) = tally.next(&OPERATIONS) {
        let request = if is_right {
            generator.right(operation)
        } else {
            generator.wrong(operation)
        };
        let one = ours.exchange(&request).await;
        let two = local.exchange(&request).await;
        removals::level(&request, &ours, &local).await;
        tally.count(&request, &one);
        if let Some(difference) = compare(&request, &one, &two, &mut known) {
            different.push(difference);
            if different.len() == SHOWN_MAX {
                break 'requests;
            }
        }
    }
    tally.print(seed());
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    known.finish(seed(), wanted() >= 300);
}

/// What is different and not known to be.
fn compare(request: &Request, ours: &Answer, local: &Answer, known: &mut Known) -> Option<String> {
    let ((one, our_words), (two, local_words)) = (ours.clone().split(), local.clone().split());
    let is_known = if one == two {
        known.are_words(&our_words, &local_words)
    } else {
        known.is_request(request)
    };
    (!is_known).then(|| describe(request, ours, local))
}

fn describe(request: &Request, ours: &Answer, local: &Answer) -> String {
    format!(
        "{} {}\n ours {} {}\nlocal {} {}",
        request.operation, request.body, ours.status, ours.body, local.status, local.body
    )
}
