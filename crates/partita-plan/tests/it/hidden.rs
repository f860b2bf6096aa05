//! Effects, applied actions and schedules, where a live ref hides some of the items.

use std::sync::Arc;

use partita_plan::{Answer, JobState, Operation, Partita, PlanError};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};

use crate::stage::{NOW, create, items, open_at, run, texts};

const DAY_MILLIS: i64 = 24 * 3_600_000;

const DESIGN: &str = r#"
design = "shed"

[table]
name = "shed"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]
GSI2 = ["GSI2PK", "GSI2SK"]

[entity.Tool]
PK          = "TOOL#{toolId}"
SK          = "TOOL"
soft-delete = "deletedAt"

[entity.Tool.attributes]
toolId    = "string"
deletedAt = "timestamp?"

[entity.Tool.allow]
"*" = "signed-in"

[entity.Guest]
PK = "GUEST#{guestId}"
SK = "GUEST"

[entity.Guest.attributes]
guestId = "string"

[entity.Guest.allow]
"*" = "signed-in"

[entity.Loan]
PK     = "TOOL#{toolId}"
SK     = "LOAN#{loanId}"
GSI1PK = "BY#{userId}"
GSI1SK = "{toolId}#{loanId}"
GSI2PK = "FOR#{guestId}"
GSI2SK = "{toolId}#{loanId}"
repeat = "update"

[entity.Loan.attributes]
toolId   = "string"
loanId   = "string"
userId   = "string"
guestId  = "string?"
reminded = "timestamp?"
withdrawn = "timestamp?"

[entity.Loan.refs]
tool  = "Tool, live, on delete cascade"
guest = "Guest, on delete clear guestId"

[entity.Loan.allow]
"*" = "signed-in"

[entity.Ping]
PK = "PING#{toolId}#{loanId}"
SK = "PING"

[entity.Ping.attributes]
toolId = "string"
loanId = "string"

[entity.Ping.allow]
"*" = "signed-in"

[entity.Call]
PK = "CALL#{userId}"
SK = "CALL"

[entity.Call.attributes]
userId = "string"

[entity.Call.allow]
"*" = "signed-in"

[pattern.loans]
query = "PK = 'TOOL#{toolId}' AND begins_with(SK, 'LOAN#')"

[pattern.mine]
query = "GSI1PK = 'BY#{userId}'"

[trigger.ping]
on     = "create Ping"
update = "Loan(toolId, loanId)"
set    = { reminded = "{now}" }

[trigger.call]
on     = "create Call"
each   = "one in mine"
update = "one"
set    = { reminded = "{now}" }

[trigger.withdrawn]
on     = "delete Tool"
each   = "one in loans"
update = "one"
set    = { withdrawn = "{now}" }

[action.remind]
entity = "Loan"
set    = { reminded = "{now}" }

[action.remindAll]
each  = "one in mine"
when  = "attribute_not_exists(one.reminded)"
apply = "remind"

[schedule.overdue]
every  = "day at 03:00"
entity = "Loan"
when   = "attribute_not_exists(reminded)"
apply  = "remind"
"#;

struct Shed {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    partita: Partita,
}

impl Shed {
    /// A loan of each of some tools, of which the first is deleted softly.
    async fn with(tools: usize) -> Self {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let clock = Arc::new(ManualClock::at(NOW));
        let partita = open_at(DESIGN, store.clone(), 1, clock.clone()).await;
        create(&partita, "Guest", &[("guestId", "gus")]).await;
        for number in 0..tools {
            let tool = format!("{number:03}");
            create(&partita, "Tool", &[("toolId", &tool)]).await;
            let loan = [
                ("toolId", tool.as_str()),
                ("loanId", "l"),
                ("userId", "ann"),
                ("guestId", "gus"),
            ];
            create(&partita, "Loan", &loan).await;
        }
        let shed = Shed {
            store,
            clock,
            partita,
        };
        shed.run(delete("Tool", "000")).await.unwrap();
        shed
    }

    async fn run(&self, operation: Operation) -> Result<Answer, PlanError> {
        run(&self.partita, operation).await
    }

    async fn create(&self, entity: &str, given: &[(&str, &str)]) -> Result<Answer, PlanError> {
        self.run(Operation::Create {
            entity: entity.into(),
            attributes: texts(given),
        })
        .await
    }

