//! `[entity.X.refs]`: how another item is found from this one.

mod binding;

use partita_core::expression::Span;
use partita_core::wording::one;

use crate::check::all;
use crate::check::compile::finder::{self, Extent};
use crate::check::declare::reference::{DeclaredRef, DeclaredTarget};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{Accounts, AttributeId, OnDelete, Pattern, Ref, RefTarget, RefTo};
use crate::syntax::Word;
use crate::syntax::reference::{Line, RawOnDelete};
pub(crate) use binding::bind_readings;
use binding::{bind, bind_pattern, constant_argument};

/// Compiles the references of a record; `None` after a report.
pub(crate) fn compile(
    record: &DeclaredRecord,
    names: &Names<'_>,
    declared: &[DeclaredRef],
    patterns: &[Option<Pattern>],
) -> Option<Vec<Ref>> {
    let refs = declared.iter();
    all(refs.map(|reference| compile_one(record, names, reference, patterns)))
}

fn compile_one(
    record: &DeclaredRecord,
    names: &Names<'_>,
    declared: &DeclaredRef,
    patterns: &[Option<Pattern>],
) -> Option<Ref> {
    let (name, span) = &declared.name;
    if let Some(attribute) = record.find(name) {
        let message = format!("`{name}` is an attribute already");
        names
            .report(Code::DuplicateName, *span, message)
            .related(attribute.span, "the attribute");
    }
    let by = match &declared.by {
        Some(word) => Some(choice(word, declared, record)?),
        None => None,
    };
    let targets = declared.targets.iter();
    let targets =
        targets.map(|target| compile_target(record, names, (declared, target.as_ref()?), patterns));
    let targets = all(targets)?;
    let has =
        |flag: fn(&Line) -> Option<Span>| declared.known().find_map(|target| flag(&target.line));
    let live = has(|line| line.live);
    needless_live(live, declared, names.symbols);
    Some(Ref {
        name: name.clone(),
        by,
        targets,
        live: live.is_some(),
        active: has(|line| line.active).is_some(),
        unchecked: has(|line| line.unchecked).is_some(),
        optional: declared.is_optional(record, names.symbols),
    })
}

/// `live` excludes what is soft-deleted, so that the target must be something that can be.
fn needless_live(live: Option<Span>, declared: &DeclaredRef, symbols: &Symbols) {
    let Some(span) = live else { return };
    for target in declared.known() {
        let RefTo::Record(record) = target.to else {
            continue;
        };
        let target = &symbols[record];
        if target.soft_delete.is_absent() {
            let title = target.title();
            let message = format!("`live` has no effect, because `{title}` has no soft delete");
            symbols
                .report(Code::NeedlessKey, span, message)
                .help("leave `live` out");
        }
    }
}

/// `active` asks whether somebody can act, so that the target must be an entity of which
/// `[accounts]` says so.
pub(super) fn needless_active(accounts: Option<&Accounts>, symbols: &Symbols) {
    let told = accounts.filter(|accounts| accounts.active.is_some());
    let told = told.map(|accounts| RefTo::Record(accounts.entity));
    let refs = symbols.records.iter().flat_map(|record| &record.refs);
    for target in refs.flat_map(DeclaredRef::known) {
        if let Some(span) = target.line.active
            && told != Some(target.to)
        {
            let title = &target.line.target.0;
            let message =
                format!("`active` has no effect, because nothing says when `{title}` is active");
            symbols
                .report(Code::NeedlessKey, span, message)
                .help("leave `active` out, or write `active` in `[accounts]`");
        }
    }
}

/// The attribute whose words choose a target; the words and the targets must be the same.
fn choice((name, span): &Word, declared: &DeclaredRef, record: &DeclaredRecord) -> Option<String> {
    let attribute = record.resolve(name, *span)?;
    let kind = attribute.kind.as_ref()?;
    let Some(words) = kind.words() else {
        let message = format!("`{name}` is {}, and its values are not known", kind.noun());
        record
            .report(Code::RefVariants, *span, message)
            .help(format!("write `{name} = \"enum a | b\"`"))
            .related(attribute.span, "declared here");
        return None;
    };
    let given: Vec<&Word> = declared
        .known()
        .filter_map(|target| target.when.as_ref())
        .collect();
    let mut is_good = !declared.is_broken();
    for (word, span) in &given {
        if !words.contains(word) {
            let message = format!("`{name}` is never `{word}`");
            record
                .report(Code::RefVariants, *span, message)
                .suggest(word, words.iter().map(String::as_str));
            is_good = false;
        }
    }
    for word in words {
        if is_good && !given.iter().any(|(known, _)| *known == word) {
            let message = format!("nothing says where this leads when `{name}` is `{word}`");
            record
                .report(Code::RefVariants, declared.name.1, message)
                .help(format!("write `{word} = \"…\"` too"));
            is_good = false;
        }
    }
    is_good.then(|| attribute.name.clone())
}

