//! Which parts of the language run.
//!
//! A design may use more of the language than this version carries out. It is refused as a whole
//! then, by name and line: nothing in a design is silently ignored.

use partita_design::Design;
use partita_design::design::Construct;

use crate::error::PlanError;

/// The parts of the language that are carried out, beside those that every design has.
const KNOWN: &[Construct] = &[
    Construct::Index,
    Construct::NestedAttribute,
    Construct::State,
    Construct::Counter,
    Construct::Version,
    Construct::ComputedValue,
    Construct::ComputedDefault,
    Construct::GeneratedUuid,
    Construct::Aggregate,
    Construct::Copy,
    Construct::Fixed,
    Construct::Secret,
    Construct::FormattedPlaceholder,
    Construct::SoftDeleteValue,
    Construct::Repeat,
    Construct::PolymorphicRef,
    Construct::ConstantRef,
    Construct::OnDelete,
    Construct::Unchecked,
    Construct::RefPath,
    Construct::AttributeRule,
    Construct::Action,
    Construct::Trigger,
    Construct::IndexRead,
    Construct::SortRange,
    Construct::Filter,
    Construct::Follow,
    Construct::One,
    Construct::PatternParameter,
    Construct::DescendingSort,
    Construct::Unique,
    Construct::Expiry,
    Construct::Virtual,
    Construct::Require,
    Construct::Period,
    Construct::ViewEach,
    Construct::ViewRules,
    Construct::RefByPattern,
    Construct::ManyRef,
    Construct::IncludeHidden,
    Construct::ViewAttributes,
    Construct::History,
    Construct::Scan,
    Construct::ViewRef,
    Construct::Movable,
    Construct::CallerAttribute,
    Construct::Bucket,
    Construct::File,
    Construct::SeveralTables,
    Construct::Limit,
];

/// Refuses a design that uses other parts of the language, naming the first of them.
pub fn check(design: &Design) -> Result<(), PlanError> {
    let mut uses = design.uses.iter();
    let unknown = uses.find(|used| !KNOWN.contains(&used.construct));
    match unknown {
        None => Ok(()),
        Some(used) => Err(PlanError::NotSupported {
            design: design.name.clone(),
            words: used.words.clone(),
            line: used.line,
        }),
    }
}
