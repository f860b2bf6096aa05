//! A design by its file or its shipped name.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use partita_design::render::{Colours, render};
use partita_design::{Design, Diagnostic, Severity, check, shipped, spelling};
use tracing::warn;

use crate::cli::VariableFlags;

/// The text of a design, and what to call it in messages.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Whether it is the text that ships with this version, asked for by its name.
    is_shipped: bool,
}

impl Source {
    /// Reads a design: the shipped one of that name, or else a file. What a name means does not
    /// depend on what is in the working directory.
    pub(crate) fn find(design: &str) -> Result<Source> {
        let path = Path::new(design);
        if let Some(shipped) = shipped::find(design) {
            if path.is_file() {
                warn!(
                    "`{design}` is the shipped design; for the file of that name write `./{design}`"
                );
            }
            return Ok(Source {
                name: format!("{design}.toml"),
                text: shipped.source.to_owned(),
                is_shipped: true,
            });
        }
        if !path.is_file() {
            let names: Vec<_> = shipped::all().iter().map(|shipped| shipped.name).collect();
            let meant = spelling::nearest(design, names.iter().copied());
            let meant = meant.map(|name| format!("; did you mean `{name}`?"));
            bail!(
                "there is no file `{design}` and no shipped design of that name; shipped are: {}{}",
                names.join(", "),
                meant.unwrap_or_default()
            );
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the design {design}"))?;
        Ok(Source {
            name: design.to_owned(),
            text,
            is_shipped: false,
        })
    }

    /// Checks the design with variables from the command line and the environment.
    pub(crate) fn check(&self, variables: &VariableFlags) -> (Option<Design>, Vec<Diagnostic>) {
        let (mut design, diagnostics) = check(&self.text, &|name| {
            let set = variables.set.iter().find(|(set, _)| set == name);
            set.map(|(_, value)| value.clone())
                .or_else(|| std::env::var(name).ok())
        });
        if let Some(design) = &mut design {
            design.origin.is_shipped = self.is_shipped;
        }
        (design, diagnostics)
    }

    /// The compiled design; its diagnostics go to standard error.
    pub(crate) fn compile(&self, variables: &VariableFlags) -> Result<Design> {
        let (design, diagnostics) = self.check(variables);
        let shown: Vec<_> = match design {
            Some(_) => Vec::new(),
            None => diagnostics
                .into_iter()
                .filter(|diagnostic| diagnostic.severity == Severity::Error)
                .collect(),
        };
        self.show(&shown)?;
        let plural = if shown.len() == 1 { "" } else { "s" };
        design
            .with_context(|| format!("the design {} has {} error{plural}", self.name, shown.len()))
    }

    /// Prints diagnostics to standard error, in colour on a terminal.
    pub(crate) fn show(&self, diagnostics: &[Diagnostic]) -> Result<()> {
        let mut out = std::io::stderr();
        let colours = if out.is_terminal() {
            Colours::On
        } else {
            Colours::Off
        };
        let text = render(&self.name, &self.text, diagnostics, colours);
        Ok(out.write_all(text.as_bytes())?)
    }
}
