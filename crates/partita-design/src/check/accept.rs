//! `[[accept]]`: warnings that the author knows of.

use partita_core::expression::Span;

use crate::codes::{Code, Severity};
use crate::diagnostic::{Finding, Report};
use crate::document::{Content, Name, Node, Section};

/// An accepted warning.
struct Accept {
    code: Code,
    at: Vec<String>,
    span: Span,
}

/// Removes the warnings that are accepted, and warns of those that do not occur.
pub(crate) fn check(entry: Option<&(Name, Node)>, report: &Report) {
    let Some((name, node)) = entry else { return };
    let Content::List(list) = &node.content else {
        if !matches!(node.content, Content::Broken) {
            let found = node.content.describe();
            let message = format!("`accept` takes `[[accept]]` sections, not {found}");
            name.report(Code::WrongType, message);
        }
        return;
    };
    let accepts: Vec<_> = list.iter().filter_map(read).collect();
    // What is wrong may be why a warning does not occur, so that this is judged last.
    let is_judged = !report.has_errors();
    for accept in accepts.iter().filter(|_| is_judged) {
        let unused = accept.unused(&report.findings());
        if !unused.is_empty() {
            let at = crate::spelling::list(&unused);
            let message = format!("there is no warning `{}` at {at}", accept.code);
            let help = if unused.len() == accept.at.len() {
                "leave this `[[accept]]` out"
            } else {
                "leave it out of `at`"
            };
            report
                .add(Code::UnusedAccept, accept.span, message)
                .help(help);
        }
    }
    report.retain(|finding| !accepts.iter().any(|accept| accept.covers(finding)));
}

impl Accept {
    /// Whether each side of the warning is named.
    fn covers(&self, finding: &Finding) -> bool {
        let names = |side: &Vec<String>| {
            let mut places = self.at.iter();
            places.any(|place| side.iter().any(|name| is_meant(place, name)))
        };
        finding.diagnostic.code == self.code
            && !finding.sides.is_empty()
            && finding.sides.iter().all(names)
    }

    /// The places that no warning has.
    fn unused<'a>(&'a self, findings: &[Finding]) -> Vec<&'a str> {
        let covered: Vec<_> = findings
            .iter()
            .filter(|finding| self.covers(finding))
            .collect();
        let is_used = |place: &&String| {
            let mut sides = covered.iter().flat_map(|finding| &finding.sides);
            sides.any(|side| side.iter().any(|name| is_meant(place, name)))
        };
        let unused = self.at.iter().filter(|place| !is_used(place));
        unused.map(String::as_str).collect()
    }
}

/// Whether a place of `[[accept]]`, which may end with `*`, means this one.
fn is_meant(place: &str, name: &str) -> bool {
    match place.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => place == name,
    }
}

fn read(node: &Node) -> Option<Accept> {
    let Content::Table(entries) = &node.content else {
        node.refuse("accept", "`[[accept]]` sections");
        return None;
    };
    let mut section = Section::new("accept", node.span, entries, &node.report);
    let warning = section.required_text("warning", "\"prefix-overlap\"");
    let code = warning.given().and_then(|warning| {
        let code = Code::find(warning.as_str());
        let code = code.filter(|code| code.severity() == Severity::Warning);
        if code.is_none() {
            let warnings = Code::ALL
                .iter()
                .filter(|code| code.severity() == Severity::Warning);
            let warnings = warnings.map(|code| code.as_str());
            warning.unknown(Code::UnknownWarning, "warning", warnings);
        }
        code
    });
    let at = section.texts("at", true);
    if at.is_absent() {
        section.missing("at", "\"entity.Story\"");
    }
    let because = section.required_text("because", "\"…\"");
    section.finish();
    because.given()?;
    Some(Accept {
        code: code?,
        at: at
            .given()?
            .iter()
            .map(|text| text.as_str().to_owned())
            .collect(),
        span: node.span,
    })
}
