//! Coins, credits and unread messages: where each amount on an account comes from.
//!
//! This is what the designs mean, as a table. An account is an attribute of a record; after every
//! commit it holds what the commit says.

use std::collections::BTreeSet;

use partita_core::{Map, Number, Value};
use partita_plan::Operation;

use super::witness::{Commit, Transition};
use super::world::{World, nested};

/// A number that only changes for known reasons.
struct Account {
    design: &'static str,
    record: &'static str,
    attribute: &'static str,
    /// What the account holds after a commit: all of these together.
    holds: fn(&Commit<'_>, &Transition, &Map) -> Vec<Number>,
}

const ACCOUNTS: [Account; 6] = [
    Account {
        design: "mediahub",
        record: "User",
        attribute: "pscTotalEarned",
        holds: |commit, user, old| vec![number(old, "pscTotalEarned"), given(commit, user, "earn")],
    },
    Account {
        design: "mediahub",
        record: "User",
        attribute: "pscTotalSpent",
        holds: |commit, user, old| vec![number(old, "pscTotalSpent"), given(commit, user, "spend")],
    },
    Account {
        design: "mediahub",
        record: "User",
        attribute: "pscTotalWithdrawn",
        holds: |commit, user, old| {
            vec![
                number(old, "pscTotalWithdrawn"),
                given(commit, user, "withdraw"),
            ]
        },
    },
    Account {
        design: "mediahub",
        record: "User",
        attribute: "i2vCreditsSecondsPurchased",
        holds: |commit, user, old| {
            let mut holds = vec![number(old, "i2vCreditsSecondsPurchased")];
            let bought = completed(commit, user, |product| nested(product, "plan").is_none());
            holds.extend(bought);
            holds.extend(seconds(commit, user, "secondsFromPurchased"));
            holds
        },
    },
    Account {
        design: "mediahub",
        record: "User",
        attribute: "i2vCreditsSecondsFromPlan",
        holds: |commit, user, old| {
            if let Some(granted) =
                completed(commit, user, |product| nested(product, "plan").is_some())
            {
                vec![granted]
            } else {
                let mut holds = vec![number(old, "i2vCreditsSecondsFromPlan")];
                holds.extend(seconds(commit, user, "secondsFromPlan"));
                holds
            }
        },
    },
    Account {
        design: "holdthatthought",
        record: "ConversationMember",
        attribute: "unreadCount",
        holds: |commit, member, old| {
            let read = |item: &Map| nested(item, "lastReadAt").cloned();
            if member.new.as_ref().and_then(read) != read(old) {
                // Who found nothing unread changes nothing: what came meanwhile is unread.
                let new = member.new.as_ref().map(|new| number(new, "unreadCount"));
                return new
                    .into_iter()
                    .filter(|new| *new == number(old, "unreadCount"))
                    .collect();
            }
            let of = |item: &Map, name: &str| nested(item, name).cloned();
            let unread = commit.created("Message").filter(|message| {
                of(message, "conversationId") == of(old, "conversationId")
                    && of(message, "senderId").as_ref().and_then(Value::as_str)
                        != member.identity.first().map(String::as_str)
            });
            vec![
                number(old, "unreadCount"),
                Number::from(unread.count() as u64),
            ]
        },
    },
];

/// Judges all accounts that a commit could have changed.
pub(crate) fn balance(commit: &Commit<'_>, faults: &mut Vec<String>) {
    let design = &commit.world.design.name;
    for account in ACCOUNTS.iter().filter(|account| account.design == design) {
        for (identity, old) in commit.world.all(account.record) {
            let mut transitions = commit.transitions.iter();
            let written =
                transitions.find(|one| one.record == account.record && one.identity == *identity);
            let unchanged = || Transition {
                record: account.record.to_owned(),
                identity: identity.clone(),
                old: Some(old.clone()),
                new: Some(old.clone()),
            };
            let transition = written.cloned().unwrap_or_else(unchanged);
            let Some(new) = &transition.new else {
                continue;
            };
            let holds = (account.holds)(commit, &transition, old);
            let holds = holds.into_iter().fold(Number::default(), |sum, more| {
                sum.checked_add(more).unwrap_or(sum)
            });
            let found = number(new, account.attribute);
            if found != holds {
                let (record, name) = (account.record, account.attribute);
                let identity = identity.join(" ");
                faults.push(format!(
                    "{record} {identity}: {name} is {found} instead of {holds}"
                ));
            }
        }
    }
}

fn number(item: &Map, name: &str) -> Number {
    let number = nested(item, name).and_then(Value::as_number);
    number.copied().unwrap_or_default()
}

/// The amount that an action was given for this account.
fn given(commit: &Commit<'_>, account: &Transition, named: &str) -> Number {
    match commit.intent.map(|intent| &intent.operation) {
        Some(Operation::Act {
            action,
            identity,
            given,
            ..
        }) if action == named && *identity == account.identity => number(given, "amount"),
        _ => Number::default(),
    }
}

fn is_of(item: &Map, user: &Transition) -> bool {
    let owner = nested(item, "userId").and_then(Value::as_str);
    owner == user.identity.first().map(String::as_str)
}

/// The seconds that a completed order of a user grants, if its product is of this kind.
fn completed(commit: &Commit<'_>, user: &Transition, is_meant: fn(&Map) -> bool) -> Option<Number> {
    let is = |item: &Map, name: &str, value: &str| nested(item, name) == Some(&value.into());
    let mut orders = commit.turned("Order", move |order| is(order, "status", "completed"));
    let order = orders.find(|order| is_of(order, user))?;
    let item = nested(order, "item")?.as_str()?;
    let product = commit.world.get("Product", &[item.to_owned()])?;
    is_meant(product).then(|| number(product, "seconds"))
}

/// What new jobs of a user take, and what failed ones give back.
fn seconds(commit: &Commit<'_>, user: &Transition, name: &str) -> Vec<Number> {
    let taken = commit.created("I2VJob").filter(|job| is_of(job, user));
    let taken = taken.map(|job| -number(job, name));
    let is_refunded = |job: &Map| nested(job, "refundedAt").is_some();
    let refunded = commit.turned("I2VJob", is_refunded);
    let refunded = refunded.filter(|job| is_of(job, user));
    taken.chain(refunded.map(|job| number(job, name))).collect()
}

/// What no two records of a design have in common, though no guard keeps them from it.
struct Distinct {
    design: &'static str,
    record: &'static str,
    /// Only those of which this attribute has this value.
    only: Option<(&'static str, &'static str)>,
    attributes: &'static [&'static str],
}

const DISTINCT: [Distinct; 2] = [
    // A position among siblings.
    Distinct {
        design: "storyhub",
        record: "ChildRelationship",
        only: None,
        attributes: &["parentNodeId", "order"],
    },
    // Every contributor hears of it once.
    Distinct {
        design: "storyhub",
        record: "Notification",
        only: Some(("type", "STORY_COMPLETED")),
        attributes: &["userId", "relatedStoryId"],
    },
];

/// Looks for records that have in common what they should not.
pub(crate) fn distinct(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    let ours = DISTINCT.iter();
    for law in ours.filter(|law| law.design == world.design.name) {
        let mut known = BTreeSet::new();
        for (_, item) in world.all(law.record) {
            let only = law.only;
            let counts = only.is_none_or(|(name, value)| nested(item, name) == Some(&value.into()));
            let values = law.attributes.iter();
            let values = values.map(|name| format!("{name} = {:?}", nested(item, name)));
            let values = values.collect::<Vec<_>>().join(", ");
            if counts && !known.insert(values.clone()) {
                faults.push(format!("two {} have {values}", law.record));
            }
        }
    }
    faults
}