    /// How many loans have an attribute.
    async fn loans_with(&self, name: &str) -> usize {
        let mut loans = items(&*self.store, "shed").await;
        loans.retain(|item| item["SK"].as_str() == Some("LOAN#l") && item.get(name).is_some());
        loans.len()
    }

    /// Has every job done.
    async fn work(&self) {
        self.partita.run_jobs().await.unwrap();
        let jobs = self.partita.jobs().await.unwrap();
        assert!(
            jobs.iter().all(|job| job.state == JobState::Done),
            "{jobs:#?}"
        );
    }
}

fn delete(entity: &str, id: &str) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: vec![id.into()],
        version: None,
    }
}

#[tokio::test]
async fn an_effect_on_a_hidden_item_is_refused_as_on_a_missing_one() {
    let shed = Shed::with(2).await;
    let mut said = Vec::new();
    for loan in ["l", "none"] {
        let ping = [("toolId", "000"), ("loanId", loan)];
        let refused = shed.create("Ping", &ping).await.unwrap_err();
        assert!(matches!(refused, PlanError::Invalid { .. }), "{refused:?}");
        said.push(refused.to_string());
    }
    assert_eq!(said[0], "`ping.target` of `Loan` is not there");
    assert_eq!(said[0], said[1], "nobody can tell them apart");
    let ping = [("toolId", "001"), ("loanId", "l")];
    shed.create("Ping", &ping).await.unwrap();
    assert_eq!(shed.loans_with("reminded").await, 1);
}

#[tokio::test]
async fn a_hidden_item_is_not_created_over() {
    let shed = Shed::with(2).await;
    let loan = [("toolId", "000"), ("loanId", "l"), ("userId", "bob")];
    let refused = shed.create("Loan", &loan).await.unwrap_err();
    assert_eq!(refused.to_string(), "`tool` of `Loan` leads to no `Tool`");
}

#[tokio::test]
async fn whatever_goes_over_a_pattern_passes_hidden_items_over() {
    for tools in [6, 150] {
        let shed = Shed::with(tools).await;
        shed.create("Call", &[("userId", "ann")]).await.unwrap();
        shed.work().await;
        assert_eq!(shed.loans_with("reminded").await, tools - 1, "an effect");

        let shed = Shed::with(tools).await;
        let all = Operation::Act {
            action: "remindAll".into(),
            entity: None,
            identity: Vec::new(),
            given: texts(&[("userId", "ann")]),
            version: None,
        };
        shed.run(all).await.unwrap();
        shed.work().await;
        assert_eq!(shed.loans_with("reminded").await, tools - 1, "an action");
    }
}

#[tokio::test]
async fn a_schedule_passes_hidden_items_over() {
    let shed = Shed::with(6).await;
    shed.partita.start_schedules().await.unwrap();
    shed.clock.set(NOW + DAY_MILLIS);
    assert_eq!(shed.partita.start_schedules().await, Ok(1));
    shed.work().await;
    assert_eq!(shed.loans_with("reminded").await, 5);
    let jobs = shed.partita.jobs().await.unwrap();
    assert_eq!((jobs[0].done, jobs[0].left_out), (5, 0));
}

#[tokio::test]
async fn what_is_removed_lets_hidden_items_go() {
    for tools in [3, 150] {
        let shed = Shed::with(tools).await;
        shed.run(delete("Guest", "gus")).await.unwrap();
        shed.work().await;
        assert_eq!(shed.loans_with("guestId").await, 0, "of {tools}");
    }
}

/// A write that hides items reaches them still, whether a job does it or not.
#[tokio::test]
async fn the_write_that_hides_items_is_not_kept_from_them() {
    for loans in [3, 150] {
        let shed = Shed::with(2).await;
        for number in 1..loans {
            let loan = format!("m{number:03}");
            let loan = [
                ("toolId", "001"),
                ("loanId", loan.as_str()),
                ("userId", "bob"),
            ];
            shed.create("Loan", &loan).await.unwrap();
        }
        shed.run(delete("Tool", "001")).await.unwrap();
        shed.work().await;
        let mut all = items(&*shed.store, "shed").await;
        all.retain(|item| {
            item["PK"].as_str() == Some("TOOL#001") && item.get("withdrawn").is_some()
        });
        assert_eq!(all.len(), loans);
    }
}
