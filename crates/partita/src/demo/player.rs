//! Plays a demo: draws, keeps names, and carries each write out through the planner.
//!
//! Everything that is drawn follows from the seed, and every time from the present that it is
//! played at, so that the same demo gives the same items.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use partita_core::expression::{Path, Update};
use partita_core::{Item, Map, plain};
use partita_plan::{Answer, Operation, Partita, Record};
use partita_store::request::{ReturnValues, UpdateItem};
use partita_store::surroundings::ManualClock;
use partita_store::{Clock as _, Store};
use serde_json::Value as Json;

use super::draw::Draw;
use super::expression::{Range, Template, Text};
use super::script::{Block, Caller, On, Query, Statement, What, Write, at_line};

/// A query that the demo shows, and what came of it.
pub(super) struct Shown {
    pub(super) caller: partita_plan::Caller,
    pub(super) pattern: String,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) rows: usize,
}

/// Where a demo is played.
pub(super) struct Stage<'s> {
    pub(super) partita: &'s Partita,
    pub(super) store: &'s dyn Store,
    /// The clock that the design has.
    pub(super) clock: &'s ManualClock,
    /// Told of each write, and ends the demo before the next one.
    pub(super) watch: &'s (dyn Fn() -> Result<()> + Sync),
}

/// What a demo knows while it is played.
struct Player<'s> {
    stage: Stage<'s>,
    present_millis: i64,
    pace: Range,
    draw: Draw,
    steps: usize,
    shown: Vec<Shown>,
}

/// Statements that are carried out, each as often as it is.
const STEPS_MAX: usize = 1_000_000;

/// Plays a demo that ends at the present; answers with what it shows.
pub(super) async fn play(
    script: &Block,
    stage: Stage<'_>,
    present_millis: i64,
    seed: u64,
) -> Result<Vec<Shown>> {
    stage.clock.set(present_millis);
    let mut player = Player {
        stage,
        present_millis,
        pace: Range { from: 0, to: 0 },
        draw: Draw::new(seed, present_millis),
        steps: 0,
        shown: Vec::new(),
    };
    player.block(script).await?;
    let partita = player.stage.partita;
    partita.run_jobs().await.context("the jobs of the demo")?;
    for shown in &mut player.shown {
        shown.rows = ask(partita, shown).await?.len();
    }
    Ok(player.shown)
}

/// The rows on the first page of a pattern.
async fn ask(partita: &Partita, shown: &Shown) -> Result<Vec<Json>> {
    let query = Operation::Query {
        pattern: shown.pattern.clone(),
        parameters: shown.parameters.clone(),
        limit: None,
        cursor: None,
    };
    let answer = partita.run(&shown.caller, query).await;
    let answer = answer.with_context(|| format!("the pattern `{}`", shown.pattern))?;
    Ok(match answer {
        Answer::Page { records, .. } => records.iter().map(to_json).collect(),
        Answer::Record(record) | Answer::Created(record) => vec![to_json(&record)],
        Answer::Done => Vec::new(),
    })
}

