//! Mistakes and risks of a design, as data.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use partita_core::expression::Span;

use crate::codes::{Code, Severity};
use crate::spelling;

/// One mistake or risk, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The bytes of the file that are meant.
    pub span: Span,
    /// A lower-case sentence with the names in backticks.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Other places of the file that belong to it.
    pub related: Vec<Related>,
}

/// Another place that belongs to a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The bytes of the file.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// The diagnostics of one run, while they are collected. Clones add to the same run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    findings: Rc<RefCell<Vec<Finding>>>,
}

/// A diagnostic, and the names by which `[[accept]]` can mean it.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) diagnostic: Diagnostic,
    /// The sides of the finding; each is a list of places of which any may be named.
    pub(crate) sides: Vec<Vec<String>>,
}

/// A diagnostic that was added, to which more can be added.
pub(crate) struct Added<'r> {
    report: &'r Report,
    at: usize,
}

impl Report {
    /// Adds a diagnostic; what is returned adds more to it.
    pub(crate) fn add(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        let diagnostic = Diagnostic {
            code,
            severity: code.severity(),
            span,
            message: message.into(),
            help: None,
            related: Vec::new(),
        };
        let mut findings = self.findings.borrow_mut();
        findings.push(Finding {
            diagnostic,
            sides: Vec::new(),
        });
        Added {
            report: self,
            at: findings.len() - 1,
        }
    }

    /// Adds that a word is none of those that are known here.
    pub(crate) fn unknown<'n>(
        &self,
        code: Code,
        span: Span,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) {
        let message = format!("there is no {what} `{word}`");
        self.add(code, span, message).suggest(word, known);
    }

    /// How many diagnostics there are so far.
    pub(crate) fn len(&self) -> usize {
        self.findings.borrow().len()
    }

    /// Tries something, and forgets what that reports.
    pub(crate) fn silently<T>(&self, attempt: impl FnOnce() -> T) -> T {
        let before = self.len();
        let result = attempt();
        self.findings.borrow_mut().truncate(before);
        result
    }

    /// Whether the design cannot be used.
    pub(crate) fn has_errors(&self) -> bool {
        let is_error = |finding: &Finding| finding.diagnostic.severity == Severity::Error;
        self.findings().iter().any(is_error)
    }

    pub(crate) fn findings(&self) -> Ref<'_, Vec<Finding>> {
        self.findings.borrow()
    }

    /// Keeps what `keep` holds of.
    pub(crate) fn retain(&self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.borrow_mut().retain(keep);
    }

    /// The diagnostics in the order of the file.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let findings = self.findings.take().into_iter();
        let mut diagnostics: Vec<_> = findings.map(|finding| finding.diagnostic).collect();
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
        diagnostics
    }
}

impl Added<'_> {
    /// Says what to write instead.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        self.change(|finding| finding.diagnostic.help = Some(help.into()))
    }

    /// Suggests the most similar of the names that would have been right, or lists them.
    pub(crate) fn suggest<'n>(self, word: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<_> = names.into_iter().collect();
        if let Some(nearest) = spelling::nearest(word, names.iter().copied()) {
            return self.help(format!("did you mean `{nearest}`?"));
        }
        match names.as_slice() {
            [] => self,
            names => self.help(format!("known here: {}", spelling::list(names))),
        }
    }

    /// Points at another place.
    pub(crate) fn related(self, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        self.change(|finding| finding.diagnostic.related.push(Related { span, message }))
    }

    /// Names the sides by which `[[accept]]` can mean a warning, and adds them to the help.
    pub(crate) fn acceptable(self, sides: Vec<Vec<String>>) -> Self {
        let firsts: Vec<_> = sides.iter().filter_map(|side| side.first()).collect();
        let at = match firsts.as_slice() {
            [one] => format!("{one:?}"),
            many => format!("{many:?}"),
        };
        self.change(|finding| {
            let diagnostic = &mut finding.diagnostic;
            let accept = format!(
                "accept it: [[accept]] warning = {:?}, at = {at}, because = \"…\"",
                diagnostic.code.as_str()
            );
            diagnostic.help = Some(match diagnostic.help.take() {
                Some(help) => format!("{help}; or {accept}"),
                None => accept,
            });
            finding.sides = sides;
        })
    }

    fn change(self, change: impl FnOnce(&mut Finding)) -> Self {
        if let Some(finding) = self.report.findings.borrow_mut().get_mut(self.at) {
            change(finding);
        }
        self
    }
}
