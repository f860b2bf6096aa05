//! `[[accept]]`: warnings that the author knows of.

use partita_core::expression::Span;

use crate::codes::{Code, Severity};
use crate::diagnostic::{Finding, Report};
use crate::document::section::{self, Excuse};
use crate::document::{Content, Name, Node, Section};

/// An accepted warning.
struct Accept {
    code: Code,
    at: Vec<String>,
    span: Span,
}

/// Removes the warnings that are accepted, and warns of those that do not occur.
pub(crate) fn check(entry: Option<&(Name, Node)>, report: &mut Report) {
    let Some((name, node)) = entry else { return };
    let Content::List(list) = &node.content else {
        section::report_type(
            report,
            name.span,
            "accept",
            "`[[accept]]` sections",
            &node.content,
        );
        return;
    };
    let accepts: Vec<_> = list.iter().filter_map(|node| read(node, report)).collect();
    // What is wrong may be why a warning does not occur, so that this is judged last.
    let is_judged = !report.has_errors();
    for accept in accepts.iter().filter(|_| is_judged) {
        let unused = accept.unused(report.findings());
        if !unused.is_empty() {
            let at = crate::spelling::list(&unused);
            report
                .add(
                    Code::UnusedAccept,
                    accept.span,
                    format!("there is no warning `{}` at {at}", accept.code),
                )
                .help(match unused.len() == accept.at.len() {
                    true => "leave this `[[accept]]` out",
                    false => "leave it out of `at`",
                });
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

fn read(node: &Node, report: &mut Report) -> Option<Accept> {
    let Content::Table(entries) = &node.content else {
        section::report_type(
            report,
            node.span,
            "accept",
            "`[[accept]]` sections",
            &node.content,
        );
        return None;
    };
    let mut section = Section::new("accept", node.span, entries);
    let warning = section.required_text("warning", "\"prefix-overlap\"", report);
    let code = warning.given().and_then(|warning| {
        let code = Code::find(warning.as_str());
        let code = code.filter(|code| code.severity() == Severity::Warning);
        if code.is_none() {
            let warnings = Code::ALL
                .iter()
                .filter(|code| code.severity() == Severity::Warning);
            report
                .add(
                    Code::UnknownWarning,
                    warning.span(),
                    format!("there is no warning `{}`", warning.as_str()),
                )
                .suggest(warning.as_str(), warnings.map(|code| code.as_str()));
        }
        code
    });
    let at = section.texts("at", true, report);
    if at.is_absent() {
        section.missing("at", "\"entity.Story\"", report);
    }
    let because = section.required_text("because", "\"…\"", report);
    section.finish(|_| Excuse::None, report);
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
