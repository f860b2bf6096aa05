//! Too much at one key of a simulated Amazon: the answer names the key and the design's line, and
//! whoever was answered with success is counted, exactly once.

use std::sync::Arc;

use futures::future::join_all;
use partita_core::Value;
use partita_plan::{
    Answer, Caller, HotCause, HotSpot, Operation, Partita, Patience, PlanError, Surroundings,
};
use partita_store::exposition::Exposition;
use partita_store::surroundings::SeededEntropy;
use partita_testkit::amazon::behaviour::Throughput;
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use crate::stage::{NOW, texts};

const DESIGN: &str = r#"
design = "polls"

[table]
name = "polls"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]

[entity.Poll]
PK = "POLL#{pollId}"
SK = "METADATA"

[entity.Poll.attributes]
pollId  = "string"
boardId = "string"
votes   = "count of Vote"
looks   = "counter"

[entity.Poll.refs]
board = "Board, on delete keep"

[entity.Poll.allow]
"*" = "signed-in"

[action.look]
entity = "Poll"
add    = { looks = 1 }

[entity.Board]
PK = "BOARD#{boardId}"
SK = "METADATA"

[entity.Board.attributes]
boardId = "string"
looks   = "sum of looks of Poll"

[entity.Board.allow]
"*" = "signed-in"

[entity.Vote]
PK     = "VOTER#{voter}"
SK     = "VOTE#{pollId}"
GSI1PK = "VOTES"
GSI1SK = "{voter}#{pollId}"

[entity.Vote.attributes]
voter  = "string"
pollId = "string"

[entity.Vote.refs]
poll = "Poll, on delete keep"

[entity.Vote.allow]
"*" = "signed-in"

[pattern.votes]
query = "GSI1PK = 'VOTES'"
"#;

/// The line of a text in the design.
fn line(text: &str) -> Option<usize> {
    DESIGN
        .lines()
        .position(|line| line.starts_with(text))
        .map(|at| at + 1)
}

async fn open(
    simulation: &Simulation,
    behaviour: Behaviour,
    polls: usize,
) -> (Arc<Amazon>, Partita) {
    let amazon = Arc::new(Amazon::new(simulation, behaviour, 1));
    amazon.calm();
    let host = Host::new(simulation, "server", Manners::default(), 1);
    let network = Network {
        delay_millis: 1..=3,
        ..Network::still()
    };
    let store = Connection::new(simulation, amazon.clone(), host.clone(), network, 1);
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: host,
        entropy: Arc::new(SeededEntropy::new(1)),
        patience: Patience {
            attempts: 4,
            pause_millis: 10,
        },
        ..Surroundings::default()
    };
    let opened = Partita::open_with(design, Arc::new(store), surroundings);
    let partita = opened.await.unwrap();
    let board = Operation::Create {
        entity: "Board".into(),
        attributes: texts(&[("boardId", "b")]),
    };
    partita.run(&Caller::user("ann"), board).await.unwrap();
    for number in 0..polls {
        partita
            .run(&Caller::user("ann"), poll(number))
            .await
            .unwrap();
    }
    amazon.begin();
    (amazon, partita)
}

fn poll(number: usize) -> Operation {
    Operation::Create {
        entity: "Poll".into(),
        attributes: texts(&[("pollId", &format!("p{number}")), ("boardId", "b")]),
    }
}

fn vote(voter: usize, poll: usize) -> Operation {
    Operation::Create {
        entity: "Vote".into(),
        attributes: texts(&[
            ("voter", &format!("v{voter}")),
            ("pollId", &format!("p{poll}")),
        ]),
    }
}

async fn counted(partita: &Partita, poll: usize) -> Value {
    number(partita, ("Poll", &format!("p{poll}")), "votes").await
}

async fn number(partita: &Partita, (entity, id): (&str, &str), name: &str) -> Value {
    let get = Operation::Get {
        entity: entity.into(),
        identity: vec![id.to_owned()],
        with_deleted: false,
    };
    let answer = partita.run(&Caller::user("ann"), get).await.unwrap();
    let Answer::Record(found) = answer else {
        panic!("{answer:?}");
    };
    found.attributes[name].clone()
}

/// Many vote at once. Answers how many were told that their vote counts, and where the others met.
fn voting(behaviour: Behaviour, voters: usize, polls: usize) -> (usize, Vec<HotSpot>, String) {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let (amazon, partita) = open(&simulation, behaviour, polls).await;
        let ann = Caller::user("ann");
        let votes = (0..voters).map(|voter| partita.run(&ann, vote(voter, voter % polls)));
        let mut done = 0;
        let mut spots = Vec::new();
        for answer in join_all(votes).await {
            match answer {
                Ok(_) => done += 1,
                Err(PlanError::Hot(hot)) => spots.push(*hot),
                Err(error) => panic!("{error:?}"),
            }
        }
        amazon.calm();
        let mut sum = 0;
        for poll in 0..polls {
            let Value::N(votes) = counted(&partita, poll).await else {
                panic!("a count is a number");
            };
            sum += votes.to_string().parse::<usize>().unwrap();
        }
        assert_eq!(sum, done);
        let report = partita
            .verify(&mut partita_verify::Collected::default())
            .await;
        assert!(report.unwrap().is_clean());
        let mut text = Exposition::default();
        Partita::expose_keys([&partita], &mut text);
        (done, spots, text.into_text())
    })
}

