//! Requests that are right, for each operation on items.

use fastrand::Rng;
use serde_json::{Map, Value as Json, json};

use super::Request;
use super::attribute::{item, key, pick};
use super::expressions::Expressions;
use super::mutation;
use super::tables::{Index, TABLES, Table};

/// The operations on items.
pub(super) const OPERATIONS: [&str; 10] = [
    "PutItem",
    "GetItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactGetItems",
    "TransactWriteItems",
];

/// The parameters of a request.
type Body = Map<String, Json>;

/// Makes requests from a seed.
pub(super) struct Generator {
    random: Rng,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Generator {
            random: Rng::with_seed(seed),
        }
    }

    /// A request that should be carried out, though a condition may fail.
    pub(super) fn right(&mut self, operation: &'static str) -> Request {
        let body = match operation {
            "PutItem" => self.put_item(),
            "GetItem" => self.get_item(),
            "UpdateItem" => self.update_item(),
            "DeleteItem" => self.delete_item(),
            "Query" => self.query(),
            "Scan" => self.scan(),
            "BatchGetItem" => self.batch_get_item(),
            "BatchWriteItem" => self.batch_write_item(),
            "TransactGetItems" => self.transact_get_items(),
            "TransactWriteItems" => self.transact_write_items(),
            other => panic!("{other} is not generated"),
        };
        Request {
            operation,
            body: body.into(),
        }
    }

    /// A request with a mistake in it, as a rule.
    pub(super) fn wrong(&mut self, operation: &'static str) -> Request {
        let mut request = self.right(operation);
        mutation::spoil(&mut self.random, &mut request);
        request
    }

    fn table(&mut self) -> &'static Table {
        // The one with indexes as often as all others together.
        let at = self.random.usize(..2 * TABLES.len() - 2);
        TABLES.get(at).unwrap_or(&TABLES[1])
    }

    /// True one time in `n`.
    fn one_in(&mut self, n: u8) -> bool {
        self.random.u8(..n) == 0
    }

    fn maybe(&mut self, body: &mut Body, name: &str, choices: &[&str]) {
        if self.one_in(3) {
            let choice = pick(&mut self.random, choices);
            body.insert(name.to_owned(), choice.into());
        }
    }

    fn put_item(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        body.insert("Item".into(), item(&mut self.random, table).into());
        self.conditional(&mut body);
        self.maybe(&mut body, "ReturnValues", &["NONE", "ALL_OLD"]);
        body
    }

    fn get_item(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        body.insert("Key".into(), key(&mut self.random, table.keys).into());
        self.projected(&mut body);
        self.consistent(&mut body);
        body
    }

    fn update_item(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        body.insert("Key".into(), key(&mut self.random, table.keys).into());
        let is_conditional = self.one_in(3);
        if !self.one_in(10) {
            let mut expressions = Expressions::new(&mut self.random);
            let update = expressions.update();
            body.insert("UpdateExpression".into(), update.into());
            if is_conditional {
                let condition = expressions.condition(2);
                body.insert("ConditionExpression".into(), condition.into());
            }
            expressions.finish(&mut body);
        }
        let returns = ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"];
        self.maybe(&mut body, "ReturnValues", &returns);
        self.maybe_shown(&mut body);
        body
    }

    fn delete_item(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        body.insert("Key".into(), key(&mut self.random, table.keys).into());
        self.conditional(&mut body);
        self.maybe(&mut body, "ReturnValues", &["NONE", "ALL_OLD"]);
        // DynamoDB Local returns it also when it is not asked for, if the item is missing.
        body.insert("ReturnConsumedCapacity".into(), "TOTAL".into());
        body
    }

    /// A table or one of its indexes.
    fn source(&mut self, body: &mut Body, table: &Table) -> Option<&'static Index> {
        let at = self.random.usize(..=table.indexes.len());
        let index = TABLES
            .iter()
            .find(|it| it.name == table.name)
            .and_then(|table| table.indexes.get(at));
        if let Some(index) = index {
            body.insert("IndexName".into(), index.name.into());
        }
        if index.is_none_or(|index| index.is_local) {
            self.consistent(body);
        }
        index
    }

    fn query(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        let index = self.source(&mut body, table);
        let keys = index.map_or(table.keys, |index| index.keys);
        let (filters, projects) = (self.one_in(3), self.one_in(3));
        let mut expressions = Expressions::new(&mut self.random);
        let condition = expressions.key_condition(keys);
        body.insert("KeyConditionExpression".into(), condition.into());
        if filters {
            let filter = expressions.condition(1);
            body.insert("FilterExpression".into(), filter.into());
        }
        if projects {
            let projection = expressions.projection();
            body.insert("ProjectionExpression".into(), projection.into());
        }
        expressions.finish(&mut body);
        if self.one_in(3) {
            body.insert("ScanIndexForward".into(), self.random.bool().into());
        }
        self.limited(&mut body);
        body
    }

    fn scan(&mut self) -> Body {
        let table = self.table();
        let mut body = named(table);
        let index = self.source(&mut body, table);
        // DynamoDB Local filters a scan by what the index does not have.
        let is_whole = index.is_none_or(|index| index.projection == ["ALL"]);
        let (filters, projects) = (is_whole && self.random.bool(), self.one_in(3));
        let mut expressions = Expressions::new(&mut self.random);
        if filters {
            let filter = expressions.condition(2);
            body.insert("FilterExpression".into(), filter.into());
        }
        if projects {
            let projection = expressions.projection();
            body.insert("ProjectionExpression".into(), projection.into());
        }
        expressions.finish(&mut body);
        self.limited(&mut body);
        body
    }

    fn batch_get_item(&mut self) -> Body {
        let mut tables = Body::new();
        for table in self.some_tables() {
            let count = self.random.usize(1..6);
            let keys = (0..count).map(|_| key(&mut self.random, table.keys));
            let mut asked = Body::new();
            asked.insert("Keys".into(), distinct(keys.collect(), table));
            self.projected(&mut asked);
            self.consistent(&mut asked);
            tables.insert(table.name.to_owned(), asked.into());
        }
        Body::from_iter([("RequestItems".to_owned(), tables.into())])
    }

    fn batch_write_item(&mut self) -> Body {
        let mut tables = Body::new();
        for table in self.some_tables() {
            let count = self.random.usize(1..6);
            let items = (0..count).map(|_| item(&mut self.random, table));
            let Json::Array(items) = distinct(items.collect(), table) else {
                unreachable!("it makes a list")
            };
            let requests = items.into_iter().map(|item| {
                if self.one_in(3) {
                    json!({"DeleteRequest": {"Key": key_of(&item, table)}})
                } else {
                    json!({"PutRequest": {"Item": item}})
                }
            });
            let requests: Vec<_> = requests.collect();
            tables.insert(table.name.to_owned(), requests.into());
        }
        Body::from_iter([("RequestItems".to_owned(), tables.into())])
    }

    fn transact_get_items(&mut self) -> Body {
        let count = self.random.usize(1..6);
        let mut seen = Vec::new();
        for _ in 0..count {
            let table = self.table();
            let mut get = named(table);
            get.insert("Key".into(), key(&mut self.random, table.keys).into());
            self.projected(&mut get);
            if !is_among(&seen, &get, table) {
                seen.push(get);
            }
        }
        let items: Vec<_> = seen.into_iter().map(|get| json!({ "Get": get })).collect();
        Body::from_iter([("TransactItems".to_owned(), items.into())])
    }

    fn transact_write_items(&mut self) -> Body {
        let count = self.random.usize(1..6);
        let mut actions: Vec<(&str, Body)> = Vec::new();
        for _ in 0..count {
            let table = self.table();
            let (kind, mut action) = self.action(table);
            action.remove("ReturnValues");
            let others: Vec<_> = actions.iter().map(|(_, action)| action.clone()).collect();
            if !is_among(&others, &action, table) {
                actions.push((kind, action));
            }
        }
        let actions: Vec<_> = actions
            .into_iter()
            .map(|(kind, action)| json!({ kind: action }))
            .collect();
        Body::from_iter([("TransactItems".to_owned(), actions.into())])
    }

    /// One action of a transaction: mostly without a condition, or few would be carried out.
    fn action(&mut self, table: &Table) -> (&'static str, Body) {
        let mut body = named(table);
        let address = key(&mut self.random, table.keys);
        match self.random.u8(..4) {
            0 => {
                body.insert("Item".into(), item(&mut self.random, table).into());
                self.rarely_conditional(&mut body);
                ("Put", body)
            }
            1 => {
                body.insert("Key".into(), address.into());
                self.rarely_conditional(&mut body);
                ("Delete", body)
            }
            2 => {
                body.insert("Key".into(), address.into());
                let mut expressions = Expressions::new(&mut self.random);
                let update = expressions.certain_update();
                body.insert("UpdateExpression".into(), update.into());
                expressions.finish(&mut body);
                ("Update", body)
            }
            _ => {
                body.insert("Key".into(), address.into());
                let mut expressions = Expressions::new(&mut self.random);
                let condition = expressions.condition(1);
                body.insert("ConditionExpression".into(), condition.into());
                expressions.finish(&mut body);
                self.maybe_shown(&mut body);
                ("ConditionCheck", body)
            }
        }
    }

    fn some_tables(&mut self) -> Vec<&'static Table> {
        let mut tables: Vec<_> = TABLES.iter().collect();
        self.random.shuffle(&mut tables);
        tables.truncate(self.random.usize(1..4));
        tables
    }

    fn rarely_conditional(&mut self, body: &mut Body) {
        if self.one_in(4) {
            self.conditional(body);
        }
    }

    fn conditional(&mut self, body: &mut Body) {
        if self.random.bool() {
            let mut expressions = Expressions::new(&mut self.random);
            let condition = expressions.condition(2);
            body.insert("ConditionExpression".into(), condition.into());
            expressions.finish(body);
            self.maybe_shown(body);
        }
    }

    fn maybe_shown(&mut self, body: &mut Body) {
        let name = "ReturnValuesOnConditionCheckFailure";
        self.maybe(body, name, &["NONE", "ALL_OLD"]);
    }

    fn projected(&mut self, body: &mut Body) {
        if self.one_in(3) {
            let mut expressions = Expressions::new(&mut self.random);
            let projection = expressions.projection();
            body.insert("ProjectionExpression".into(), projection.into());
            expressions.finish(body);
        }
    }

    fn consistent(&mut self, body: &mut Body) {
        if self.one_in(4) {
            body.insert("ConsistentRead".into(), self.random.bool().into());
        }
    }

    fn limited(&mut self, body: &mut Body) {
        if self.one_in(3) {
            body.insert("Limit".into(), self.random.u8(1..5).into());
        }
    }
}

fn named(table: &Table) -> Body {
    Body::from_iter([("TableName".to_owned(), table.name.into())])
}

/// The key of an item, which is an item too.
fn key_of(item: &Json, table: &Table) -> Json {
    let names = table.keys.all().map(|(name, _)| name);
    let parts = names.map(|name| (name.to_owned(), item[name].clone()));
    Json::Object(parts.collect())
}

/// Items of which no two have the same key.
fn distinct(items: Vec<Body>, table: &Table) -> Json {
    let mut kept: Vec<Json> = Vec::new();
    for item in items {
        let item = Json::from(item);
        let is_new = |other: &Json| key_of(other, table) != key_of(&item, table);
        if kept.iter().all(is_new) {
            kept.push(item);
        }
    }
    kept.into()
}

/// Whether one of these requests is about the same item.
fn is_among(others: &[Body], request: &Body, table: &Table) -> bool {
    let address = |body: &Body| {
        let item = body.get("Key").or_else(|| body.get("Item")).cloned();
        (
            body["TableName"].clone(),
            item.map(|item| key_of(&item, table)),
        )
    };
    others.iter().any(|other| {
        other["TableName"] == request["TableName"] && address(other) == address(request)
    })
}
