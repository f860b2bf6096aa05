//! An index that is behind: whoever it does not show yet is found later.

use std::sync::Arc;

use partita_core::Value;
use partita_plan::{Operation, Partita, Patience, Surroundings};
use partita_store::Store;
use partita_store::surroundings::SeededEntropy;
use partita_testkit::amazon::behaviour::Lag;
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use crate::inn::{by_index, guest, removal, renaming, room};
use crate::stage::{NOW, create, items, run, texts};

/// Tasks of a desk, of which a note and an action mean the first.
const DESK: &str = r#"
design = "desk"

[table]
name = "desk"
key  = ["PK", "SK"]

[index]
tasks = ["GPK", "GSK"]

[entity.Task]
PK  = "TASK#{task}"
SK  = "TASK"
GPK = "DESK#{desk}"
GSK = "{task}"

[entity.Task.attributes]
task  = "string"
desk  = "string"
notes = "int default 0"
calls = "int default 0"

[entity.Task.allow]
"*"  = "signed-in"
call = "signed-in"

[entity.Note]
PK = "NOTE#{note}"
SK = "NOTE"

[entity.Note.attributes]
note = "string"
desk = "string"

[entity.Note.refs]
task = "Task via first"

[entity.Note.allow]
"*" = "signed-in"

[trigger.noted]
on     = "create Note"
update = "task"
add    = { notes = 1 }

[action.call]
find = "first"
add  = { calls = 1 }

[pattern.first]
query = "GPK = 'DESK#{desk}'"
one   = true
"#;

/// How far behind the index is, and how far the server believes that it may be.
const LAG_MILLIS: i64 = 30_000;
const DELAY_MILLIS: i64 = 60_000;

async fn open(simulation: &Simulation, design: &str, delay_millis: i64) -> (Arc<Amazon>, Partita) {
    let behaviour = Behaviour {
        index_lag: Lag {
            usual_millis: LAG_MILLIS..=LAG_MILLIS,
            rare: 0.0,
            worst_millis: 0,
        },
        ..Behaviour::still()
    };
    let amazon = Arc::new(Amazon::new(simulation, behaviour, 1));
    let host = Host::new(simulation, "server", Manners::default(), 1);
    let network = Network {
        index_delay_millis: delay_millis,
        ..Network::still()
    };
    let store = Connection::new(simulation, amazon.clone(), host.clone(), network, 1);
    let (design, diagnostics) = partita_design::check(design, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: host,
        entropy: Arc::new(SeededEntropy::new(1)),
        patience: Patience {
            attempts: 10,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    let partita = Partita::open_with(design, Arc::new(store), surroundings);
    (amazon, partita.await.unwrap())
}

/// A room with a guest whom the index does not show when the room is removed or renamed. Answers
/// the titles that there are when a worker has looked at the given times.
fn titles(last: Operation, delay_millis: i64, looks_millis: &[i64]) -> Vec<Vec<Value>> {
    values(&by_index(), "title", last, (delay_millis, looks_millis))
}

/// The same for what else follows the room in another design. Answers the values that a name has,
/// of items that have it.
fn values(
    design: &str,
    name: &str,
    last: Operation,
    (delay_millis, looks_millis): (i64, &[i64]),
) -> Vec<Vec<Value>> {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let (amazon, partita) = open(&simulation, design, delay_millis).await;
        for operation in [room(), guest("g"), last] {
            run(&partita, operation).await.unwrap();
        }
        let mut seen = Vec::new();
        for millis in looks_millis {
            simulation.sleep(*millis).await;
            partita.run_jobs().await.unwrap();
            let items = items(&*amazon as &dyn Store, "inn").await;
            let found = items.iter().filter_map(|item| item.get(name).cloned());
            seen.push(found.collect());
        }
        assert_eq!(
            partita
                .jobs()
                .await
                .unwrap()
                .iter()
                .filter(|job| job.state.word() != "done")
                .count(),
            0
        );
        seen
    })
}

#[test]
fn a_copy_follows_when_the_index_has_caught_up() {
    let (red, blue) = (Value::from("red"), Value::from("blue"));
    let seen = titles(
        renaming(),
        DELAY_MILLIS,
        &[0, DELAY_MILLIS, 2 * DELAY_MILLIS],
    );
    let followed = vec![red.clone(), red.clone()];
    assert_eq!(
        seen,
        [vec![blue.clone(), red.clone()], followed.clone(), followed]
    );
    // Who believes that indexes are never behind does not look again.
    let seen = titles(renaming(), 0, &[0, DELAY_MILLIS]);
    assert_eq!(seen, [vec![blue.clone(), red.clone()], vec![blue, red]]);
}

#[test]
fn a_cascade_follows_when_the_index_has_caught_up() {
    let seen = titles(
        removal(),
        DELAY_MILLIS,
        &[0, DELAY_MILLIS, 2 * DELAY_MILLIS],
    );
    assert_eq!(seen, [vec![Value::from("blue")], vec![], vec![]]);
}

