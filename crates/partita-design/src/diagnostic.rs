//! Mistakes and risks of a design, as data.

use partita_core::expression::Span;

use crate::codes::{Code, Severity};
use crate::spelling;

/// One mistake or risk, and where it stands.
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
    /// What stands there.
    pub message: String,
}

/// The diagnostics of one run, while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
}

/// A diagnostic, and the names by which `[[accept]]` can mean it.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) diagnostic: Diagnostic,
    /// The sides of the finding; each is a list of places of which any may be named.
    pub(crate) sides: Vec<Vec<String>>,
}

impl Report {
    /// Adds a diagnostic; what is returned adds more to it.
    pub(crate) fn add(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Finding {
        let diagnostic = Diagnostic {
            code,
            severity: code.severity(),
            span,
            message: message.into(),
            help: None,
            related: Vec::new(),
        };
        self.findings.push(Finding {
            diagnostic,
            sides: Vec::new(),
        });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Whether the design cannot be used.
    pub(crate) fn has_errors(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.diagnostic.severity == Severity::Error)
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Keeps what `keep` holds of.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.findings.retain(keep);
    }

    /// The diagnostics in the order of the file.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics: Vec<_> = self
            .findings
            .into_iter()
            .map(|finding| finding.diagnostic)
            .collect();
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
        diagnostics
    }
}

impl Finding {
    /// Says what to write instead.
    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.diagnostic.help = Some(help.into());
        self
    }

    /// Suggests the most similar of the names that would have been right, or lists them.
    pub(crate) fn suggest<'n>(
        &mut self,
        word: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> &mut Self {
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
    pub(crate) fn related(&mut self, span: Span, message: impl Into<String>) -> &mut Self {
        self.diagnostic.related.push(Related {
            span,
            message: message.into(),
        });
        self
    }

    /// Names the sides by which `[[accept]]` can mean a warning, and tells the reader.
    pub(crate) fn acceptable(&mut self, sides: Vec<Vec<String>>) -> &mut Self {
        let firsts: Vec<_> = sides.iter().filter_map(|side| side.first()).collect();
        let at = match firsts.as_slice() {
            [one] => format!("{one:?}"),
            many => format!("{many:?}"),
        };
        let accept = format!(
            "accept it: [[accept]] warning = {:?}, at = {at}, because = \"…\"",
            self.diagnostic.code.as_str()
        );
        let help = match self.diagnostic.help.take() {
            Some(help) => format!("{help}; or {accept}"),
            None => accept,
        };
        self.sides = sides;
        self.help(help)
    }
}
