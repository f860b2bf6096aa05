//! `[entity.X]`: attributes, keys, soft delete.

use partita_core::Value;
use partita_core::expression::Span;

use super::key::{self, Keys};
use super::table;
use super::{about, check_name, rules};
use crate::codes::Code;
use crate::design::{self, Attribute, Entity, IdentityPart, Ref, Rules, Source};
use crate::diagnostic::Report;
use crate::document::{Content, Field, Name, Node, Section};
use crate::syntax::{attribute, later};
use crate::types::AttributeType;

/// An entity, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Draft<'d> {
    pub(crate) name: String,
    /// Its name in `[[accept]]`.
    pub(crate) place: String,
    pub(crate) span: Span,
    about: Option<String>,
    pub(crate) scope: Scope,
    pub(crate) keys: Keys,
    pub(crate) discriminator: Option<(String, Span)>,
    open: bool,
    pub(crate) soft_delete: Field<String>,
    /// The section of its references, which needs all entities to be known.
    pub(crate) refs: &'d [(Name, Node)],
    pub(crate) rules: Option<Rules>,
}

/// The names that expressions over an entity may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) entity: String,
    pub(crate) attributes: Vec<Declared>,
    /// The names of its references.
    pub(crate) refs: Vec<String>,
    /// Whether not all attributes are known, so that any name may be one.
    pub(crate) is_broken: bool,
}

/// A declared attribute.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) alias: Option<(String, Span)>,
    /// `None` after a mistake in its line.
    pub(crate) kind: Option<AttributeType>,
    pub(crate) optional: bool,
    pub(crate) key_only: Option<Span>,
    pub(crate) source: Source,
}

impl Scope {
    /// The attribute of that name, or else of that alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Declared> {
        let named = self.attributes.iter().find(|one| one.name == name);
        named.or_else(|| {
            let has_alias =
                |one: &&Declared| one.alias.as_ref().is_some_and(|(alias, _)| alias == name);
            self.attributes.iter().find(has_alias)
        })
    }

    /// The type of an attribute.
    pub(crate) fn kind(&self, name: &str) -> Option<AttributeType> {
        self.find(name)?.kind.clone()
    }

    /// The attribute of that name or alias; a name that is none is reported.
    pub(crate) fn resolve(&self, name: &str, span: Span, report: &mut Report) -> Option<&Declared> {
        let found = self.find(name);
        if found.is_none() && !self.is_broken {
            let message = format!("`{}` has no attribute `{name}`", self.entity);
            report
                .add(Code::UnknownAttribute, span, message)
                .suggest(name, self.names());
        }
        found
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().flat_map(|one| {
            let alias = one.alias.as_ref().map(|(alias, _)| alias.as_str());
            std::iter::once(one.name.as_str()).chain(alias)
        })
    }
}

impl Draft<'_> {
    /// The parts of the identity; `None` when a key is broken.
    pub(crate) fn identity(&self) -> Option<Vec<IdentityPart>> {
        self.keys.both()?;
        let mut parts: Vec<IdentityPart> = Vec::new();
        for (name, stored, _) in self.keys.holes() {
            if parts.iter().all(|part| part.attribute != *stored) {
                parts.push(IdentityPart {
                    name: name.clone(),
                    attribute: stored.clone(),
                });
            }
        }
        Some(parts)
    }

    pub(crate) fn compile(&self, refs: Vec<Ref>) -> Option<Entity> {
        let attributes = self.scope.attributes.iter().map(|declared| {
            Some(Attribute {
                name: declared.name.clone(),
                alias: declared.alias.as_ref().map(|(alias, _)| alias.clone()),
                kind: declared.kind.clone()?,
                optional: declared.optional,
                key_only: declared.key_only.is_some(),
                source: declared.source.clone(),
            })
        });
        Some(design::Entity {
            name: self.name.clone(),
            about: self.about.clone(),
            key: self.keys.compile()?,
            discriminator: self.discriminator.as_ref().map(|(value, _)| value.clone()),
            identity: self.identity()?,
            attributes: attributes.collect::<Option<_>>()?,
            open: self.open,
            soft_delete: self.soft_delete.clone().given(),
            refs,
            rules: self.rules.clone()?,
        })
    }
}

