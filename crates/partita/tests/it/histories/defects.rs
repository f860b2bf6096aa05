//! Mistakes, planted: what a planner would send that forgot something.
//!
//! The transactions of the real planner are spoilt on their way to the store, one construct of the
//! language at a time. A history that runs on such a store must be found out.

use partita_core::expression::{Condition, Operand, Path, SetOperand, SetValue, Update};
use partita_core::{Item, Value};
use partita_design::template::dotted;
use partita_store::request::TransactAction;

/// How transactions are spoilt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spoil {
    /// An attribute is not written when other items change.
    NotSet(&'static str),
    /// A number is not added to when it should become less.
    NotLess(&'static str),
    /// What is added to a number is added twice.
    Twice(&'static str),
    /// Items whose keys contain this are not deleted.
    NotDeleted(&'static str),
    /// Items that have this attribute are not deleted.
    NotDeletedWith(&'static str),
    /// Items whose keys contain this are not put.
    NotPut(&'static str),
    /// New items whose keys contain the first text lack an attribute.
    Without(&'static str, &'static str),
    /// Conditions on items whose keys contain this are left out.
    Unconditional(&'static str),
}

impl Spoil {
    /// What is left of an action.
    pub(crate) fn applied(self, action: TransactAction) -> Option<TransactAction> {
        match (self, action) {
            (Spoil::NotSet(name), TransactAction::Update(mut update)) => {
                let path = dotted(name);
                update.update.set.retain(|(at, _)| *at != path);
                update.update.remove.retain(|at| *at != path);
                let is_left = !update.update.is_empty();
                is_left.then_some(TransactAction::Update(update))
            }
            (Spoil::NotLess(name), TransactAction::Update(mut update)) => {
                let path = dotted(name);
                update
                    .update
                    .set
                    .retain(|(at, value)| *at != path || !is_less(value));
                let is_left = !update.update.is_empty();
                is_left.then_some(TransactAction::Update(update))
            }
            (Spoil::Twice(name), TransactAction::Update(mut update)) => {
                twice(&mut update.update, &dotted(name));
                Some(TransactAction::Update(update))
            }
            (Spoil::NotDeleted(part), TransactAction::Delete(delete)) => {
                (!has(&delete.key, part)).then_some(TransactAction::Delete(delete))
            }
            (Spoil::NotDeletedWith(name), TransactAction::Delete(delete)) => {
                let condition = delete.condition.as_ref();
                let is_meant =
                    condition.is_some_and(|condition| compares(condition, &dotted(name)));
                (!is_meant).then_some(TransactAction::Delete(delete))
            }
            (Spoil::NotPut(part), TransactAction::Put(put)) => {
                (!has(&put.item, part)).then_some(TransactAction::Put(put))
            }
            (Spoil::Without(part, name), TransactAction::Put(mut put)) => {
                if has(&put.item, part) {
                    put.item.remove(name);
                }
                Some(TransactAction::Put(put))
            }
            (Spoil::Unconditional(part), action) => unconditional(action, part),
            (_, action) => Some(action),
        }
    }
}

/// Whether a key of an item contains a text.
fn has(item: &Item, part: &str) -> bool {
    let keys = ["PK", "SK", "pk", "sk"].into_iter();
    let mut keys = keys.filter_map(|name| item.get(name)?.as_str());
    keys.any(|key| key.contains(part))
}

/// Whether a condition says what value is at a path.
fn compares(condition: &Condition, path: &Path) -> bool {
    match condition {
        Condition::All(parts) => parts.iter().any(|part| compares(part, path)),
        Condition::Compare(Operand::Path(at), _, _) => at == path,
        _ => false,
    }
}

fn is_less(value: &SetValue) -> bool {
    match value {
        SetValue::Plus(_, SetOperand::Value(Value::N(number))) => *number < 0_i64.into(),
        SetValue::Minus(..) => true,
        _ => false,
    }
}

fn twice(update: &mut Update, path: &Path) {
    for (at, value) in &mut update.set {
        if let SetValue::Plus(_, SetOperand::Value(Value::N(number))) = value
            && at == path
        {
            *number = number.checked_add(*number).unwrap_or(*number);
        }
    }
}

fn unconditional(action: TransactAction, part: &str) -> Option<TransactAction> {
    Some(match action {
        TransactAction::Put(mut put) if has(&put.item, part) => {
            put.condition = None;
            TransactAction::Put(put)
        }
        TransactAction::Update(mut update) if has(&update.key, part) => {
            update.condition = None;
            TransactAction::Update(update)
        }
        TransactAction::Delete(mut delete) if has(&delete.key, part) => {
            delete.condition = None;
            TransactAction::Delete(delete)
        }
        TransactAction::Check(check) if has(&check.key, part) => return None,
        action => action,
    })
}

/// One mistake.
pub(crate) struct Defect {
    /// What goes wrong.
    pub(crate) mistake: &'static str,
    pub(crate) design: &'static str,
    pub(crate) spoil: Spoil,
    /// What somebody who finds it speaks of.
    pub(crate) told: &'static str,
    /// The operations that are done more often, so that it shows soon.
    pub(crate) focus: &'static [&'static str],
    pub(crate) operations: usize,
    /// Whether it is about what exceeds a transaction.
    pub(crate) has_crowds: bool,
}

/// A mistake that needs neither many operations nor many items.
const fn plain(
    mistake: &'static str,
    design: &'static str,
    spoil: Spoil,
    told: &'static str,
    focus: &'static [&'static str],
) -> Defect {
    Defect {
        mistake,
        design,
        spoil,
        told,
        focus,
        operations: 120,
        has_crowds: false,
    }
}

/// A mistake for every construct of the language that writes keep right.
pub(crate) const DEFECTS: &[Defect] = &[
    plain(
        "a count is not decremented",
        "storyhub",
        Spoil::NotLess("stats.upvotes"),
        "stats.upvotes",
        &["create Vote", "delete Vote"],
    ),
    plain(
        "a sum does not follow its parts",
        "storyhub",
        Spoil::NotSet("stats.totalUpvotes"),
        "stats.totalUpvotes",
        &["create Vote"],
    ),
    plain(
        "a copy is not refreshed",
        "storyhub",
        Spoil::NotSet("authorName"),
        "authorName",
        &["update User", "create Story"],
    ),
    plain(
        "a view forgets the record at its old key",
        "mediahub",
        Spoil::NotDeleted("ALBUM_TAG#"),
        "AlbumTag",
        &["update Album", "create Album"],
    ),
    plain(
        "a view writes no record at its new key",
        "stories",
        Spoil::NotPut("DELETED#"),
        "StoryIndex",
        &["delete Story"],
    ),
    plain(
        "a guard is not given back",
        "mediahub",
        Spoil::NotDeleted("UNIQUE#"),
        "guards nothing",
        &["update User", "delete User"],
    ),
    plain(
        "a guard is taken without a look",
        "mediahub",
        Spoil::Unconditional("UNIQUE#"),
        "is of several",
        &["update User", "create User"],
    ),
    plain(
        "a value gets no guard",
        "figureforge",
        Spoil::NotPut("UNIQUE#"),
        "has no guard",
        &["update User"],
    ),
    plain(
        "a key of an index is not rewritten",
        "mediahub",
        Spoil::NotSet("GSI8SK"),
        "GSI8SK",
        &["update Album"],
    ),
    plain(
        "a key that a number feeds is not rewritten",
        "mediahub",
        Spoil::NotSet("GSI6SK"),
        "GSI6SK",
        &["create UserInteraction"],
    ),
    plain(
        "a history is not written",
        "holdthatthought",
        Spoil::NotPut("VERSION#"),
        "LetterVersion",
        &["update Letter", "create Letter"],
    ),
    plain(
        "a cascade is left out",
        "holdthatthought",
        Spoil::NotDeleted("REACTION#"),
        "Reaction",
        &["create Comment", "create Reaction", "delete Comment"],
    ),
    plain(
        "a cleared reference stays",
        "mediahub",
        Spoil::NotSet("coverImageMediaId"),
        "coverImageMediaId",
        &["create Media", "create Album", "delete Media"],
    ),
    plain(
        "a trigger creates nothing",
        "storyhub",
        Spoil::NotPut("NOTIFICATION#"),
        "Notification were created",
        &["create Vote", "create ChapterNode"],
    ),
    plain(
        "a trigger takes effect twice",
        "holdthatthought",
        Spoil::Twice("unreadCount"),
        "unreadCount",
        &["create ConversationMeta", "create Message"],
    ),
    plain(
        "a trigger changes nothing",
        "figureforge",
        Spoil::NotSet("flag_status"),
        "flag_status",
        &["create Report", "create Image"],
    ),
    Defect {
        // Two have to change the same balance at the same time.
        operations: 420,
        ..plain(
            "a range is not looked at",
            "mediahub",
            Spoil::Unconditional("USER#"),
            "pscBalance",
            &["earn User", "spend User", "withdraw User"],
        )
    },
    plain(
        "a state goes anywhere",
        "mediahub",
        Spoil::Unconditional("ORDER#"),
        "went from",
        &["create Order", "completeOrder Order", "cancelOrder Order"],
    ),
    plain(
        "a version is not compared",
        "storyhub",
        Spoil::Unconditional("PROFILE#"),
        "was seen",
        &["update User"],
    ),
    plain(
        "a computed value does not follow",
        "mediahub",
        Spoil::NotSet("pscBalance"),
        "pscBalance",
        &["earn User"],
    ),
    Defect {
        operations: 420,
        ..plain(
            "a limit does not count",
            "holdthatthought",
            Spoil::NotSet("count"),
            "was done",
            &["create Comment"],
        )
    },
    plain(
        "a key is not remembered",
        "stories",
        Spoil::NotPut("KEY#"),
        "took effect",
        &[],
    ),
    plain(
        "what is deleted stays",
        "storyhub",
        Spoil::NotDeleted("VOTE#"),
        "stats.upvotes",
        &["create Vote", "delete Vote"],
    ),
    plain(
        "what was deleted softly outlives what it belongs to",
        "helpdesk",
        Spoil::NotDeletedWith("deletedAt"),
        "should have gone with its `org`",
        &["create Ticket", "delete Ticket", "delete Org"],
    ),
    Defect {
        has_crowds: true,
        ..plain(
            "what was deleted softly is left out by a job",
            "helpdesk",
            Spoil::NotDeletedWith("deletedAt"),
            "should have gone with its `org`",
            &["delete Ticket", "delete Org"],
        )
    },
    plain(
        "the past of what goes with another stays",
        "helpdesk",
        Spoil::NotDeleted("HISTORY#"),
        "TicketVersion",
        &["create Ticket", "update Ticket", "delete Org"],
    ),
    Defect {
        has_crowds: true,
        ..plain(
            "a job is not recorded",
            "storyhub",
            Spoil::NotPut("JOB"),
            "authorName",
            &["update User"],
        )
    },
    plain(
        "an effect does not see the item that causes it",
        "clubs",
        Spoil::Without("MEMBER#", "clubName"),
        "clubName",
        &["create Club"],
    ),
    plain(
        "an effect of an effect does not see the first item",
        "clubs",
        Spoil::Without("NOTE#", "clubName"),
        "clubName",
        &["create Club", "create Member"],
    ),
    plain(
        "a guard does not expire with its owner",
        "clubs",
        Spoil::Without("UNIQUE#", "until"),
        "a guard expires with its owner",
        &["create Pass", "update Pass"],
    ),
    plain(
        "a guard is taken although its owner has not expired",
        "clubs",
        Spoil::Unconditional("UNIQUE#"),
        "is of several",
        &["create Pass", "update Pass"],
    ),
    plain(
        "the numbers of a deleted item are forgotten",
        "clubs",
        Spoil::NotPut("KEPT#"),
        "warmth",
        &["create Cheer", "delete Club", "create Club"],
    ),
    plain(
        "the numbers of a missing item stay as they were",
        "clubs",
        Spoil::NotSet("numbers.warmth"),
        "warmth",
        &[
            "create Cheer",
            "delete Cheer",
            "update Cheer",
            "delete Club",
            "create Club",
        ],
    ),
    plain(
        "an amount is replaced whatever it is by then",
        "clubs",
        Spoil::Unconditional("CHEER#"),
        "warmth",
        &["create Cheer", "update Cheer", "delete Cheer"],
    ),
    plain(
        "an item comes back without a look at its numbers",
        "clubs",
        Spoil::Unconditional("KEPT#"),
        "warmth",
        &["create Cheer", "delete Cheer", "delete Club", "create Club"],
    ),
];

/// Those that histories with several servers on a simulated Amazon look for, too.
pub(crate) const ON_AMAZON: &[&str] = &[
    "a count is not decremented",
    "a copy is not refreshed",
    "a guard is taken without a look",
    "a value gets no guard",
    "a history is not written",
    "a trigger takes effect twice",
    "a key is not remembered",
    "a limit does not count",
    "a sum does not follow its parts",
    "what is deleted stays",
];
