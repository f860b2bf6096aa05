//! Two actions, one after the other and joined.

use partita_core::expression::{Comparator, Operand, Step as PathStep};
use proptest::prelude::*;

use super::*;

/// Choices, one after the other.
struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    fn pick(&mut self, count: u8) -> u8 {
        self.0.next().unwrap_or_default() % count
    }

    fn number(&mut self) -> Value {
        Value::N(Number::from(i64::from(self.pick(4))))
    }

    fn text(&mut self) -> Value {
        Value::from(["x", "y", "z"][usize::from(self.pick(3))])
    }

    /// A map with or without a number and a text.
    fn map(&mut self) -> Value {
        let mut map = Map::new();
        if self.pick(3) > 0 {
            map.insert("n".to_owned(), self.number());
        }
        if self.pick(3) > 0 {
            map.insert("t".to_owned(), self.text());
        }
        Value::M(map)
    }

    fn item(&mut self) -> Item {
        let mut item = key();
        if self.pick(3) > 0 {
            item.insert("n".to_owned(), self.number());
        }
        if self.pick(3) > 0 {
            item.insert("t".to_owned(), self.text());
        }
        if self.pick(3) > 0 {
            item.insert("m".to_owned(), self.map());
        }
        item
    }

    fn stored(&mut self) -> Option<Item> {
        (self.pick(4) > 0).then(|| self.item())
    }

    /// Something that a plan does to an item in this state, on conditions that hold there.
    fn action(&mut self, state: Option<&Item>) -> TransactAction {
        let table = "things".parse().unwrap();
        let there = Condition::Exists(Path::attribute("PK"));
        let missing = Condition::NotExists(Path::attribute("PK"));
        let Some(item) = state else {
            return match self.pick(4) {
                0 => TransactAction::Check(ConditionCheck {
                    table,
                    key: key(),
                    condition: missing,
                    return_item_on_failure: false,
                }),
                _ => TransactAction::Put(PutItem {
                    condition: Some(missing),
                    ..PutItem::new(table, self.item())
                }),
            };
        };
        let condition = self.guards(item).into_iter().fold(there, Condition::and);
        match self.pick(6) {
            0 => TransactAction::Check(ConditionCheck {
                table,
                key: key(),
                condition,
                return_item_on_failure: false,
            }),
            1 => TransactAction::Delete(DeleteItem {
                table,
                key: key(),
                condition: Some(condition),
                return_item_on_failure: false,
            }),
            _ => TransactAction::Update(UpdateItem {
                table,
                key: key(),
                update: self.update(item),
                condition: Some(condition),
                return_item_on_failure: false,
            }),
        }
    }

    /// What was read, or a range that it is in.
    fn guards(&mut self, item: &Item) -> Vec<Condition> {
        let mut guards = Vec::new();
        for path in ["n", "t", "m", "m.n", "m.t"].map(path) {
            match (self.pick(4), path.find(item)) {
                (0, _) => guards.push(as_read(path, item)),
                (1, Some(Value::N(number))) => guards.push(Condition::Compare(
                    Operand::Path(path.clone()),
                    Comparator::GreaterOrEqual,
                    Operand::value(*number),
                )),
                _ => {}
            }
        }
        guards
    }

    fn update(&mut self, item: &Item) -> Update {
        let mut update = Update::default();
        match self.pick(4) {
            0 => update = update.setting(path("t"), self.text()),
            1 => update.remove.push(path("t")),
            _ => {}
        }
        self.change_number(&mut update, path("n"));
        match (self.pick(5), item.get("m")) {
            (0, _) => update = update.setting(path("m"), self.map()),
            (1, _) => update.remove.push(path("m")),
            (_, Some(Value::M(_))) => {
                self.change_number(&mut update, path("m.n"));
                match self.pick(4) {
                    0 => update = update.setting(path("m.t"), self.text()),
                    1 => update.remove.push(path("m.t")),
                    _ => {}
                }
            }
            _ => {}
        }
        update
    }

    fn change_number(&mut self, update: &mut Update, path: Path) {
        match self.pick(4) {
            0 => {
                let value = SetValue::Is(SetOperand::Value(self.number()));
                update.set.push((path, value));
            }
            1 => {
                let zero = SetOperand::Value(Value::N(Number::from(0_i64)));
                let now = SetOperand::IfNotExists(path.clone(), Box::new(zero));
                let amount = SetOperand::Value(self.number());
                update.set.push((path, SetValue::Plus(now, amount)));
            }
            2 => update.remove.push(path),
            _ => {}
        }
    }
}

fn key() -> Item {
    Item::from([("PK".to_owned(), Value::from("1"))])
}

fn path(dotted: &str) -> Path {
    let mut names = dotted.split('.');
    let mut path = Path::attribute(names.next().unwrap());
    let fields = names.map(|name| PathStep::Field(name.into()));
    path.steps.extend(fields);
    path
}

/// What an action leaves; none where it is refused.
fn done(action: &TransactAction, state: Option<&Item>) -> Option<Option<Item>> {
    let nothing = Item::new();
    demand(condition_of(action), state.unwrap_or(&nothing))?;
    Some(match action {
        TransactAction::Put(put) => Some(put.item.clone()),
        TransactAction::Delete(_) => None,
        TransactAction::Check(_) => state.cloned(),
        TransactAction::Update(update) => {
            let mut item = state.cloned().unwrap_or_else(key);
            update.update.apply(&mut item).ok()?;
            Some(item)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// On the item as it was read the joined action comes to the same. On any other it passes only
    /// where both would have passed, and comes to the same there too.
    #[test]
    fn joined_actions_do_what_both_do(tape in prop::collection::vec(any::<u8>(), 120)) {
        let mut tape = Tape(tape.into_iter());
        let base = tape.stored();
        let first = tape.action(base.as_ref());
        let between = done(&first, base.as_ref()).expect("it was made for this state");
        let second = tape.action(between.as_ref());
        let after = done(&second, between.as_ref()).expect("it was made for this state");
        let joined = follow(first.clone(), second.clone(), base.as_ref());
        let joined = joined.expect("they follow each other");
        if let TransactAction::Update(update) = &joined {
            prop_assert!(update.update.check().is_ok(), "{update:?}");
        }
        prop_assert_eq!(done(&joined, base.as_ref()), Some(after), "{:?}", joined);

        let mut other = tape.stored();
        // A map that attributes stand in is there for as long as its item is.
        if let (Some(other), Some(Value::M(_))) = (&mut other, base.as_ref().and_then(|base| base.get("m"))) {
            other.insert("m".to_owned(), tape.map());
        }
        if let Some(left) = done(&joined, other.as_ref()) {
            let one_by_one = done(&first, other.as_ref());
            let one_by_one = one_by_one.and_then(|state| done(&second, state.as_ref()));
            prop_assert_eq!(Some(left), one_by_one, "{:?} on {:?}", joined, other);
        }
    }
}
