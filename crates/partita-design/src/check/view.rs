//! `[view.X]`: records that are kept for the items of an entity.

use partita_core::expression::{Condition, Path, Span};

use super::entity::{self, Scope};
use super::key::{self, Keys};
use super::{about, condition, table};
use crate::codes::Code;
use crate::design::{Access, Rule, View};
use crate::diagnostic::Report;
use crate::document::{Field, Name, Section, Text};
use crate::syntax::later;

/// A view, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) name: String,
    /// Its name in `[[accept]]`.
    pub(crate) place: String,
    about: Option<String>,
    of: Option<String>,
    when: Field<Condition>,
    pub(crate) keys: Keys,
    pub(crate) discriminator: Option<(String, Span)>,
    /// What it copies, by stored names.
    pub(crate) keep: Vec<String>,
    /// The attributes of its source; `None` when the source is unknown.
    pub(crate) scope: Option<Scope>,
}

impl Draft {
    pub(crate) fn compile(&self) -> Option<View> {
        Some(View {
            name: self.name.clone(),
            about: self.about.clone(),
            of: self.of.clone()?,
            when: match &self.when {
                Field::Absent => None,
                Field::Broken => return None,
                Field::Given(when) => Some(when.clone()),
            },
            key: self.keys.compile()?,
            discriminator: self.discriminator.as_ref().map(|(value, _)| value.clone()),
            keep: self.keep.clone(),
        })
    }
}

pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    table: &table::Draft,
    entities: &[entity::Draft<'_>],
    report: &mut Report,
) -> Draft {
    if let Some(entity) = entities.iter().find(|entity| entity.name == name.text) {
        report
            .add(
                Code::DuplicateName,
                name.span,
                format!("`{}` is an entity already", name.text),
            )
            .related(entity.span, "the entity");
    }
    let about = about(&mut section, report);
    let source = source(&mut section, entities, report);
    let scope = source.map(|source| own_scope(&section, source));
    let scope = scope.as_ref();
    let when = section.text("when", report);
    let when = when.and_then(|when| condition::check(when, scope, false, report));
    let keys = key::check(&mut section, table, scope, report);
    let keep = match section.texts("keep", false, report) {
        Field::Given(names) => scope.and_then(|scope| keep(&names, scope, report)),
        Field::Absent => Some(Vec::new()),
        Field::Broken => None,
    };
    if let Some(source) = source {
        check_parts(&keys, &when, source, report);
        check_identity(&keys, source, &section, report);
        if let Some(keep) = &keep {
            check_read_rule(&keys, keep, source, &section, report);
        }
    }
    let draft = Draft {
        name: name.text.clone(),
        place: section.place.clone(),
        about,
        of: source.map(|source| source.name.clone()),
        when: while_live(when, source),
        keys,
        discriminator: key::discriminator(&mut section, table, (&name.text, name.span), report),
        keep: keep.unwrap_or_default(),
        scope: scope.cloned(),
    };
    section.finish(later::VIEW, |key| table.excuse(key), report);
    draft
}

fn source<'e, 'd>(
    section: &mut Section<'_>,
    entities: &'e [entity::Draft<'d>],
    report: &mut Report,
) -> Option<&'e entity::Draft<'d>> {
    // A history has no `of`; `history-of` gets its own diagnostic at the end.
    if section.key_span("history-of").is_some() {
        return None;
    }
    let of = section.required_text("of", "\"Story\"", report).given()?;
    let found = entities.iter().find(|entity| entity.name == of.as_str());
    if found.is_none() {
        let message = format!("there is no entity `{}`", of.as_str());
        report.add(Code::UnknownRecord, of.span(), message).suggest(
            of.as_str(),
            entities.iter().map(|entity| entity.name.as_str()),
        );
    }
    found
}

/// The names of the source. A view with elements or attributes of its own has more of them.
fn own_scope(section: &Section<'_>, source: &entity::Draft<'_>) -> Scope {
    let has_more = |key: &&str| section.key_span(key).is_some();
    let mut scope = source.scope.clone();
    scope.is_broken |= ["each", "attributes"].iter().any(has_more);
    scope
}

