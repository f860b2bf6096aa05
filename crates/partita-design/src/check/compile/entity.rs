//! `[entity.X]`: everything that reads names.

use crate::check::compile::{Compiled, attribute, earlier, reference, rules, url};
use crate::check::declare::key::IndexKeys;
use crate::check::declare::sections::about;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::table;
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::design::{Record, RecordId, Repeat, TableId, Unique};
use crate::document::Section;

/// Compiles an entity whose attributes and keys are declared; `None` after a report.
pub(crate) fn compile(
    id: RecordId,
    mut section: Section<'_>,
    symbols: &Symbols,
    compiled: &Compiled<'_>,
) -> Option<Record> {
    let record = &symbols[id];
    let names = Names::of(symbols, record);
    let about = about(&mut section);
    let attributes = attribute::compile(record, symbols, compiled.assigned);
    let refs = reference::compile(record, &names, &record.refs, compiled.patterns);
    let require = section.text("require");
    let require = require.and_then(|text| condition::check(text, &names));
    let repeat = repeat(&mut section);
    let rules = rules::check(&mut section, record, symbols, compiled.actions);
    let was = earlier::was(&mut section, record, symbols);
    let fill = earlier::fill(&mut section, record, symbols);
    section.touch(&["refs", "allow", "attributes", "table", "open", "path"]);
    let excuse = symbols.table(record).excuse();
    section.finish_unless(excuse);
    Some(Record {
        id,
        name: record.name.clone(),
        about,
        path: url::of_entity(record, symbols),
        table: TableId::new(record.table),
        key: record.keys.compile()?,
        indexes: record.indexes.iter().map(IndexKeys::compile).collect(),
        discriminator: record
            .discriminator
            .as_ref()
            .map(|(value, _)| value.clone()),
        also_marked: None,
        identity: record.identity()?,
        attributes: attributes?,
        open: record.open,
        soft_delete: record.soft_delete.clone().optional()?,
        purge_after_days: record.purge_after_days,
        require: require.optional()?,
        repeat,
        refs: refs?,
        unique: guards(record)?,
        rules: rules?,
        was: was?,
        fill: fill?,
        view: None,
    })
}

/// The guards; `None` after a report.
fn guards(record: &DeclaredRecord) -> Option<Vec<Unique>> {
    let guards = record.unique.as_ref()?.iter();
    Some(guards.map(|guard| guard.unique.clone()).collect())
}

fn repeat(section: &mut Section<'_>) -> Repeat {
    let Some(text) = section.text("repeat").given() else {
        return Repeat::default();
    };
    let words = Repeat::WORDS.map(|(_, word)| word);
    let Some(word) = table::word(text, &words, "repeat") else {
        return Repeat::default();
    };
    let found = Repeat::WORDS.iter().find(|(_, known)| *known == word);
    found.map_or(Repeat::default(), |(repeat, _)| *repeat)
}
