//! The symbol table: everything that a design declares.
//!
//! Sections may come in any order, and expressions reach through refs into other entities. So
//! all declarations are read first, into this; then every expression is resolved against it.

use partita_core::expression::{Condition, Span};

use crate::check::Renames;
use crate::check::declare::key::{IndexKeys, Keys};
use crate::check::declare::reference::DeclaredRef;
use crate::check::declare::table;
use crate::check::declare::unique::DeclaredUnique;
use crate::codes::Code;
use crate::design::{
    ActionId, AttributeId, Callers, Constants, ConstantsId, Each, IdentityPart, IndexId, PatternId,
    RecordId, RefId, SoftDelete, TriggerId,
};
use crate::diagnostic::{Added, Report};
use crate::document::{Field, Lines, Name, Section};
use crate::expression::{Formula, Reading};
use crate::syntax::Word;
use crate::syntax::attribute::{Head, Line, LineValue, RawTiming};
use crate::syntax::path::WrittenPath;
use crate::syntax::value::Raw;
use crate::types::{AttributeType, Shape};

/// The declarations.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Where mistakes are reported.
    pub(crate) report: Report,
    pub(crate) lines: Lines,
    /// At least one, perhaps broken.
    pub(crate) tables: Vec<table::Draft>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) constants: Vec<Constants>,
    pub(crate) callers: Callers,
    /// Entities first, then views.
    pub(crate) records: Vec<DeclaredRecord>,
    pub(crate) actions: Vec<Word>,
    pub(crate) patterns: Vec<Word>,
    /// The paths of the patterns, in their order.
    pub(crate) paths: Vec<Option<WrittenPath>>,
    pub(crate) triggers: Vec<Word>,
    /// The names of the prefixes of buckets.
    pub(crate) prefixes: Vec<String>,
    /// Other names that attributes are stored under, where a design is compared with an earlier one.
    pub(crate) renames: Renames,
    /// Whether `[every]` has a mistake, so that any entity may have more attributes.
    pub(crate) is_broken: bool,
}

/// An entity or a view, as far as it could be read.
#[derive(Debug)]
pub(crate) struct DeclaredRecord {
    pub(crate) id: RecordId,
    pub(crate) name: String,
    /// Its name in messages and in `[[accept]]`, such as `entity.Story`.
    pub(crate) place: String,
    pub(crate) span: Span,
    /// Its table, as a position in the list of the symbols.
    pub(crate) table: usize,
    /// What an item of it has, key-only and virtual attributes too.
    pub(crate) attributes: Vec<DeclaredAttribute>,
    pub(crate) refs: Vec<DeclaredRef>,
    pub(crate) keys: Keys,
    pub(crate) indexes: Vec<IndexKeys>,
    /// The indexes in which it has a key with a mistake.
    pub(crate) broken_indexes: Vec<IndexId>,
    pub(crate) discriminator: Option<Word>,
    pub(crate) soft_delete: Field<SoftDelete>,
    pub(crate) purge_after_days: Option<u32>,
    /// The guards; `None` after a report.
    pub(crate) unique: Option<Vec<DeclaredUnique>>,
    pub(crate) view: Option<ViewOf>,
    /// Whether it keeps attributes that are not listed.
    pub(crate) open: bool,
    pub(crate) path: Option<WrittenPath>,
    pub(crate) report: Report,
    /// Whether not all attributes are known, so that any name may be one.
    pub(crate) is_broken: bool,
}

/// What makes a record a view.
#[derive(Debug, Default)]
pub(crate) struct ViewOf {
    /// The source; `None` after a report.
    pub(crate) source: Option<RecordId>,
    pub(crate) history: bool,
    pub(crate) element: Option<Element>,
    pub(crate) each: Field<Each>,
    /// What it copies, by stored names; `None` after a report.
    pub(crate) keep: Option<Vec<String>>,
    /// The values of the attributes that are computed from the source.
    pub(crate) derived: Vec<(String, Formula)>,
    /// It exists while this holds, as it is written; `None` if it always does.
    pub(crate) when: Option<Condition>,
}

/// What a view has one record for.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) kind: AttributeType,
    /// The attribute of the source whose element it is; empty behind a ref.
    pub(crate) list: String,
}