fn keep(names: &[&Text], scope: &Scope, report: &mut Report) -> Option<Vec<String>> {
    let mut kept: Vec<String> = Vec::new();
    let mut is_good = true;
    for text in names {
        let name = text.as_str();
        let Some(attribute) = scope.resolve(name, text.span(), report) else {
            is_good = false;
            continue;
        };
        if attribute.key_only.is_some() {
            report
                .add(
                    Code::KeyOnlyKept,
                    text.span(),
                    format!("`{name}` is key-only: there is nothing to copy"),
                )
                .help(format!(
                    "leave it out; `{{{name}}}` in the key keeps the value"
                ))
                .related(attribute.span, "declared here");
        } else if kept.contains(&attribute.name) {
            let message = format!("`{name}` is kept twice");
            report.add(Code::DuplicateName, text.span(), message);
        } else {
            kept.push(attribute.name.clone());
        }
    }
    is_good.then_some(kept)
}

/// A view exists with all parts of its key or not at all; which of the two must be clear from
/// `when`.
fn check_parts(
    keys: &Keys,
    when: &Field<Condition>,
    source: &entity::Draft<'_>,
    report: &mut Report,
) {
    if matches!(when, Field::Broken) {
        return;
    }
    for (name, stored, span) in keys.holes() {
        let declared = source.scope.find(stored).filter(|one| one.optional);
        let Some(declared) = declared else { continue };
        let is_guarded = match when {
            Field::Given(when) => condition::implies_existence(when, stored),
            _ => false,
        };
        if !is_guarded {
            report
                .add(
                    Code::OptionalKeyPart,
                    *span,
                    format!("`{name}` may be missing, but it is part of the view's key"),
                )
                .help(format!("write `when = \"attribute_exists({name})\"`"))
                .related(declared.span, "declared here");
        }
    }
}

fn check_identity(
    keys: &Keys,
    source: &entity::Draft<'_>,
    section: &Section<'_>,
    report: &mut Report,
) {
    let (Some((_, sort)), Some(identity)) = (keys.both(), source.identity()) else {
        return;
    };
    let missing: Vec<_> = identity
        .iter()
        .filter(|part| keys.holes().all(|(_, stored, _)| *stored != part.attribute))
        .map(|part| part.name.as_str())
        .collect();
    if missing.is_empty() {
        return;
    }
    let lacking = crate::spelling::list(&missing);
    report
        .add(
            Code::IncompleteViewKey,
            sort.span,
            format!(
                "two items of `{}` would share one record of `{}`: its key lacks {lacking}",
                source.name, section.place
            ),
        )
        .help(format!(
            "end the sort key with `#{{{}}}`",
            missing.join("}#{")
        ));
}

/// Whoever lists a view sees its records only; the rule for reading must be decidable on them.
fn check_read_rule(
    keys: &Keys,
    keep: &[String],
    source: &entity::Draft<'_>,
    section: &Section<'_>,
    report: &mut Report,
) {
    let (Some(_), Some(identity)) = (keys.both(), source.identity()) else {
        return;
    };
    let rule = source.rules.as_ref().map(|rules| rules.get(Access::Read));
    let Some(Rule::When { condition, .. }) = rule else {
        return;
    };
    let mut missing: Vec<&str> = Vec::new();
    condition.visit_paths(&mut |path: &Path| {
        let name = path.root.as_str();
        let is_there = name == "caller"
            || keep.iter().any(|kept| kept == name)
            || keys.holes().any(|(_, stored, _)| stored == name)
            // That the key lacks a part of the identity is reported as such.
            || identity.iter().any(|part| part.attribute == name);
        if !is_there && !missing.contains(&name) {
            missing.push(name);
        }
    });
    for name in missing {
        report
            .add(
                Code::UnreadableView,
                section.span,
                format!(
                    "who may read `{}` depends on `{name}`, which `{}` does not have",
                    source.name, section.place
                ),
            )
            .help(format!("add \"{name}\" to `keep`"));
    }
}

/// Without a `when` that names the flag, a view vanishes while its source is soft-deleted.
fn while_live(when: Field<Condition>, source: Option<&entity::Draft<'_>>) -> Field<Condition> {
    let Some(Field::Given(flag)) = source.map(|source| &source.soft_delete) else {
        return when;
    };
    let live = Condition::equals(Path::attribute(flag), false);
    match when {
        Field::Absent => Field::Given(live),
        Field::Broken => Field::Broken,
        Field::Given(when) => {
            let mut is_named = false;
            when.visit_paths(&mut |path| is_named |= path.root == *flag);
            Field::Given(if is_named { when } else { when.and(live) })
        }
    }
}