pub(crate) fn check<'d>(
    name: &Name,
    mut section: Section<'d>,
    table: &table::Draft,
    report: &mut Report,
) -> Draft<'d> {
    let about = about(&mut section, report);
    let attributes = section.section("attributes", report);
    let refs = section.section("refs", report);
    let refs = refs.map_or(&[][..], |mut section| section.all());
    let scope = Scope {
        is_broken: table.elsewhere.has_every
            || (attributes.is_none() && section.key_span("attributes").is_some()),
        entity: name.text.clone(),
        attributes: attributes.map_or_else(Vec::new, |section| declare(section, table, report)),
        refs: refs.iter().map(|(name, _)| name.text.clone()).collect(),
    };
    unique_names(&scope, report);
    let keys = key::check(&mut section, table, Some(&scope), report);
    key::check_identity(&keys, &scope, report);
    lost_attributes(&keys, &scope, report);
    let soft_delete = soft_delete(&mut section, &scope, report);
    let allow = section.section("allow", report);
    let draft = Draft {
        name: name.text.clone(),
        place: section.place.clone(),
        span: name.span,
        about,
        discriminator: key::discriminator(&mut section, table, (&name.text, name.span), report),
        open: section.bool("open", report).given().unwrap_or(false),
        rules: rules::check(allow, &scope, &soft_delete, table, &section, report),
        soft_delete,
        scope,
        keys,
        refs,
    };
    section.finish(later::ENTITY, |key| table.excuse(key), report);
    draft
}

fn declare(mut section: Section<'_>, table: &table::Draft, report: &mut Report) -> Vec<Declared> {
    let entries = section.all().iter();
    entries
        .map(|(name, node)| {
            if table.reserved().any(|reserved| reserved == name.text) {
                let message = format!("`{}` belongs to the table", name.text);
                report
                    .add(Code::DuplicateName, name.span, message)
                    .help("give the attribute another name");
            } else {
                check_name(&name.text, name.span, report);
            }
            declared(name, node, report)
        })
        .collect()
}

fn declared(name: &Name, node: &Node, report: &mut Report) -> Declared {
    let line = match &node.content {
        Content::Text(text) => attribute::parse(text, report),
        Content::Table(_) => {
            report.not_supported(name.span, "an attribute inside an attribute");
            attribute::Line::default()
        }
        Content::List(_) => {
            report.not_supported(node.span, "an attribute with cases");
            attribute::Line::default()
        }
        other => {
            crate::document::section::report_type(report, node.span, &name.text, "a string", other);
            attribute::Line::default()
        }
    };
    Declared {
        name: name.text.clone(),
        span: name.span,
        source: line.source(),
        alias: line.alias,
        kind: line.kind,
        optional: line.optional,
        key_only: line.key_only,
    }
}

/// One name means one thing: an attribute, an alias or a reference.
fn unique_names(scope: &Scope, report: &mut Report) {
    for (index, one) in scope.attributes.iter().enumerate() {
        let Some((alias, span)) = &one.alias else {
            continue;
        };
        check_name(alias, *span, report);
        let named = scope.attributes.iter().find(|other| other.name == *alias);
        let earlier = scope.attributes[..index]
            .iter()
            .filter_map(|other| other.alias.as_ref())
            .find(|(other, _)| other == alias);
        let taken = named
            .map(|other| other.span)
            .or(earlier.map(|(_, span)| *span));
        if let Some(taken) = taken {
            report
                .add(
                    Code::DuplicateName,
                    *span,
                    format!("`{alias}` is the name of two attributes"),
                )
                .related(taken, "the other one");
        }
    }
}

/// A key-only attribute is stored in the primary key or nowhere.
fn lost_attributes(keys: &Keys, scope: &Scope, report: &mut Report) {
    if keys.both().is_none() {
        return;
    }
    for declared in &scope.attributes {
        let Some(span) = declared.key_only else {
            continue;
        };
        if keys.holes().all(|(_, stored, _)| *stored != declared.name) {
            report
                .add(
                    Code::LostAttribute,
                    span,
                    format!(
                        "`{}` stands in no key, so its value would be lost",
                        declared.name
                    ),
                )
                .help(format!(
                    "write `{{{}}}` into a key, or leave `key-only` out",
                    declared.name
                ));
        }
    }
}

fn soft_delete(section: &mut Section<'_>, scope: &Scope, report: &mut Report) -> Field<String> {
    let text = section.text("soft-delete", report);
    text.and_then(|text| {
        let name = text.as_str();
        if name.contains([' ', '=']) {
            report.not_supported(text.span(), "a soft delete by a condition");
            return None;
        }
        let flag = scope.resolve(name, text.span(), report)?;
        let kind = flag.kind.as_ref()?;
        let starts_clear = flag.source
            == Source::Given {
                default: Some(Value::Bool(false)),
            };
        if *kind == AttributeType::Bool && starts_clear && !flag.optional {
            return Some(flag.name.clone());
        }
        report
            .add(
                Code::SoftDeleteFlag,
                text.span(),
                format!("`{name}` cannot be the flag of a soft delete"),
            )
            .help(format!("write `{name} = \"bool default false\"`"))
            .related(flag.span, "declared here");
        None
    })
}
