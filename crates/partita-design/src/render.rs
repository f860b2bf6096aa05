//! Diagnostics as people read them: the line, a caret, the help.

use std::borrow::Cow;
use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use partita_core::expression::Span;
use partita_core::printable;

use crate::codes::Severity;
use crate::diagnostic::Diagnostic;

/// Whether the text is for a terminal with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    Off,
    /// With ANSI escapes.
    On,
}

/// The text of all diagnostics of a file, in their order, with an empty line between them.
pub fn render(
    source_name: &str,
    source: &str,
    diagnostics: &[Diagnostic],
    colours: Colours,
) -> String {
    let handler = handler(colours);
    let source = DesignFile {
        name: source_name,
        text: &printable::masked(source),
    };
    let mut text = String::new();
    for diagnostic in diagnostics {
        let shown = Shown {
            diagnostic,
            source: &source,
        };
        let mut one = String::new();
        // Writing to a string does not fail; if it ever did, the message alone is still useful.
        if handler.render_report(&mut one, &shown).is_err() {
            one = format!("{}: {}\n", diagnostic.code, diagnostic.message);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        for line in one.trim_start_matches('\n').lines() {
            text.push_str(&shortened(line, colours));
            text.push('\n');
        }
    }
    text
}

/// The line of a file that a span begins in, with a mark below it.
pub(crate) fn snippet(source_name: &str, source: &str, span: Span, colours: Colours) -> String {
    let text = printable::masked(source);
    let (before, after) = text.split_at_checked(span.start).unwrap_or((&text, ""));
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let end = span.start + after.find('\n').unwrap_or(after.len());
    let line = &text[begin..end];
    let indent = line.len() - line.trim_start().len();
    let source = DesignFile {
        name: source_name,
        text: &text,
    };
    let spot = Spot {
        span: Span::new(begin + indent, begin + line.trim_end().len()),
        source: &source,
    };
    let mut shown = String::new();
    // As above: a text can be written to.
    let _ = handler(colours)
        .with_context_lines(0)
        .render_report(&mut shown, &spot);
    // The message is empty, and so are the lines in front of the file.
    let lines = shown.lines().skip_while(|line| !line.contains('['));
    let lines = lines.map(|line| shortened(line, colours).into_owned() + "\n");
    lines.collect()
}

fn handler(colours: Colours) -> GraphicalReportHandler {
    let theme = match colours {
        Colours::Off => GraphicalTheme::unicode_nocolor(),
        Colours::On => GraphicalTheme::unicode(),
    };
    GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_wrap_lines(false)
}

/// A place of a file, as `miette` wants it.
#[derive(Debug)]
struct Spot<'d> {
    span: Span,
    source: &'d DesignFile<'d>,
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Spot<'_> {}

impl miette::Diagnostic for Spot<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(miette::Severity::Advice)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let here = LabeledSpan::new_primary_with_span(None, bytes(self.span));
        Some(Box::new(std::iter::once(here)))
    }
}

/// Characters of a line that is shown. A design may say in one line what others say in a file.
const LINE_MAX: usize = 1_000;

/// A line as far as it is shown.
fn shortened(line: &str, colours: Colours) -> Cow<'_, str> {
    let Some((end, _)) = line.char_indices().nth(LINE_MAX) else {
        return Cow::Borrowed(line);
    };
    // The colour ends with the line.
    let reset = match colours {
        Colours::Off => "",
        Colours::On => "\u{1b}[0m",
    };
    Cow::Owned(format!("{}…{reset}", &line[..end]))
}

/// The file that diagnostics are about.
#[derive(Debug)]
struct DesignFile<'d> {
    name: &'d str,
    text: &'d str,
}

impl SourceCode for DesignFile<'_> {
    /// The lines around a span. `miette` counts the lines of a text from the beginning of the file,
    /// and then takes places that are far apart for neighbours and shows everything in between.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.text.read_span(span, lines_before, lines_after)?;
        let lines = found.data().iter().filter(|byte| **byte == b'\n').count();
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.to_owned(),
            found.data(),
            *found.span(),
            found.line(),
            found.column(),
            lines,
        )))
    }
}

/// A diagnostic as `miette` wants it.
struct Shown<'d> {
    diagnostic: &'d Diagnostic,
    source: &'d DesignFile<'d>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable::lines(&self.diagnostic.message))
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_ref()?;
        Some(Box::new(printable::lines(help)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let here = LabeledSpan::new_primary_with_span(None, bytes(self.diagnostic.span));
        let related = self.diagnostic.related.iter().map(|related| {
            LabeledSpan::new_with_span(Some(related.message.clone()), bytes(related.span))
        });
        Some(Box::new(std::iter::once(here).chain(related)))
    }
}

fn bytes(span: Span) -> SourceSpan {
    (span.start, span.end.saturating_sub(span.start)).into()
}
