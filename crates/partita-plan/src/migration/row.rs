//! A migration as it is stored in the sidecar.

use partita_core::expression::{Condition, KeyCondition, Path, Update};
use partita_core::{Item, Map, Number, Value};
use partita_store::StoreError;
use partita_store::request::{PutItem, Query, UpdateItem};
use partita_store::table::TableName;

use super::{Migration, Position, Stage};
use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::sidecar;

/// The partition of migrations.
pub(crate) const MIGRATIONS: &str = "MIGRATION";

/// All migrations, in their order; only the last one may not be over.
pub(crate) async fn read(
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Vec<Migration>, PlanError> {
    let keys = KeyCondition::partition(sidecar::PARTITION, MIGRATIONS);
    let mut query = Query::new(sidecar.clone(), keys);
    query.consistent = true;
    let mut all = Vec::new();
    loop {
        let page = match runner.query(&query).await {
            Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(all),
            page => page?,
        };
        for item in &page.items {
            let read = from_item(item).ok_or_else(|| {
                let message = format!("a migration that is recorded in `{sidecar}` cannot be read");
                PlanError::Store(StoreError::Corrupt { message })
            })?;
            all.push(read);
        }
        match page.last_key {
            None => return Ok(all),
            last => query.start_after = last,
        }
    }
}

/// The migration that is not over, if there is one.
pub(crate) async fn open(
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Option<Migration>, PlanError> {
    let last = read(sidecar, runner).await?.pop();
    Ok(last.filter(|one| !one.stage.is_over()))
}

impl Migration {
    /// Records it, unless there is one of its number.
    pub(super) fn put(&self, sidecar: &TableName) -> PutItem {
        PutItem {
            condition: Some(sidecar::is_missing()),
            ..PutItem::new(sidecar.clone(), self.to_item())
        }
    }

    /// Moves it to another stage, from the one that it is in.
    pub(super) fn to_stage(
        &self,
        stage: Stage,
        sidecar: &TableName,
        now_millis: i64,
    ) -> UpdateItem {
        let mut update = Update::default();
        for (name, value) in [
            ("stage", Value::from(stage.word())),
            ("since", number(now_millis)),
            ("paused", Value::Bool(false)),
            ("lookedAt", number(0)),
            ("table", number(0)),
            ("refused", Value::L(Vec::new())),
        ] {
            update = update.setting(Path::attribute(name), value);
        }
        update.remove.push(Path::attribute("after"));
        self.update(sidecar, update)
    }

    /// Says how far the work of its stage is.
    pub(super) fn progress(&self, sidecar: &TableName) -> UpdateItem {
        let item = self.to_item();
        let mut update = Update::default();
        for name in ["lookedAt", "table", "refused", "swept"] {
            if let Some(value) = item.get(name) {
                update = update.setting(Path::attribute(name), value.clone());
            }
        }
        let after = Path::attribute("after");
        match item.get("after") {
            Some(key) => update = update.setting(after, key.clone()),
            None => update.remove.push(after),
        }
        self.update(sidecar, update)
    }

    /// Pauses it or goes on.
    pub(super) fn pausing(&self, is_paused: bool, sidecar: &TableName) -> UpdateItem {
        let update = Update::default().setting(Path::attribute("paused"), Value::Bool(is_paused));
        self.update(sidecar, update)
    }

    fn update(&self, sidecar: &TableName, update: Update) -> UpdateItem {
        UpdateItem {
            table: sidecar.clone(),
            key: key(self.number),
            update,
            condition: Some(Condition::equals(
                Path::attribute("stage"),
                Value::from(self.stage.word()),
            )),
            return_item_on_failure: false,
        }
    }

    fn to_item(&self) -> Item {
        let variables = self.variables.iter();
        let variables: Map = variables
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let refused = self.refused.iter().map(|one| Value::from(one.as_str()));
        let mut item = key(self.number);
        item.insert("from", number(signed(self.from)));
        item.insert("text", self.text.as_str().into());
        item.insert("variables", Value::M(variables));
        item.insert("stage", self.stage.word().into());
        item.insert("since", number(self.since_millis));
        item.insert("paused", Value::Bool(self.is_paused));
        item.insert("refused", Value::L(refused.collect()));
        let drops = self.drops.iter().map(|one| Value::from(one.as_str()));
        item.insert("drops", Value::L(drops.collect()));
        item.insert("lookedAt", number(signed(self.looked_at)));
        item.insert(
            "table",
            number(i64::try_from(self.position.table).unwrap_or(0)),
        );
        item.insert("swept", Value::Bool(self.is_swept));
        if let Some(after) = &self.position.after {
            item.insert("after", Value::M(after.clone()));
        }
        item
    }
}

pub(crate) fn from_item(item: &Item) -> Option<Migration> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let number = |name: &str| item.get(name)?.as_number()?.to_i64();
    let is = |name: &str| item.get(name) == Some(&Value::Bool(true));
    let Value::M(variables) = item.get("variables")? else {
        return None;
    };
    let variables = variables.iter().map(|(name, value)| {
        let value = value.as_str()?;
        Some((name.to_string(), value.to_owned()))
    });
    let texts = |name: &str| match item.get(name) {
        Some(Value::L(all)) => {
            let all = all.iter().filter_map(Value::as_str);
            all.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let after = match item.get("after") {
        Some(Value::M(key)) => Some(key.clone()),
        _ => None,
    };
    Some(Migration {
        number: text(sidecar::SORT)?.parse().ok()?,
        from: u64::try_from(number("from")?).ok()?,
        text: text("text")?.to_owned(),
        variables: variables.collect::<Option<_>>()?,
        stage: Stage::find(text("stage")?)?,
        since_millis: number("since")?,
        is_paused: is("paused"),
        refused: texts("refused"),
        drops: texts("drops"),
        looked_at: u64::try_from(number("lookedAt")?).ok()?,
        position: Position {
            table: usize::try_from(number("table")?).ok()?,
            after,
        },
        is_swept: is("swept"),
    })
}

fn key(migration: u64) -> Item {
    sidecar::key(MIGRATIONS, &format!("{migration:010}"))
}

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
