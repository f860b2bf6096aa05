//! `[entity.X.refs]`: which refs there are, and what they lead to.

use partita_core::expression::Span;

use crate::check::declare::sections::{check_name, spot};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::design::record::SOURCE;
use crate::design::{ConstantsId, RecordId};
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
    pub(crate) targets: Vec<DeclaredTarget>,
}

/// One target of a reference.
#[derive(Debug)]
pub(crate) enum DeclaredTarget {
    Record {
        /// The value of `by` that chooses it.
        when: Option<Word>,
        record: RecordId,
        line: Line,
    },
    Constants {
        when: Option<Word>,
        table: ConstantsId,
        line: Line,
    },
    /// Something with a mistake.
    Broken,
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
            declared.targets.push(DeclaredTarget::Broken);
        }
    }
    declared
}

fn target(when: Option<Word>, line: Option<Line>, symbols: &Symbols) -> DeclaredTarget {
    let Some(line) = line else {
        return DeclaredTarget::Broken;
    };
    let (name, _) = &line.target;
    let constants = &symbols.constants;
    if let Some(table) = constants
        .iter()
        .position(|constants| constants.name == *name)
    {
        return DeclaredTarget::Constants {
            when,
            table: ConstantsId::new(table),
            line,
        };
    }
    match symbols.resolve(&line.target) {
        Some(record) => DeclaredTarget::Record {
            when,
            record: record.id,
            line,
        },
        None => DeclaredTarget::Broken,
    }
}

impl DeclaredTarget {
    pub(crate) fn line(&self) -> Option<(&Option<Word>, &Line)> {
        match self {
            DeclaredTarget::Record { when, line, .. }
            | DeclaredTarget::Constants { when, line, .. } => Some((when, line)),
            DeclaredTarget::Broken => None,
        }
    }
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
            unchecked: None,
            broken: false,
        };
        DeclaredRef {
            name: (SOURCE.to_owned(), span),
            span,
            by: None,
            targets: vec![DeclaredTarget::Record {
                when: None,
                record,
                line,
            }],
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        let is_broken = |target: &DeclaredTarget| matches!(target, DeclaredTarget::Broken);
        self.targets.iter().any(is_broken)
    }

    /// Whether one of its targets is that record.
    pub(crate) fn leads_to(&self, wanted: RecordId) -> bool {
        let mut targets = self.targets.iter();
        targets.any(
            |target| matches!(target, DeclaredTarget::Record { record, .. } if *record == wanted),
        )
    }

    /// The own attributes that it is made of.
    pub(crate) fn arguments(&self, record: &DeclaredRecord, symbols: &Symbols) -> Vec<String> {
        let mut names: Vec<String> = self.by.iter().map(|(by, _)| by.clone()).collect();
        for target in &self.targets {
            let Some((_, line)) = target.line() else {
                continue;
            };
            names.extend(line.arguments.iter().map(|one| one.path.names.join(".")));
            // The other parts are found by their names.
            if let DeclaredTarget::Record { record, .. } = target {
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
        let is_loose = self
            .targets
            .iter()
            .filter_map(DeclaredTarget::line)
            .any(|(_, line)| line.via.is_some() || line.unchecked.is_some());
        let is_constant =
            |target: &DeclaredTarget| matches!(target, DeclaredTarget::Constants { .. });
        is_loose
            || self.targets.iter().any(is_constant)
            || !self.optional_arguments(record, symbols).is_empty()
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