/// A declared attribute.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredAttribute {
    /// With dots, inside a map.
    pub(crate) name: String,
    /// As the file has it, where it is stored under another name.
    pub(crate) spelled: Option<String>,
    pub(crate) span: Span,
    /// `None` after a mistake in its line. Of derived attributes it follows from the line.
    pub(crate) kind: Option<AttributeType>,
    pub(crate) optional: bool,
    pub(crate) key_only: bool,
    /// Whether it is computed from other attributes and is not stored.
    pub(crate) is_virtual: bool,
    pub(crate) secret: bool,
    /// Whether it is declared here, and not taken from a view's source.
    pub(crate) is_own: bool,
    /// Whether a view's records have it though the view does not keep it.
    pub(crate) is_implied: bool,
    pub(crate) alias: Option<Word>,
    /// The line, where the attribute has one of its own.
    pub(crate) line: Line,
}

impl std::ops::IndexMut<RecordId> for Symbols {
    fn index_mut(&mut self, id: RecordId) -> &mut DeclaredRecord {
        &mut self.records[id.index()]
    }
}

macro_rules! tables {
    ($($id:ident $table:ident $row:ident)*) => {$(
        impl std::ops::Index<$id> for Symbols {
            type Output = $row;

            fn index(&self, id: $id) -> &$row {
                &self.$table[id.index()]
            }
        }
    )*};
}

tables! {
    RecordId records DeclaredRecord
    ConstantsId constants Constants
    PatternId patterns Word
    ActionId actions Word
    TriggerId triggers Word
}

fn position(words: &[Word], name: &str) -> Option<usize> {
    words.iter().position(|(known, _)| known == name)
}

impl Symbols {
    /// Reports a mistake.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, span, message)
    }

    /// Whether a mistake was reported so far.
    pub(crate) fn has_errors(&self) -> bool {
        self.report.has_errors()
    }

    pub(crate) fn table(&self, record: &DeclaredRecord) -> &table::Draft {
        // INVARIANT: a record's table is a position in this list.
        &self.tables[record.table]
    }

    /// The attribute that says which record an item of a table is.
    pub(crate) fn table_discriminator(&self, table: usize) -> Option<&str> {
        match &self.tables.get(table)?.discriminator {
            table::Discriminator::Named(name) => Some(name),
            _ => None,
        }
    }

    /// The record of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&DeclaredRecord> {
        self.records.iter().find(|record| record.name == name)
    }

    /// The pattern of that name.
    pub(crate) fn pattern(&self, name: &str) -> Option<PatternId> {
        position(&self.patterns, name).map(PatternId::new)
    }

    /// The pattern of that name; a name that is none is reported.
    pub(crate) fn known_pattern(&self, (name, span): &Word) -> Option<PatternId> {
        let found = self.pattern(name);
        if found.is_none() {
            let known = self.patterns.iter().map(|(name, _)| name.as_str());
            let report = &self.report;
            report.unknown(Code::UnknownPattern, *span, "pattern", name, known);
        }
        found
    }

    /// The trigger of that name.
    pub(crate) fn trigger(&self, name: &str) -> Option<TriggerId> {
        position(&self.triggers, name).map(TriggerId::new)
    }

    /// The action of that name.
    pub(crate) fn action(&self, name: &str) -> Option<ActionId> {
        position(&self.actions, name).map(ActionId::new)
    }

    pub(crate) fn entities(&self) -> impl Iterator<Item = &DeclaredRecord> {
        self.records.iter().filter(|record| record.view.is_none())
    }

    /// Stores the attributes of a record under their other names.
    pub(crate) fn rename(&self, record: &str, attributes: &mut [DeclaredAttribute]) {
        for declared in attributes {
            let place = (record.to_owned(), declared.name.clone());
            if let Some(other) = self.renames.get(&place) {
                declared.spelled = Some(std::mem::replace(&mut declared.name, other.clone()));
            }
        }
    }

    /// The record of that name; a name that is none is reported.
    pub(crate) fn resolve(&self, (name, span): &Word) -> Option<&DeclaredRecord> {
        let found = self.find(name);
        if found.is_none() {
            let known = self.records.iter().map(DeclaredRecord::title);
            let (code, what) = (Code::UnknownRecord, "entity or view");
            self.report.unknown(code, *span, what, name, known);
        }
        found
    }
}

