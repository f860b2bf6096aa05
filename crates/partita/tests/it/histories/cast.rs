//! Who takes part in the histories of a design, and what a design needs beyond what it says.

use partita_core::Value;
use partita_design::Design;
use partita_design::design::CallerSource;
use partita_design::types::AttributeType;
use partita_plan::Caller;

use super::values::uuid;

/// The callers of a history.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    /// Everybody who calls for himself.
    pub(crate) people: Vec<Caller>,
    /// Those with a role or in a group. No history changes or removes them.
    pub(crate) staff: Vec<Caller>,
    /// What makes somebody staff where it is in an item: the attribute, and its value for each of
    /// them.
    pub(crate) ranks: Option<(String, Vec<Value>)>,
}

/// What the test must know of a design beyond its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    pub(crate) design: &'static str,
    /// Attributes of accounts that administrators could set, after which the accounts would not
    /// balance.
    pub(crate) hands_off: &'static [(&'static str, &'static str)],
    /// Actions that are always sent under a key, because the account follows what they were given.
    pub(crate) keyed: &'static [&'static str],
    /// Something to which many refer, so that what happens to it exceeds a transaction.
    pub(crate) crowds: &'static [(&'static str, &'static str)],
}

pub(crate) const NOTES: [Notes; 9] = [
    Notes {
        design: "stories",
        hands_off: &[],
        keyed: &[],
        crowds: &[],
    },
    Notes {
        design: "storyhub",
        hands_off: &[],
        keyed: &[],
        crowds: &[("Story", "ChapterNode")],
    },
    Notes {
        design: "mediahub",
        hands_off: &[
            ("User", "i2vCreditsSecondsPurchased"),
            ("User", "i2vCreditsSecondsFromPlan"),
        ],
        keyed: &["earn", "spend", "withdraw"],
        crowds: &[("Album", "Comment")],
    },
    Notes {
        design: "holdthatthought",
        hands_off: &[],
        keyed: &[],
        crowds: &[("ConversationMeta", "Message")],
    },
    Notes {
        design: "figureforge",
        hands_off: &[],
        keyed: &[],
        crowds: &[],
    },
    Notes {
        design: "helpdesk",
        hands_off: &[],
        keyed: &[],
        crowds: &[("Org", "Ticket")],
    },
    Notes {
        design: "clubs",
        hands_off: &[],
        keyed: &[],
        crowds: &[],
    },
    Notes {
        design: "rooms",
        hands_off: &[],
        keyed: &[],
        crowds: &[],
    },
    Notes {
        design: "drawn",
        hands_off: &[],
        keyed: &[],
        crowds: &[],
    },
];

const PEOPLE: [&str; 5] = ["ann", "bob", "cid", "dot", "eve"];

/// The notes on a design.
pub(crate) fn notes(design: &str) -> Notes {
    let found = NOTES.into_iter().find(|notes| notes.design == design);
    found.expect("every design has its notes")
}

impl Cast {
    pub(crate) fn of(design: &Design) -> Cast {
        let named = |number: usize, name: &str| Caller::user(caller_id(design, number, name));
        let people = PEOPLE.iter().enumerate();
        let people = people.map(|(number, name)| named(number, name));
        let (staff, ranks) = staff(design);
        Cast {
            people: people.collect(),
            staff,
            ranks,
        }
    }

    pub(crate) fn is_staff(&self, id: &str) -> bool {
        self.staff.iter().any(|one| one.id.as_deref() == Some(id))
    }
}

/// An id that the callers' entity accepts.
fn caller_id(design: &Design, number: usize, name: &str) -> String {
    let entity = design.callers.entity.map(|entity| &design[entity]);
    let part = entity.and_then(|entity| entity.attribute(&entity.identity[0].attribute));
    match part.map(|part| &part.kind) {
        Some(AttributeType::Uuid | AttributeType::Id) => uuid(0xca11_0000 + number as u64),
        _ => name.to_owned(),
    }
}

fn staff(design: &Design) -> (Vec<Caller>, Option<(String, Vec<Value>)>) {
    let callers = &design.callers;
    let entity = callers.entity.map(|entity| &design[entity]);
    let words = |attribute: &str| {
        let kind = entity.and_then(|entity| entity.attribute(attribute));
        let words = kind.and_then(|attribute| attribute.kind.words());
        words.unwrap_or_default()
    };
    let (roles, ranks): (Vec<String>, _) = match (&callers.role, &callers.groups) {
        (CallerSource::Attribute(role), _) => {
            let words = words(role);
            let ranks = words.iter().map(|word| Value::from(word.as_str()));
            let ranks = Some((role.clone(), ranks.collect()));
            (words, ranks)
        }
        (_, CallerSource::Attribute(groups)) => {
            let admin = Value::L(vec!["admin".into()]);
            (
                vec!["admin".to_owned()],
                Some((groups.clone(), vec![admin])),
            )
        }
        (CallerSource::Token, CallerSource::Token) => (callers.roles.clone(), None),
    };
    let staff = roles.into_iter().enumerate().map(|(number, role)| Caller {
        id: Some(caller_id(
            design,
            0x100 + number,
            &format!("{role}-{number}"),
        )),
        role: ranks.is_none().then_some(role),
        groups: Vec::new(),
    });
    (staff.collect(), ranks)
}