impl Player<'_> {
    async fn block(&mut self, block: &Block) -> Result<()> {
        for statement in block {
            // Blocks are in blocks, and such a future must be of a known size.
            let done = Box::pin(self.statement(statement)).await;
            done.map_err(|error| at_line(error, statement.line))?;
        }
        Ok(())
    }

    async fn statement(&mut self, statement: &Statement) -> Result<()> {
        self.steps += 1;
        ensure!(
            self.steps <= STEPS_MAX,
            "a demo takes at most {STEPS_MAX} steps"
        );
        self.draw.begin();
        match &statement.what {
            What::At { before_present } => self.set_clock(self.present_millis - before_present),
            What::Pace(pace) => self.pace = *pace,
            What::List { name, rows } => {
                let rows = rows.iter().map(|row| self.draw.filled(row));
                let rows = rows.collect::<Result<_>>()?;
                self.draw.name(name, Json::Array(rows))?;
            }
            What::Let { name, value } => {
                let value = self.draw.value(value)?;
                self.draw.name(name, value)?;
            }
            What::For { name, of, block } => {
                for element in self.draw.elements(of)? {
                    self.draw.name(name, element)?;
                    self.block(block).await?;
                }
            }
            What::Repeat { times, block } => {
                for _ in 0..self.draw.number(*times) {
                    self.block(block).await?;
                }
            }
            What::Maybe { percent, block } => {
                if self.draw.percent() < *percent {
                    self.block(block).await?;
                }
            }
            What::If {
                one,
                is,
                other,
                block,
            } => {
                let are_same = self.draw.value(one)? == self.draw.value(other)?;
                if are_same == *is {
                    self.block(block).await?;
                }
            }
            What::Write {
                caller,
                write,
                kept,
            } => {
                let answer = self.write(caller, write).await?;
                if let Some(name) = &kept.name {
                    self.draw.name(name, record(&answer)?)?;
                }
                if let Some(list) = &kept.list {
                    self.draw.append(list, record(&answer)?)?;
                }
            }
            What::PastTheRules { key, attributes } => self.set(key, attributes).await?,
            What::CreatePastTheRules { entity, attributes } => {
                let attributes = self.attributes(attributes)?;
                let partita = &self.stage.partita;
                partita.create_past_rules(entity, attributes).await?;
            }
            What::Find { query, name } => {
                let found = self.query(query)?;
                let rows = ask(self.stage.partita, &found).await?;
                self.draw.name(name, Json::Array(rows))?;
            }
            What::Show(query) => {
                let shown = self.query(query)?;
                self.shown.push(shown);
            }
        }
        Ok(())
    }

    /// No time lies in the future.
    fn set_clock(&mut self, millis: i64) {
        let millis = millis.min(self.present_millis);
        self.stage.clock.set(millis);
        self.draw.set_now(millis);
    }

    fn caller(&mut self, caller: &Caller) -> Result<partita_plan::Caller> {
        let id = caller.id.as_ref().map(|id| self.draw.text(id));
        Ok(partita_plan::Caller {
            id: id.transpose()?,
            role: caller.role.clone(),
            groups: Vec::new(),
        })
    }

    fn query(&mut self, query: &Query) -> Result<Shown> {
        let parameters = query.parameters.iter();
        let parameters = parameters.map(|(name, value)| Ok((name.clone(), self.draw.text(value)?)));
        Ok(Shown {
            parameters: parameters.collect::<Result<_>>()?,
            caller: self.caller(&query.caller)?,
            pattern: query.pattern.clone(),
            rows: 0,
        })
    }

    /// Carries a write out, some time after the one before.
    async fn write(&mut self, caller: &Caller, write: &Write) -> Result<Answer> {
        let pause = self.draw.number(self.pace);
        self.set_clock(self.stage.clock.now_millis() + pause);
        let caller = self.caller(caller)?;
        let operation = self.operation(write)?;
        let answer = self.stage.partita.run(&caller, operation).await?;
        (self.stage.watch)()?;
        Ok(answer)
    }

    fn operation(&mut self, write: &Write) -> Result<Operation> {
        Ok(match write {
            Write::Create { entity, with } => Operation::Create {
                entity: entity.clone(),
                attributes: self.attributes(with)?,
            },
            Write::Update { on, with } => Operation::Update {
                entity: on.entity.clone(),
                identity: self.identity(on)?,
                changes: self.attributes(with)?,
                with_deleted: false,
                version: None,
            },
            Write::Delete { on } => Operation::Delete {
                entity: on.entity.clone(),
                identity: self.identity(on)?,
                version: None,
            },
            Write::Restore { on } => Operation::Restore {
                entity: on.entity.clone(),
                identity: self.identity(on)?,
                version: None,
            },
            Write::Purge { on } => Operation::Purge {
                entity: on.entity.clone(),
                identity: self.identity(on)?,
                version: None,
            },
            Write::Act { action, on, with } => Operation::Act {
                action: action.clone(),
                entity: on.as_ref().map(|on| on.entity.clone()),
                identity: match on {
                    Some(on) => self.identity(on)?,
                    None => Vec::new(),
                },
                given: self.attributes(with)?,
                version: None,
            },
        })
    }

    fn identity(&mut self, on: &On) -> Result<Vec<String>> {
        on.identity
            .iter()
            .map(|part| self.draw.text(part))
            .collect()
    }

    fn attributes(&mut self, template: &Template) -> Result<Map> {
        match self.draw.filled(template)? {
            Json::Object(members) => Ok(plain::map_from_json(members)?),
            other => bail!("`{other}` is no object of attributes"),
        }
    }

    /// Sets attributes of an item that is there, past the design: no rule lets anybody make the
    /// first administrator.
    async fn set(&mut self, [partition, sort]: &[Text; 2], attributes: &Template) -> Result<()> {
        let table = &self.stage.partita.design().tables[0];
        let key = Item::from([
            (table.partition.clone(), self.draw.text(partition)?.into()),
            (table.sort.clone(), self.draw.text(sort)?.into()),
        ]);
        let attributes = self.attributes(attributes)?;
        ensure!(!attributes.is_empty(), "there is nothing to set");
        let update = attributes
            .into_iter()
            .fold(Update::default(), |update, (name, value)| {
                update.setting(Path::attribute(name), value)
            });
        let request = UpdateItem {
            table: table.name.parse()?,
            key,
            update,
            condition: None,
            return_item_on_failure: false,
        };
        self.stage
            .store
            .update_item(request, ReturnValues::None)
            .await?;
        Ok(())
    }
}

fn record(answer: &Answer) -> Result<Json> {
    match answer {
        Answer::Record(record) | Answer::Created(record) => Ok(to_json(record)),
        _ => bail!("the caller may not see what was written, so that there is nothing to keep"),
    }
}

fn to_json(record: &Record) -> Json {
    Json::Object(plain::map_to_json(&record.attributes))
}
