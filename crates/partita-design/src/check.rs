//! From a file to a [`Design`], or to everything that is wrong with it.
//!
//! | folder | what it does |
//! |---|---|
//! | [`declare`] | names and places: reads which records, attributes, refs and keys there are |
//! | [`resolve`] | what names mean, in conditions and values |
//! | [`compile`] | each section to its compiled form, every name resolved |
//! | [`lint`] | looks at a finished design for what is legal and not good |
//! | [`extent`] | how large a design may be |
//! | [`accept`] | `[[accept]]`: warnings that the author knows of |
//!
//! Every step works on what the steps before it could read. What was broken there is known to be
//! broken here, so that one mistake has one diagnostic.

mod accept;
mod compile;
mod declare;
mod extent;
mod lint;
mod resolve;

use std::collections::BTreeMap;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::design::Design;
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{self, Damage, Lines, Section};
use crate::origin::Origin;
pub(crate) use declare::sections::SECTIONS;
use declare::sections::unknown_sections;
use declare::variables::Variables;

/// Reads, checks and compiles a design.
///
/// `variables` gives the values of variables such as `TABLE_NAME` in `{TABLE_NAME | stories}`.
/// All mistakes are reported at once; with an error there is no design. Warnings that an
/// `[[accept]]` of the file covers are left out.
pub fn check(
    source: &str,
    variables: &dyn Fn(&str) -> Option<String>,
) -> (Option<Design>, Vec<Diagnostic>) {
    check_as(source, variables, &Renames::new())
}

/// By the names of a record and of its attribute, another name that the attribute is stored under.
pub(crate) type Renames = BTreeMap<(String, String), String>;

/// A design that has no mistakes, with other names of attributes.
pub(crate) fn check_renamed(
    source: &str,
    variables: &dyn Fn(&str) -> Option<String>,
    renames: &Renames,
) -> Option<Design> {
    check_as(source, variables, renames).0
}

fn check_as(
    source: &str,
    variables: &dyn Fn(&str) -> Option<String>,
    renames: &Renames,
) -> (Option<Design>, Vec<Diagnostic>) {
    let report = Report::default();
    if !extent::is_readable(source, &report) {
        return (None, report.into_diagnostics());
    }
    let file = document::read(source, &report);
    if !extent::is_checkable(&file, &report) {
        return (None, report.into_diagnostics());
    }
    let not_toml = report.len();
    let lines = Lines::new(source);
    let origin = Origin {
        text: source.to_owned(),
        places: document::places(source, &file, &lines),
        ..Origin::default()
    };
    let variables = Variables::new(variables);
    let mut root = Section::new("", Span::new(0, 0), &file, &report);

    let (symbols, sections) = declare::declare(&mut root, lines, &variables, renames);
    let design = compile::compile(&mut root, sections, &symbols, &variables);
    unknown_sections(&mut root);
    // A mistake may be the reason for what a lint would report.
    if let Some(design) = design.as_ref().filter(|_| !report.has_errors()) {
        lint::lint(&symbols, design);
    }
    accept::check(root.entry("accept"), &report);

    forget_illusions(source, not_toml, &report);
    let design = design.filter(|_| !report.has_errors());
    let design = design.map(|design| Design {
        origin: variables.note(origin),
        ..design
    });
    (design, report.into_diagnostics())
}

/// All of some pieces, each of which is looked at; `None` if one is missing after a report.
fn all<T>(pieces: impl IntoIterator<Item = Option<T>>) -> Option<Vec<T>> {
    let pieces: Vec<Option<T>> = pieces.into_iter().collect();
    pieces.into_iter().collect()
}

/// Where lines are not TOML, only such mistakes count as are visible in a line of their own.
/// `not_toml` is how many findings there were before the lines were looked at.
fn forget_illusions(source: &str, not_toml: usize, report: &Report) {
    let mut damage = Damage::default();
    for finding in &report.findings()[..not_toml] {
        // Newer TOML is understood, only not allowed.
        if finding.diagnostic.code != Code::TomlVersion {
            damage.add(source, finding.diagnostic.span);
        }
    }
    if damage.is_empty() {
        return;
    }
    let mut index = 0;
    report.retain(|finding| {
        index += 1;
        let Diagnostic { code, span, .. } = &finding.diagnostic;
        index <= not_toml || (code.is_local() && !damage.covers(source, *span))
    });
}