#[test]
fn writers_who_meet_at_one_item_learn_which() {
    let behaviour = Behaviour {
        transaction_millis: 10..=10,
        ..Behaviour::still()
    };
    let (done, spots, text) = voting(behaviour, 60, 1);
    assert!((1..60).contains(&done), "{done}");
    for hot in &spots {
        assert_eq!(hot.cause, HotCause::Conflict);
        assert_eq!(
            (hot.record.as_str(), hot.key.as_str()),
            ("Poll", "POLL#{pollId}")
        );
        assert_eq!(hot.line, line("PK = \"POLL#"));
    }
    let is_counted = |line: &str| line.contains(r#"prefix="POLL#",outcome="conflict""#);
    assert!(text.lines().any(is_counted), "{text}");
    // What callers gave is in no label.
    assert!(!text.contains("v1") && !text.contains("POLL#p"), "{text}");
}

/// What is added to a counter meets the transactions of votes, and what is added to the sum those
/// of new polls. Neither is lost.
#[test]
fn what_is_counted_beside_transactions_counts_in_sums_too() {
    let simulation = Simulation::new(1, NOW);
    let behaviour = Behaviour {
        transaction_millis: 5..=20,
        ..Behaviour::still()
    };
    simulation.run(async {
        let (amazon, partita) = open(&simulation, behaviour, 1).await;
        let ann = Caller::user("ann");
        let look = || Operation::Act {
            action: "look".into(),
            entity: Some("Poll".to_owned()),
            identity: vec!["p0".to_owned()],
            given: texts(&[]),
            version: None,
        };
        let looks = join_all((0..40).map(|_| partita.run(&ann, look())));
        let votes = join_all((0..20).map(|voter| partita.run(&ann, vote(voter, 0))));
        let polls = join_all((1..20).map(|number| partita.run(&ann, poll(number))));
        let (looks, ..) = futures::join!(looks, votes, polls);
        let mut done = 0_i64;
        for look in looks {
            match look {
                Ok(_) => done += 1,
                Err(PlanError::Hot(hot)) => assert_eq!(hot.key, "POLL#{pollId}"),
                Err(error) => panic!("{error:?}"),
            }
        }
        amazon.calm();
        assert!(done > 0);
        let at_poll = number(&partita, ("Poll", "p0"), "looks").await;
        let at_board = number(&partita, ("Board", "b"), "looks").await;
        assert_eq!((at_poll, at_board), (Value::from(done), Value::from(done)));
        assert!(amazon.counts().conflicts > 20);
    });
}

#[test]
fn a_partition_of_an_index_without_capacity_is_named() {
    let behaviour = Behaviour {
        throughput: Throughput {
            read: u64::MAX,
            write: 20,
        },
        ..Behaviour::still()
    };
    let (done, spots, _) = voting(behaviour, 200, 200);
    assert!((1..200).contains(&done), "{done}");
    for hot in &spots {
        assert_eq!(hot.cause, HotCause::Writes);
        assert_eq!(hot.index.as_deref(), Some("GSI1"));
        assert_eq!((hot.record.as_str(), hot.key.as_str()), ("Vote", "VOTES"));
        assert_eq!(hot.line, line("GSI1PK = \"VOTES\""));
    }
}

/// One partition takes the writes of all, and is named.
#[test]
fn a_partition_without_capacity_is_named() {
    let behaviour = Behaviour {
        throughput: Throughput {
            read: u64::MAX,
            write: 20,
        },
        ..Behaviour::still()
    };
    let (_, spots, text) = voting(behaviour, 100, 1);
    let is_poll = |hot: &HotSpot| hot.key == "POLL#{pollId}" && hot.cause == HotCause::Writes;
    assert!(spots.iter().any(is_poll), "{spots:?}");
    let is_counted = |line: &str| line.contains(r#"prefix="POLL#",outcome="throttled""#);
    assert!(text.lines().any(is_counted), "{text}");
}

#[test]
fn a_pattern_that_reads_too_much_is_named() {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let behaviour = Behaviour {
            throughput: Throughput {
                read: 2,
                write: u64::MAX,
            },
            ..Behaviour::still()
        };
        let (amazon, partita) = open(&simulation, behaviour, 1).await;
        amazon.calm();
        for voter in 0..3 {
            partita
                .run(&Caller::user("ann"), vote(voter, 0))
                .await
                .unwrap();
        }
        amazon.begin();
        let ann = Caller::user("ann");
        let query = || Operation::Query {
            pattern: "votes".into(),
            parameters: std::collections::BTreeMap::new(),
            limit: None,
            cursor: None,
        };
        let answers = join_all((0..40).map(|_| partita.run(&ann, query()))).await;
        let hot = answers.into_iter().find_map(|answer| match answer {
            Err(PlanError::Hot(hot)) => Some(hot),
            _ => None,
        });
        let hot = hot.unwrap();
        assert_eq!(hot.cause, HotCause::Reads);
        assert_eq!(hot.pattern.as_deref(), Some("votes"));
        assert_eq!(hot.index.as_deref(), Some("GSI1"));
        assert_eq!(hot.line, line("GSI1PK = \"VOTES\""));
    });
}
