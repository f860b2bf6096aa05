//! A design of several tables, on the model and on the engine: what belongs together is one
//! transaction, whichever tables it is in.

use std::sync::Arc;

use partita_core::{Item, Map, Value, plain};
use partita_engine::{Durability, EngineStore, Options};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan};
use partita_store::surroundings::{ManualClock, SeededEntropy, SystemClock};
use partita_store::{ModelStore, Store};
use partita_verify::{Collected, Permission};
use serde_json::{Value as Json, json};

/// Customers are in one table, everything that happens to them in another, whose keys have the
/// same names.
const DESIGN: &str = r#"
design = "shop"

[table.main]
name          = "shop"
key           = ["PK", "SK"]
discriminator = "kind"

[table.log]
name = "shop-log"
key  = ["PK", "SK"]
ttl  = "until"

[index.byDay]
table = "log"
key   = ["DPK", "DSK"]

[entity.Customer]
PK = "CUSTOMER#{customerId}"
SK = "CUSTOMER"

[entity.Customer.attributes]
customerId = "string"
name       = "string"
until      = "int?"
visits     = "count of Visit"
spent      = "sum of paid of Visit"
last       = "string?"

[entity.Customer.allow]
"*" = "public"

[entity.Visit]
table = "log"
PK    = "CUSTOMER#{customerId}"
SK    = "VISIT#{visitId}"
DPK   = "DAY#{day}"
DSK   = "{visitId}"

[entity.Visit.attributes]
customerId = "string"
visitId    = "string"
day        = "date"
paid       = "int 0.. default 0"
code       = "string?"
name       = "copy customer.name"

[entity.Visit.unique]
code = "UNIQUE#CODE#{code}"

[entity.Visit.refs]
customer = "Customer, on delete cascade"

[entity.Visit.allow]
"*" = "public"

[view.Receipt]
of   = "Visit"
when = "paid > 0"
PK   = "RECEIPTS#{day}"
SK   = "{customerId}#{visitId}"
keep = ["paid"]

[entity.Ticket]
table = "log"
PK    = "TICKET#{ticketId}"
SK    = "TICKET"

[entity.Ticket.attributes]
ticketId = "string"
until    = "expiry"

[entity.Ticket.allow]
"*" = "public"

[trigger.visited]
on     = "create Visit"
update = "customer"
set    = { last = "{visitId}" }

[pattern.visits]
query   = "PK = 'CUSTOMER#{customerId}' AND begins_with(SK, 'VISIT#')"
returns = "Visit"

[pattern.day]
query = "DPK = 'DAY#{day}'"

[pattern.receipts]
query   = "PK = 'RECEIPTS#{day}'"
returns = "Receipt"
follow  = "source"

[pattern.ticket]
get     = "PK = 'TICKET#{ticketId}' AND SK = 'TICKET'"
returns = "Ticket"

[pattern.everyVisit]
scan    = "begins_with(PK, 'CUSTOMER#')"
returns = "Visit"

[pattern.customer]
get = "PK = 'CUSTOMER#{customerId}' AND SK = 'CUSTOMER'"
"#;

const NOW: i64 = 1_767_225_600_000;

struct Shop {
    partita: Partita,
    store: Arc<dyn Store>,
}

impl Shop {
    async fn open(store: Arc<dyn Store>) -> Shop {
        let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let surroundings = Surroundings {
            clock: Arc::new(ManualClock::at(NOW)),
            entropy: Arc::new(SeededEntropy::new(1)),
            cursor_key: [7; 32],
            patience: Patience::default(),
        };
        let partita = Partita::open_with(design, store.clone(), surroundings);
        let partita = partita.await.unwrap();
        Shop { partita, store }
    }

    async fn run(&self, operation: Operation) -> Result<Answer, PlanError> {
        self.partita.run(&Caller::user("ann"), operation).await
    }

    async fn create(&self, entity: &str, attributes: Json) -> Result<Answer, PlanError> {
        let entity = entity.to_owned();
        let attributes = map(attributes);
        self.run(Operation::Create { entity, attributes }).await
    }

    async fn visit(&self, number: usize, paid: u32) -> Result<Answer, PlanError> {
        let visit = format!("{number:04}");
        let code = format!("code{number}");
        let attributes = json!({"customerId": "ann", "visitId": visit, "day": "2026-01-01",
            "paid": paid, "code": code});
        self.create("Visit", attributes).await
    }

    async fn customer(&self) -> Map {
        let operation = Operation::Get {
            entity: "Customer".into(),
            identity: vec!["ann".into()],
            with_deleted: false,
        };
        match self.run(operation).await {
            Ok(Answer::Record(record)) => record.attributes,
            other => panic!("{other:?}"),
        }
    }