#[test]
fn a_ref_is_cleared_when_the_index_has_caught_up() {
    let inn = by_index();
    let inn = inn.replace("on delete cascade", "on delete clear roomId");
    let inn = inn.replace("roomId  = \"string\"", "roomId  = \"string?\"");
    let inn = inn.replace("title   = \"copy room.title\"\n", "");
    let looks: &[i64] = &[0, DELAY_MILLIS, 2 * DELAY_MILLIS];
    let seen = values(&inn, "roomId", removal(), (DELAY_MILLIS, looks));
    assert_eq!(seen, [vec![Value::from("r")], vec![], vec![]]);
    let seen = values(&inn, "roomId", removal(), (0, &looks[..2]));
    assert_eq!(seen, [[Value::from("r")], [Value::from("r")]]);
}

#[test]
fn a_view_moves_when_the_index_has_caught_up() {
    let inn = by_index()
        + r#"
[view.Bed]
of   = "Guest"
PK   = "TITLE#{title}"
SK   = "{guestId}"
keep = ["guestId"]
"#;
    let looks: &[i64] = &[0, DELAY_MILLIS, 2 * DELAY_MILLIS];
    let beds = |delay_millis, looks| {
        let mut seen = values(&inn, "PK", renaming(), (delay_millis, looks));
        let is_bed = |key: &Value| key.as_str().is_some_and(|key| key.starts_with("TITLE#"));
        seen.iter_mut().for_each(|keys| keys.retain(is_bed));
        seen
    };
    let (red, blue) = (Value::from("TITLE#red"), Value::from("TITLE#blue"));
    assert_eq!(
        beds(DELAY_MILLIS, looks),
        [[blue.clone()], [red.clone()], [red]]
    );
    assert_eq!(beds(0, &looks[..2]), [[blue.clone()], [blue]]);
}

/// The first of many tasks is the last one when the others are gone, which the index still shows.
#[test]
fn what_is_left_is_found_behind_many_that_are_gone() {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let (amazon, partita) = open(&simulation, DESK, DELAY_MILLIS).await;
        let tasks: Vec<String> = (100..300).map(|number| number.to_string()).collect();
        for task in &tasks {
            create(&partita, "Task", &[("task", task), ("desk", "d")]).await;
        }
        simulation.sleep(LAG_MILLIS).await;
        let (last, others) = tasks.split_last().unwrap();
        for task in others {
            let removal = Operation::Delete {
                entity: "Task".into(),
                identity: vec![task.clone()],
                version: None,
            };
            run(&partita, removal).await.unwrap();
        }
        create(&partita, "Note", &[("note", "n"), ("desk", "d")]).await;
        let call = Operation::Act {
            action: "call".into(),
            entity: None,
            identity: Vec::new(),
            given: texts(&[("desk", "d")]),
            version: None,
        };
        run(&partita, call).await.unwrap();
        let items = items(&*amazon as &dyn Store, "desk").await;
        let task = items.iter().find(|item| item.contains_key("task"));
        let task = task.unwrap();
        assert_eq!(task["task"], Value::from(last.as_str()));
        assert_eq!([&task["notes"], &task["calls"]], [&Value::N(1.into()); 2]);
    });
}

/// Tasks that are called once in an hour, found by an index.
const ROUNDS: &str = r#"
design = "rounds"

[table]
name = "rounds"
key  = ["PK", "SK"]

[index]
tasks = ["GPK", "GSK"]

[entity.Task]
PK  = "TASK#{task}"
SK  = "TASK"
GPK = "TASKS"
GSK = "{task}"

[entity.Task.attributes]
task  = "string"
calls = "int default 0"

[entity.Task.allow]
"*" = "signed-in"

[pattern.tasks]
query = "GPK = 'TASKS'"

[action.call]
entity = "Task"
add    = { calls = 1 }

[schedule.calls]
every   = "hour"
pattern = "tasks"
apply   = "call"
"#;

/// How often a task was called that the index does not show when the hour begins, after each look of
/// a worker.
fn calls(delay_millis: i64, looks_millis: &[i64]) -> Vec<Value> {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let (amazon, partita) = open(&simulation, ROUNDS, delay_millis).await;
        assert_eq!(partita.start_schedules().await.unwrap(), 0);
        simulation.sleep(3_600_000 - NOW % 3_600_000 - 1_000).await;
        create(&partita, "Task", &[("task", "a")]).await;
        simulation.sleep(2_000).await;
        assert_eq!(partita.start_schedules().await.unwrap(), 1);
        let mut seen = Vec::new();
        for millis in looks_millis {
            simulation.sleep(*millis).await;
            partita.run_jobs().await.unwrap();
            let items = items(&*amazon as &dyn Store, "rounds").await;
            seen.push(items[0]["calls"].clone());
        }
        seen
    })
}

#[test]
fn a_schedule_reaches_what_its_index_did_not_show() {
    let number = |number: i64| Value::N(number.into());
    let looks = [0, DELAY_MILLIS, 2 * DELAY_MILLIS];
    let once = [number(0), number(1), number(1)];
    assert_eq!(calls(DELAY_MILLIS, &looks), once);
    // Who believes that indexes are never behind does not look again.
    assert_eq!(calls(0, &looks), [number(0), number(0), number(0)]);
}