fn compile_target(
    record: &DeclaredRecord,
    names: &Names<'_>,
    (declared, target): (&DeclaredRef, &DeclaredTarget),
    patterns: &[Option<Pattern>],
) -> Option<RefTarget> {
    let DeclaredTarget { when, to, line } = target;
    if line.broken {
        return None;
    }
    let symbols = names.symbols;
    let via = match &line.via {
        Some(via) => Some(symbols.known_pattern(via)?),
        None => None,
    };
    let arguments = match to {
        RefTo::Constants(_) => constant_argument(line, names)?,
        RefTo::Record(to) => {
            let to = &symbols[*to];
            match via {
                Some(via) => bind_pattern(line, via, to, names, patterns, declared.span)?,
                None => bind(line, &to.identity()?, to, names, declared.span)?,
            }
        }
    };
    let on_delete = on_delete(record, declared, target, symbols)?;
    let compiled = RefTarget {
        when: when.as_ref().map(|(word, _)| word.clone()),
        to: *to,
        arguments,
        via,
        on_delete,
        finder: None,
    };
    let finder = finder::find(
        record,
        declared.by.as_ref(),
        &compiled,
        symbols,
        Extent::All,
    );
    Some(RefTarget { finder, ..compiled })
}

fn on_delete(
    record: &DeclaredRecord,
    declared: &DeclaredRef,
    target: &DeclaredTarget,
    symbols: &Symbols,
) -> Option<OnDelete> {
    let Some((what, span)) = &target.line.on_delete else {
        return Some(OnDelete::Keep);
    };
    match what {
        RawOnDelete::Keep => Some(OnDelete::Keep),
        RawOnDelete::Cascade => Some(OnDelete::Cascade),
        RawOnDelete::Clear(names) => {
            let mut cleared = Vec::new();
            for (name, span) in names {
                let attribute = record.resolve_used(name, *span)?;
                if !attribute.optional {
                    let message = format!("`{name}` is required and cannot be cleared");
                    symbols
                        .report(Code::OnDeleteClear, *span, message)
                        .help("write `?` behind its type")
                        .related(attribute.span, "declared here");
                    return None;
                }
                cleared.push(record.attribute_id(attribute)?);
            }
            Some(OnDelete::Clear(cleared))
        }
        RawOnDelete::Refuse => {
            let RefTo::Record(to) = target.to else {
                return Some(OnDelete::Keep);
            };
            let to = &symbols[to];
            let count = counter(record, &declared.name.0, to);
            if count.is_none() {
                let (title, name) = (record.title(), &declared.name.0);
                let message = format!(
                    "nothing counts every `{title}` that refers to {}",
                    one(to.title())
                );
                symbols
                    .report(Code::RefuseWithoutCount, *span, message)
                    .help(format!(
                        "write an attribute of `{}`, such as `{title}Count = \"count of {title} by {name}\"`; a count with `where` leaves some out",
                        to.title()
                    ));
            }
            count.map(|count| OnDelete::Refuse { count })
        }
    }
}

/// The attribute of the target that counts all items of the ref.
fn counter(record: &DeclaredRecord, reference: &str, to: &DeclaredRecord) -> Option<AttributeId> {
    let mut attributes = to.attributes.iter();
    let found = attributes.find(|attribute| {
        let Some(crate::syntax::attribute::Head::Aggregate(raw)) = &attribute.line.head else {
            return false;
        };
        let leads: Vec<_> = record
            .refs
            .iter()
            .filter(|one| one.leads_to(to.id))
            .collect();
        let by = match &raw.by {
            Some((name, _)) => name == reference,
            None => leads.len() == 1,
        };
        raw.sum.is_none() && raw.only.is_none() && raw.of.0 == record.title() && by
    });
    to.attribute_id(found?)
}
