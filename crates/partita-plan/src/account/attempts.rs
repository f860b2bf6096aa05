//! How often something was tried in a window of time, counted in the sidecar.
//!
//! A window slides in steps of a fifth of it: each step has a row, and the rows of the last window
//! count together. So no window of that length has more attempts than the limit allows, wherever it
//! begins, and who has reached it waits a fifth longer at most.
//!
//! An attempt is counted before it is made, by an update that fails when there were enough, so that
//! many at once cannot exceed the number. What is counted is known by a digest alone.

use partita_core::expression::{
    Comparator, Condition, Operand, Path, SetOperand, SetValue, Update,
};
use partita_core::{Number, Value};
use partita_store::ErrorKind;
use partita_store::request::{DeleteItem, UpdateItem};

use super::secret;
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::sidecar;

const COUNT: &str = "count";

/// What may be tried how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimit {
    /// Its name in refusals.
    pub name: &'static str,
    /// How often.
    pub count: u64,
    /// In how many seconds.
    pub window_seconds: u64,
}

/// The steps in which a window slides.
const STEPS: i64 = 5;

/// The rows of what is counted, at a moment.
struct Steps {
    partition: String,
    /// Seconds of a step.
    length: i64,
    /// The number of the step that is now.
    current: i64,
}

impl Steps {
    fn of(limit: AttemptLimit, of: &str, now_seconds: i64) -> Steps {
        let window = i64::try_from(limit.window_seconds).unwrap_or(i64::MAX);
        let length = (window / STEPS).max(1);
        let digest = secret::bound("attempt", &[limit.name, of]);
        Steps {
            partition: format!("ATTEMPT#{digest}"),
            length,
            current: now_seconds.div_euclid(length),
        }
    }

    /// The earlier steps that count, the first one first.
    fn earlier(&self) -> impl Iterator<Item = i64> {
        self.current - STEPS..self.current
    }

    /// When a step counts no more.
    fn ends(&self, step: i64) -> i64 {
        (step + STEPS + 1).saturating_mul(self.length)
    }

    fn sort(&self, step: i64) -> String {
        step.saturating_mul(self.length).to_string()
    }

    fn key(&self, step: i64) -> partita_core::Item {
        sidecar::key(&self.partition, &self.sort(step))
    }
}

impl Partita {
    /// Counts an attempt of somebody or at something, and refuses it when there were enough.
    pub async fn count_attempt(&self, limit: AttemptLimit, of: &str) -> Result<(), PlanError> {
        let now = self.clock.now_millis().div_euclid(1000);
        let steps = Steps::of(limit, of, now);
        let earlier = self.earlier_attempts(&steps).await?;
        let tried: u64 = earlier.iter().map(|(_, count)| count).sum();
        let refused = |until: i64| PlanError::LimitReached {
            limit: limit.name.to_owned(),
            count: limit.count,
            window_seconds: limit.window_seconds,
            wait_seconds: u64::try_from(until - now).unwrap_or(0).max(1),
        };
        let Some(room) = limit.count.checked_sub(tried).filter(|room| *room > 0) else {
            return Err(refused(room_again(&steps, &earlier, tried, limit.count)));
        };
        let count = Path::attribute(COUNT);
        let has_room = Condition::Compare(
            Operand::Path(count.clone()),
            Comparator::Less,
            Operand::value(Number::from(room)),
        );
        let mut update = added(1);
        let expires = Value::N(Number::from(steps.ends(steps.current)));
        let expires = SetValue::Is(SetOperand::Value(expires));
        update
            .set
            .push((Path::attribute(sidecar::EXPIRES), expires));
        let request = UpdateItem {
            table: self.blueprint.sidecar.clone(),
            key: steps.key(steps.current),
            update,
            condition: Some(Condition::Any(vec![Condition::NotExists(count), has_room])),
            return_item_on_failure: false,
        };
        match self.runner.update(&request).await {
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => {
                // This step has what earlier ones have left. The first of them makes room again.
                let first = earlier.iter().find(|(_, count)| *count > 0);
                let step = first.map_or(steps.current, |(step, _)| *step);
                Err(refused(steps.ends(step)))
            }
            counted => counted,
        }
    }

    /// Takes back an attempt that was counted and came to good.
    pub async fn forgive_attempt(&self, limit: AttemptLimit, of: &str) -> Result<(), PlanError> {
        let now = self.clock.now_millis().div_euclid(1000);
        let steps = Steps::of(limit, of, now);
        let is_counted = Condition::Compare(
            Operand::Path(Path::attribute(COUNT)),
            Comparator::Greater,
            Operand::value(Number::from(0_i64)),
        );
        let request = UpdateItem {
            table: self.blueprint.sidecar.clone(),
            key: steps.key(steps.current),
            update: added(-1),
            // The step may have ended since.
            condition: Some(is_counted),
            return_item_on_failure: false,
        };
        match self.runner.update(&request).await {
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => Ok(()),
            counted => counted,
        }
    }

    /// Forgets the attempts of this window.
    pub async fn forget_attempts(&self, limit: AttemptLimit, of: &str) -> Result<(), PlanError> {
        let now = self.clock.now_millis().div_euclid(1000);
        let steps = Steps::of(limit, of, now);
        for step in steps.earlier().chain([steps.current]) {
            self.remove_row(DeleteItem {
                table: self.blueprint.sidecar.clone(),
                key: steps.key(step),
                condition: None,
                return_item_on_failure: false,
            })
            .await?;
        }
        Ok(())
    }

    /// How often it was tried in each of the earlier steps.
    async fn earlier_attempts(&self, steps: &Steps) -> Result<Vec<(i64, u64)>, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let nobody = Caller::anonymous();
        let found = self.runner.settle(&mut reads, |reads| {
            let context = self.context(&nobody, reads, &moment);
            let counts = steps.earlier().map(|step| {
                let sort = steps.sort(step);
                let address = sidecar::address(&self.blueprint.sidecar, &steps.partition, &sort);
                let count = match context.item(&address) {
                    Known::Found(row) => row.get(COUNT).and_then(|one| one.as_number()?.to_i64()),
                    Known::Missing | Known::Unread => None,
                };
                (
                    step,
                    count.and_then(|one| u64::try_from(one).ok()).unwrap_or(0),
                )
            });
            Ok(counts.collect())
        });
        found.await
    }
}

/// When enough of the earlier steps have ended.
fn room_again(steps: &Steps, earlier: &[(i64, u64)], tried: u64, limit: u64) -> i64 {
    let mut left = tried;
    for (step, count) in earlier {
        left -= count;
        if left < limit {
            return steps.ends(*step);
        }
    }
    steps.ends(steps.current)
}

fn added(amount: i64) -> Update {
    let count = Path::attribute(COUNT);
    let sum = SetValue::Plus(
        SetOperand::IfNotExists(
            count.clone(),
            Box::new(SetOperand::Value(Value::N(Number::from(0_i64)))),
        ),
        SetOperand::Value(Value::N(Number::from(amount))),
    );
    let mut update = Update::default();
    update.set.push((count, sum));
    update
}
