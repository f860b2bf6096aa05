//! `[entity.X.refs]`: which refs there are, and what they lead to.

use partita_core::expression::Span;

use crate::check::declare::sections::{check_name, spot};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::design::record::SOURCE;
use crate::design::{ConstantsId, RecordId, RefTo};
use crate::document::{Content, Name, Node, Section};
use crate::syntax::Word;
use crate::syntax::reference::{self, Line};

/// A reference, as far as it could be read.
#[derive(Debug)]
pub(crate) struct DeclaredRef {
    pub(crate) name: Word,
    /// The place of its line.
    pub(crate) span: Span,
    /// The attribute that chooses one of the targets.
    pub(crate) by: Option<Word>,
    /// Each is `None` after a report.
    pub(crate) targets: Vec<Option<DeclaredTarget>>,
}

/// One target of a reference.
#[derive(Debug)]
pub(crate) struct DeclaredTarget {
    /// The value of `by` that chooses it.
    pub(crate) when: Option<Word>,
    pub(crate) to: RefTo,
    pub(crate) line: Line,
}

/// Reads the lines of a section of refs, and finds their targets.
pub(crate) fn declare(section: Option<Section<'_>>, symbols: &Symbols) -> Vec<DeclaredRef> {
    let Some(mut section) = section else {
        return Vec::new();
    };
    let entries = section.all().iter();
    entries
        .map(|(name, node)| {
            check_name(&name.text, name.span, &name.report);
            one(name, node, symbols)
        })
        .collect()
}

fn one(name: &Name, node: &Node, symbols: &Symbols) -> DeclaredRef {
    let mut declared = DeclaredRef {
        name: (name.text.clone(), name.span),
        span: node.span,
        by: None,
        targets: Vec::new(),
    };
    match &node.content {
        Content::Text(text) => {
            let line = reference::parse(text);
            declared.targets.push(target(None, line, symbols));
        }
        Content::Table(entries) => {
            let mut section = Section::new(name.text.clone(), name.span, entries, &node.report);
            let by = section.required_text("by", "\"targetType\"");
            declared.by = by.given().map(spot);
            for (value, node) in section.all() {
                if value.text == "by" {
                    continue;
                }
                let when = Some((value.text.clone(), value.span));
                let line = node.text(&value.text).and_then(reference::parse);
                declared.targets.push(target(when, line, symbols));
            }
        }
        _ => {
            node.refuse(&name.text, "a string, or a table with `by`");
            declared.targets.push(None);
        }
    }
    declared
}

fn target(when: Option<Word>, line: Option<Line>, symbols: &Symbols) -> Option<DeclaredTarget> {
    let line = line?;
    let mut constants = symbols.constants.iter();
    let to = match constants.position(|one| one.name == line.target.0) {
        Some(table) => RefTo::Constants(ConstantsId::new(table)),
        None => RefTo::Record(symbols.resolve(&line.target)?.id),
    };
    Some(DeclaredTarget { when, to, line })
}

impl DeclaredRef {
    /// The ref of every view to the item that it is derived from.
    pub(crate) fn source(record: RecordId, span: Span) -> DeclaredRef {
        let line = Line {
            target: (String::new(), span),
            arguments: Vec::new(),
            via: None,
            on_delete: None,
            live: None,
            active: None,
            unchecked: None,
            broken: false,
        };
        DeclaredRef {
            name: (SOURCE.to_owned(), span),
            span,
            by: None,
            targets: vec![Some(DeclaredTarget {
                when: None,
                to: RefTo::Record(record),
                line,
            })],
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.targets.iter().any(Option::is_none)
    }

    /// The targets that could be read.
    pub(crate) fn known(&self) -> impl Iterator<Item = &DeclaredTarget> {
        self.targets.iter().flatten()
    }

    /// Whether one of its targets is that record.
    pub(crate) fn leads_to(&self, wanted: RecordId) -> bool {
        self.known()
            .any(|target| target.to == RefTo::Record(wanted))
    }

    /// The own attributes that it is made of.
    pub(crate) fn arguments(&self, record: &DeclaredRecord, symbols: &Symbols) -> Vec<String> {
        let mut names: Vec<String> = self.by.iter().map(|(by, _)| by.clone()).collect();
        for DeclaredTarget { to, line, .. } in self.known() {
            names.extend(line.arguments.iter().map(|one| one.path.names.join(".")));
            // The other parts are found by their names.
            if let RefTo::Record(record) = to {
                let identity = symbols[*record].identity().unwrap_or_default();
                let others = identity.into_iter().filter(|part| {
                    let is_given = |given: &str| given == part.name || given == part.attribute;
                    !line.arguments.iter().any(|one| is_given(&one.part.0))
                });
                names.extend(others.map(|part| part.name));
            }
        }
        let stored = names
            .iter()
            .filter_map(|name| Some(record.find(name)?.name.clone()));
        stored.collect()
    }

    /// Whether it may lead nowhere, because an argument of it may be missing.
    pub(crate) fn is_optional(&self, record: &DeclaredRecord, symbols: &Symbols) -> bool {
        let is_loose = |DeclaredTarget { to, line, .. }: &DeclaredTarget| {
            let is_constant = matches!(to, RefTo::Constants(_));
            is_constant || line.via.is_some() || line.unchecked.is_some()
        };
        self.known().any(is_loose) || !self.optional_arguments(record, symbols).is_empty()
    }

    /// The arguments that may be missing.
    pub(crate) fn optional_arguments(
        &self,
        record: &DeclaredRecord,
        symbols: &Symbols,
    ) -> Vec<String> {
        let mut names = self.arguments(record, symbols);
        names.retain(|name| {
            record
                .find(name)
                .is_some_and(|attribute| attribute.optional)
        });
        names
    }
}
