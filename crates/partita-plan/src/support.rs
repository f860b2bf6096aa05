//! Which parts of the language run.
//!
//! A design may use more of the language than this version carries out. It is refused as a whole
//! then, by name and line: nothing in a design is silently ignored.

use partita_design::Design;
use partita_design::design::Construct;

use crate::error::PlanError;

/// The parts of the language that are carried out, beside those that every design has.
const KNOWN: &[Construct] = &[];

/// Refuses a design that uses other parts of the language, naming the first of them.
pub(crate) fn check(design: &Design) -> Result<(), PlanError> {
    let unknown = design
        .uses
        .iter()
        .find(|used| !KNOWN.contains(&used.construct));
    match unknown {
        None => Ok(()),
        Some(used) => Err(PlanError::NotSupported {
            design: design.name.clone(),
            words: used.words.clone(),
            line: used.line,
        }),
    }
}
