use partita_design::shipped;
use partita_store::ModelStore;

use super::*;
use crate::admin::ask::Question;
use crate::admin::can::Can;
use crate::admin::events;
use crate::admin::plan::Plan;

fn design(name: &str, table: &str) -> Design {
    let text = shipped::find("stories").unwrap().source;
    let text = text.replace("design = \"stories\"", &format!("design = \"{name}\""));
    let table = |variable: &str| (variable == "TABLE_NAME").then(|| table.to_owned());
    partita_design::check(&text, &table).0.unwrap()
}

async fn opened(design: Design, store: &Arc<dyn Store>) -> Arc<Current> {
    Current::new(Partita::open(design, store.clone()).await.unwrap())
}

#[tokio::test]
async fn what_is_served_is_found_by_its_data() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let currents = Currents::default();
    let served = opened(design("stories", "stories"), &store).await;
    currents.add(served.clone());
    let tales = currents.current(&design("tales", "stories"), &store).await;
    assert!(Arc::ptr_eq(&tales.unwrap(), &served));
    let other = currents.current(&design("stories", "other"), &store).await;
    assert!(!Arc::ptr_eq(&other.unwrap(), &served));
}

#[tokio::test]
async fn commands_on_a_design_that_is_not_served_share_it() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let currents = Currents::default();
    let design = design("stories", "stories");
    drop(opened(design.clone(), &store).await);
    let [first, second] = [(), ()].map(|()| currents.current(&design, &store));
    let (first, second) = tokio::join!(first, second);
    assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()));
}

/// Plays no demos.
struct Nobody;

#[async_trait::async_trait]
impl Demos for Nobody {
    async fn play(
        &self,
        _: Design,
        _: Arc<dyn Store>,
        _: &crate::admin::demo::Demo,
        _: &(dyn Fn() -> Result<(), crate::admin::events::Gone> + Sync),
    ) -> Result<crate::admin::demo::Filled, Failure> {
        Err(Failure::new("nobody plays"))
    }
}

fn installation(store: Arc<dyn Store>) -> Installation {
    Installation {
        store,
        clock: Arc::new(partita_store::surroundings::SystemClock),
        tokens: None,
        console: None,
        demos: Arc::new(Nobody),
        scans: Scans::default(),
        served: Currents::default(),
        has_raw_writes: false,
        is_paused: Arc::default(),
        running: Running::default(),
        stopping: watch::channel(false).1,
        alive_every: ALIVE_EVERY,
        has_traffic: true,
    }
}

/// A design with other values of its variables is another one, also on the data that are served.
#[tokio::test]
async fn a_given_design_keeps_the_values_of_its_variables() {
    let given = |table: &str, bucket: &str| {
        let text = shipped::find("holdthatthought").unwrap().source;
        let values = BTreeMap::from([("TABLE_NAME", table), ("ARCHIVE_BUCKET", bucket)]);
        let value = |name: &str| values.get(name).map(ToString::to_string);
        partita_design::check(text, &value).0.unwrap()
    };
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let served = opened(given("thoughts", "archive"), &store).await;
    let installation = installation(store);
    installation.served.add(served.clone());
    for (table, bucket, is_served) in [
        ("thoughts", "archive", true),
        ("other", "archive", false),
        ("thoughts", "other", false),
    ] {
        let desk = Desk::of_given(installation.clone(), given(table, bucket));
        let partita = desk.partita().await.unwrap();
        assert_eq!(Arc::ptr_eq(&partita, &served.get()), is_served);
        assert_eq!(partita.design().tables[0].name, table);
    }
}

/// The API answers 401 to whoever has no account, whatever the rules say.
#[tokio::test]
async fn can_and_plan_ask_whether_the_caller_has_an_account() {
    for (name, is_closed) in [("mediahub", true), ("figureforge", false)] {
        let text = shipped::find(name).unwrap().source;
        let design = partita_design::check(text, &|_| None).0.unwrap();
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let served = opened(design, &store).await;
        let desk = Desk::of_served(installation(store), served.get(), true);
        let partita = served.get();
        let pattern = partita.design().patterns.iter();
        let mut pattern = pattern.filter(|one| one.parameters.iter().all(|one| one.optional));
        let question = Question {
            operation: "query".to_owned(),
            on: vec![pattern.next().unwrap().name.clone()],
            caller: Some("nobody".to_owned()),
            ..Question::default()
        };
        let decided = Can(question.clone()).run(desk.clone(), events::channel().0);
        let decided = decided.await.unwrap();
        let said = "the account of this user is gone or not active";
        let reason = is_closed.then_some(said);
        assert_eq!(decided.reason.as_deref(), reason, "{name}");
        assert!(!decided.allowed || !is_closed);
        let planned = Plan(question).run(desk, events::channel().0).await;
        let refused = planned.err().map(|failure| failure.detail);
        assert_eq!(refused.filter(|_| is_closed).as_deref(), reason);
    }
}