impl DeclaredRecord {
    /// A record of which only its name is known.
    pub(crate) fn new(position: usize, name: &Name, section: &Section<'_>) -> DeclaredRecord {
        DeclaredRecord {
            id: RecordId::new(position),
            name: name.text.clone(),
            place: section.place.clone(),
            span: name.span,
            table: 0,
            attributes: Vec::new(),
            refs: Vec::new(),
            keys: Keys::default(),
            indexes: Vec::new(),
            broken_indexes: Vec::new(),
            discriminator: None,
            soft_delete: Field::Absent,
            purge_after_days: None,
            unique: None,
            view: None,
            open: false,
            path: None,
            report: name.report.clone(),
            is_broken: false,
        }
    }

    /// Reports a mistake in it.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, span, message)
    }

    /// The place of an attribute.
    pub(crate) fn span_of(&self, attribute: &str) -> Span {
        self.find(attribute).map_or(self.span, |one| one.span)
    }

    /// The attributes that its own section declares.
    pub(crate) fn own(&self) -> impl Iterator<Item = &DeclaredAttribute> {
        self.attributes.iter().filter(|one| one.is_own)
    }

    pub(crate) fn title(&self) -> &str {
        &self.name
    }

    /// The ref of that name.
    pub(crate) fn reference(&self, name: &str) -> Option<(RefId, &DeclaredRef)> {
        let mut refs = self.refs.iter().enumerate();
        let (at, found) = refs.find(|(_, one)| one.name.0 == name)?;
        Some((RefId::new(at), found))
    }

    /// The attribute of that name, or else of that alias.
    pub(crate) fn find(&self, name: &str) -> Option<&DeclaredAttribute> {
        let named = self.attributes.iter().find(|one| one.name == name);
        let named = named.or_else(|| {
            let has_alias = |one: &&DeclaredAttribute| {
                one.alias.as_ref().is_some_and(|(alias, _)| alias == name)
            };
            self.attributes.iter().find(has_alias)
        });
        named.or_else(|| {
            let is_spelled = |one: &&DeclaredAttribute| one.spelled.as_deref() == Some(name);
            self.attributes.iter().find(is_spelled)
        })
    }

    /// Whether some attribute is inside a map of this name.
    pub(crate) fn has_inside(&self, name: &str) -> bool {
        self.inside(name).next().is_some()
    }

    /// The attributes inside a map of this name.
    pub(crate) fn inside(&self, name: &str) -> impl Iterator<Item = &DeclaredAttribute> {
        self.attributes.iter().filter(move |one| {
            let spelled = one.spelled.as_deref();
            let mut names = std::iter::once(one.name.as_str()).chain(spelled);
            names.any(|one| {
                let rest = one.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with('.'))
            })
        })
    }

    /// The attribute of that name or alias; a name that is none is reported.
    pub(crate) fn resolve(&self, name: &str, span: Span) -> Option<&DeclaredAttribute> {
        let found = self.find(name);
        if found.is_none() && !self.is_broken {
            let message = format!("`{}` has no attribute `{name}`", self.title());
            self.report(Code::UnknownAttribute, span, message)
                .suggest(name, self.names());
        }
        found
    }

    /// The same of one that a design reads or writes somewhere, which is no password.
    pub(crate) fn resolve_used(&self, name: &str, span: Span) -> Option<&DeclaredAttribute> {
        let found = self.resolve(name, span)?;
        self.refuse_password(found, span)?;
        Some(found)
    }

    /// Reports a use of a password. The answer to any question about a hash helps to guess it, and
    /// whoever chooses one signs in with it.
    pub(crate) fn refuse_password(&self, used: &DeclaredAttribute, span: Span) -> Option<()> {
        if used.kind != Some(AttributeType::Password) {
            return Some(());
        }
        let message = format!("`{}` is a password, which only `/auth/` uses", used.name);
        self.report(Code::PasswordUse, span, message)
            .help("leave it out: nothing else reads or writes a password")
            .related(used.span, "declared here");
        None
    }

    /// The id that an attribute of an entity has when it is compiled.
    pub(crate) fn attribute_id(&self, attribute: &DeclaredAttribute) -> Option<AttributeId> {
        let mut attributes = self.attributes.iter();
        let at = attributes.position(|one| one.name == attribute.name);
        at.map(AttributeId::new)
    }

    /// The names of its attributes, aliases and refs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let attributes = self.attributes.iter().flat_map(|one| {
            let alias = one.alias.as_ref().map(|(alias, _)| alias.as_str());
            std::iter::once(one.name.as_str()).chain(alias)
        });
        attributes.chain(self.refs.iter().map(|one| one.name.0.as_str()))
    }

    /// The parts of the identity; `None` when a key is broken.
    pub(crate) fn identity(&self) -> Option<Vec<IdentityPart>> {
        self.keys.both()?;
        let mut parts: Vec<IdentityPart> = Vec::new();
        for hole in self.keys.holes() {
            let attribute = hole.attribute.clone()?;
            if parts.iter().all(|part| part.attribute != attribute) {
                parts.push(IdentityPart {
                    name: name_of(&hole.written).to_owned(),
                    attribute,
                });
            }
        }
        Some(parts)
    }

    /// Whether a view's record has the attribute for itself, and does not take it from its source.
    pub(crate) fn is_own(&self, attribute: &str) -> bool {
        let found = self.attributes.iter().find(|one| one.name == attribute);
        found.is_some_and(|one| one.is_own)
    }

    /// Whether a guard keeps two items from having the same values of these attributes.
    pub(crate) fn is_guarded(&self, has: impl Fn(&str) -> bool) -> bool {
        let mut guards = self.unique.iter().flatten();
        guards.any(|guard| {
            let attributes = &guard.unique.attributes;
            !attributes.is_empty() && attributes.iter().all(|name| has(name))
        })
    }

    /// The own attributes that something is read from: the one that is named, or the arguments of
    /// the ref that is followed.
    pub(crate) fn names_read(&self, reading: &Reading, symbols: &Symbols) -> Vec<String> {
        match reading.hops.first() {
            None => vec![reading.attribute.clone()],
            Some(hop) => {
                let found = self.reference(&hop.name);
                let arguments = found.map(|(_, one)| one.arguments(self, symbols));
                arguments.unwrap_or_default()
            }
        }
    }

    /// Whether the attribute is a part of the identity.
    pub(crate) fn is_identity(&self, attribute: &str) -> bool {
        let mut holes = self.keys.holes();
        holes.any(|hole| hole.attribute.as_deref() == Some(attribute))
    }
}