    /// What a pattern finds: the record's name and an attribute of each.
    async fn found(&self, pattern: &str, parameter: (&str, &str), name: &str) -> Vec<String> {
        let (key, value) = parameter;
        let parameters = match key {
            "" => [].into(),
            key => [(key.to_owned(), value.to_owned())].into(),
        };
        let query = Operation::Query {
            pattern: pattern.into(),
            parameters,
            limit: None,
            cursor: None,
        };
        let records = match self.run(query).await {
            Ok(Answer::Page { records, .. }) => records,
            other => panic!("{other:?}"),
        };
        let shown = |map: &Map| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut found: Vec<String> = records
            .iter()
            .map(|record| format!("{} {}", record.name, shown(&record.attributes).unwrap()))
            .collect();
        found.sort();
        found
    }

    /// What is over may have been swept by now.
    async fn log_without_tickets(&self) -> Vec<Item> {
        let mut items = self.items("shop-log").await;
        items.retain(|item| item["SK"] != Value::from("TICKET"));
        items
    }

    async fn items(&self, table: &str) -> Vec<Item> {
        let page = self.store.scan(Scan::new(table.parse().unwrap()));
        page.await.unwrap().answer.into_parts().unwrap().items
    }
}

fn map(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn delete_ann() -> Operation {
    Operation::Delete {
        entity: "Customer".into(),
        identity: vec!["ann".into()],
        version: None,
    }
}

/// The whole of it on a store.
pub(crate) async fn lives_in_two_tables(store: Arc<dyn Store>) {
    let shop = Shop::open(store).await;
    let ann = json!({"customerId": "ann", "name": "Ann", "until": 1});
    shop.create("Customer", ann).await.unwrap();
    for (number, paid) in [(1, 5), (2, 0), (3, 7)] {
        shop.visit(number, paid).await.unwrap();
    }
    let customer = shop.customer().await;
    for (name, value) in [("visits", 3), ("spent", 12)] {
        assert_eq!(customer[name], Value::from(value), "{name}");
    }
    assert_eq!(customer["last"], Value::from("0003"));
    let main = shop.items("shop").await;
    assert_eq!(main.len(), 1, "{main:?}");
    assert_eq!(main[0]["kind"], Value::from("Customer"));
    // Three visits, two receipts, three guards; nothing there says of which kind it is.
    let log = shop.items("shop-log").await;
    assert_eq!(log.len(), 8, "{log:?}");
    assert!(log.iter().all(|item| !item.contains_key("kind")));

    refusals_name_what_is_wrong_and_change_nothing(&shop).await;
    reads_find_the_right_table(&shop).await;

    let rename = Operation::Update {
        entity: "Customer".into(),
        identity: vec!["ann".into()],
        changes: map(json!({"name": "Anna"})),
        with_deleted: false,
        version: None,
    };
    shop.run(rename).await.unwrap();
    let visits = shop.found("visits", ("customerId", "ann"), "name").await;
    assert_eq!(visits, ["Visit Anna"; 3]);
    shop.run(delete_ann()).await.unwrap();
    assert_eq!(shop.items("shop").await, []);
    assert_eq!(shop.log_without_tickets().await, []);
    assert_eq!(shop.partita.jobs().await.unwrap(), []);
    a_cascade_over_tables_can_be_a_job(&shop).await;
}

/// What is not recognised in the one table may be what items in the other refer to.
#[tokio::test]
async fn a_named_removal_waits_for_unrecognised_items_in_the_other_table() {
    let shop = Shop::open(Arc::new(ModelStore::default())).await;
    let ann = json!({"customerId": "ann", "name": "Ann"});
    shop.create("Customer", ann).await.unwrap();
    shop.visit(1, 5).await.unwrap();
    let log = shop.items("shop-log").await;
    let removed = shop.move_customer("CUSTOMER", "PERSON").await;
    assert_eq!(shop.repair_naming_visits().await, 0);
    assert_eq!(shop.items("shop-log").await, log);
    // By a design that knows it, it is there again.
    shop.move_customer("PERSON", "CUSTOMER").await;
    assert_eq!(shop.repair_naming_visits().await, 0);
    shop.remove("shop", &removed).await;
    assert_ne!(shop.repair_naming_visits().await, 0);
    assert_eq!(shop.items("shop-log").await, []);
}

/// By a design that has it elsewhere, an item is in another table than its own.
#[tokio::test]
async fn a_named_removal_waits_for_an_item_that_is_in_another_table() {
    let shop = Shop::open(Arc::new(ModelStore::default())).await;
    let ann = json!({"customerId": "ann", "name": "Ann"});
    shop.create("Customer", ann).await.unwrap();
    shop.visit(1, 5).await.unwrap();
    let customer = shop.items("shop").await.remove(0);
    shop.remove("shop", &customer).await;
    let put = PutItem::new("shop-log".parse().unwrap(), customer);
    shop.store.put_item(put, ReturnValues::None).await.unwrap();
    let log = shop.items("shop-log").await;
    assert_eq!(shop.repair_naming_visits().await, 0);
    assert_eq!(shop.items("shop-log").await, log);
}

impl Shop {
    async fn repair_naming_visits(&self) -> u64 {
        let permission = Permission::granted().to_remove("entity.Visit.refs.customer");
        let mut found = Collected::default();
        let report = self.partita.repair(permission, &mut found).await;
        report.unwrap().mended
    }

    /// Moves the customer to another sort key, and gives the key back.
    async fn move_customer(&self, from: &str, to: &str) -> Item {
        let mut item = self.items("shop").await.remove(0);
        assert_eq!(item["SK"], Value::from(from));
        self.remove("shop", &item).await;
        item.insert("SK", Value::from(to));
        let put = PutItem::new("shop".parse().unwrap(), item.clone());
        self.store.put_item(put, ReturnValues::None).await.unwrap();
        item.insert("SK", Value::from(from));
        item
    }

    async fn remove(&self, table: &str, item: &Item) {
        let delete = DeleteItem {
            table: table.parse().unwrap(),
            key: item.part(|name| name == "PK" || name == "SK"),
            condition: None,
            return_item_on_failure: false,
        };
        let deleted = self.store.delete_item(delete, ReturnValues::None).await;
        deleted.unwrap();
    }
}

async fn refusals_name_what_is_wrong_and_change_nothing(shop: &Shop) {
    let before = (shop.items("shop").await, shop.items("shop-log").await);
    let taken = json!({"customerId": "ann", "visitId": "x", "day": "2026-01-01", "code": "code1"});
    let nobody = json!({"customerId": "eve", "visitId": "x", "day": "2026-01-01"});
    let key = json!({"customerId": "ann", "visitId": "x", "day": "2026-01-01", "DPK": "x"});
    for (given, attribute) in [(taken, "code"), (nobody, "customer"), (key, "DPK")] {
        let refused = shop.create("Visit", given).await;
        let Err(PlanError::Invalid { faults } | PlanError::Taken { faults }) = refused else {
            panic!("{attribute}: {refused:?}")
        };
        let names: Vec<_> = faults.iter().map(|fault| &*fault.attribute).collect();
        assert_eq!(names, [attribute]);
    }
    assert_eq!(
        (shop.items("shop").await, shop.items("shop-log").await),
        before
    );
}

async fn reads_find_the_right_table(shop: &Shop) {
    let visits = ["Visit 0001", "Visit 0002", "Visit 0003"];
    let day = ("day", "2026-01-01");
    let of_ann = ("customerId", "ann");
    assert_eq!(shop.found("visits", of_ann, "visitId").await, visits);
    assert_eq!(shop.found("day", day, "visitId").await, visits);
    assert_eq!(shop.found("everyVisit", ("", ""), "visitId").await, visits);
    let paid = ["Visit 0001", "Visit 0003"];
    assert_eq!(shop.found("receipts", day, "visitId").await, paid);
    // Only in the table that has a time to live does an attribute of that name say when.
    let over = NOW / 1000 - 10;
    let ticket = json!({"ticketId": "t", "until": over});
    shop.create("Ticket", ticket).await.unwrap();
    let query = |pattern: &str, name: &str, value: &str| Operation::Query {
        pattern: pattern.into(),
        parameters: [(name.to_owned(), value.to_owned())].into(),
        limit: None,
        cursor: None,
    };
    let ticket = shop.run(query("ticket", "ticketId", "t")).await;
    assert!(
        matches!(ticket, Err(PlanError::NotFound { .. })),
        "{ticket:?}"
    );
    let customer = shop.run(query("customer", "customerId", "ann")).await;
    assert!(matches!(customer, Ok(Answer::Record(_))), "{customer:?}");
}

async fn a_cascade_over_tables_can_be_a_job(shop: &Shop) {
    let ann = json!({"customerId": "ann", "name": "Ann"});
    shop.create("Customer", ann.clone()).await.unwrap();
    for number in 0..150 {
        shop.visit(number, 1).await.unwrap();
    }
    shop.run(delete_ann()).await.unwrap();
    let again = shop.create("Customer", ann.clone()).await;
    assert!(
        matches!(again, Err(PlanError::StillRemoved { .. })),
        "{again:?}"
    );
    assert_eq!(shop.partita.run_jobs().await, Ok(1));
    let left = shop.log_without_tickets().await;
    assert_eq!(left, [], "visits, receipts and guards are gone");
    shop.create("Customer", ann).await.unwrap();
    // One sidecar serves both tables: it has the design, and what is kept of the job.
    assert_eq!(shop.items("shop-partita").await.len(), 2);
}

#[tokio::test]
async fn on_the_model() {
    lives_in_two_tables(Arc::new(ModelStore::default())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let data = tempfile::tempdir().unwrap();
    let options = Options::new(Arc::new(SystemClock)).durability(Durability::Buffered);
    let store = EngineStore::open(&data.path().join("store"), options).unwrap();
    lives_in_two_tables(Arc::new(store)).await;
}

#[tokio::test]
async fn tables_of_one_name_are_refused() {
    for name in ["shop", "shop-partita"] {
        let source = DESIGN.replace("\"shop-log\"", &format!("\"{name}\""));
        let (Some(design), _) = partita_design::check(&source, &|_| None) else {
            continue;
        };
        let store = Arc::new(ModelStore::default());
        let opened = Partita::open(design, store).await;
        let error = opened.err().map(|error| error.to_string()).unwrap();
        assert!(error.contains(&format!("are called `{name}`")), "{error}");
    }
}