impl DeclaredAttribute {
    /// Whether every write of a caller changes it.
    pub(crate) fn changes_with_writes(&self) -> bool {
        matches!(
            self.line.value,
            Some((LineValue::Computed(_, RawTiming::Write), _))
        ) || self.kind == Some(AttributeType::Version)
    }

    /// Whether its value follows from others.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(
            self.line.value,
            Some((LineValue::Computed(..) | LineValue::CasesComputed(_), _))
        ) && !self.is_stamp()
            || matches!(
                self.line.head,
                Some(Head::Aggregate(_) | Head::Copy(_) | Head::Untyped)
            )
    }

    /// Whether it is only the time or the caller of some write, which an action may set anew.
    fn is_stamp(&self) -> bool {
        match &self.line.value {
            Some((LineValue::Computed(Raw::Path(path), RawTiming::Create), _)) => {
                matches!(path.names.as_slice(), [one] if one == "now")
            }
            _ => false,
        }
    }

    /// Whether the caller gives it, or leaves it to a default.
    pub(crate) fn is_given(&self) -> bool {
        let is_typed = matches!(self.line.head, Some(Head::Typed(_)));
        let has_value = match &self.line.value {
            None => false,
            Some((value, _)) => {
                !matches!(value, LineValue::Default(_) | LineValue::CasesDefault(_))
            }
        };
        let is_number = matches!(
            self.kind,
            Some(AttributeType::Counter | AttributeType::Version)
        );
        is_typed && !has_value && !is_number
    }

    /// Whether a new item has it without being given it.
    pub(crate) fn has_initial(&self) -> bool {
        let is_state = matches!(self.kind, Some(AttributeType::State(_)));
        self.optional
            || self.line.generated.is_some()
            || self.line.value.is_some()
            || !self.is_given()
            || is_state
    }

    /// Whether it reads as something while it is absent: as 0, or as its default.
    pub(crate) fn has_default(&self) -> bool {
        matches!(self.line.head, Some(Head::Aggregate(_)))
            || matches!(self.line.value, Some((LineValue::Default(_), _)))
            || self.kind == Some(AttributeType::Counter)
    }
}

/// The name in a placeholder such as `order:010`.
fn name_of(written: &str) -> &str {
    let end = written.find([':', '|']).unwrap_or(written.len());
    written[..end].trim_end()
}
