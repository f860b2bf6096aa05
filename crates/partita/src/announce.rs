//! What a server says when it has started: where everything is, and how to ask.

use std::io::Write as _;
use std::net::SocketAddr;

use partita_design::Design;
use partita_design::design::{Parameter, ParameterKind, Pattern, Read};
use partita_design::types::AttributeType;
use tracing::warn;

use crate::cli::ServeFlags;
use crate::invocation;

/// Everything that is announced.
pub(crate) struct Told<'a> {
    pub(crate) flags: &'a ServeFlags,
    pub(crate) address: SocketAddr,
    /// Where operators ask, if that is an address of its own.
    pub(crate) metrics: Option<SocketAddr>,
    /// The designs, each with what it was called on the command line.
    pub(crate) designs: &'a [(String, Design)],
    /// Whether DynamoDB's API is served; why not, otherwise.
    pub(crate) endpoint: Result<(), &'static str>,
}

/// Prints where everything is. It goes to standard output; a closed one does not stop the server.
pub(crate) fn say(told: &Told<'_>) {
    let mut out = std::io::stdout();
    let written = out.write_all(told.text().as_bytes());
    if let Err(error) = written.and_then(|()| out.flush()) {
        warn!(%error, "nobody can be told where the server is");
    }
}

impl Told<'_> {
    fn text(&self) -> String {
        let address = self.address;
        let mut lines = Vec::new();
        for (_, design) in self.designs {
            let name = &design.name;
            lines.push(format!("{name:<16} http://{address}/{name}"));
        }
        if !self.designs.is_empty() {
            lines.push(format!("{:<16} http://{address}/{{design}}/docs", "docs"));
        }
        lines.push(match self.endpoint {
            Ok(()) => format!("{:<16} http://{address}", "endpoint"),
            Err(reason) => format!("{:<16} {reason}", "endpoint"),
        });
        if let Some(metrics) = self.metrics {
            lines.push(format!("{:<16} http://{metrics}/metrics", "metrics"));
        }
        let example = self.designs.first();
        if let Some(example) = example.and_then(|(argument, design)| self.example(argument, design))
        {
            lines.push(format!("{:<16} {example}", "try"));
        }
        lines.push(format!(
            "{:<16} {}\n",
            "data",
            self.flags.place.place(self.flags)
        ));
        lines.join("\n")
    }

    /// A request that finds something or nothing, but is never refused: a list that needs no more
    /// than the caller's id, asked for with a token that is made when it is sent.
    fn example(&self, argument: &str, design: &Design) -> Option<String> {
        let patterns = design.patterns.iter().filter(|pattern| is_list(pattern));
        let pattern = patterns.min_by_key(|pattern| pattern.parameters.len())?;
        let parameters = pattern.parameters.iter().enumerate();
        let parameters = parameters.map(|(at, parameter)| {
            let before = if at == 0 { '?' } else { '&' };
            format!("{before}{}={EXAMPLE_USER}", parameter.name)
        });
        let parameters: String = parameters.collect();
        let Told { flags, address, .. } = self;
        let user = EXAMPLE_USER;
        let token = invocation::token(argument, user, None, &flags.secret, &flags.variables);
        let name = &design.name;
        let url = format!("http://{address}/{name}/query/{}{parameters}", pattern.name);
        Some(invocation::curl(Some(&token), &url))
    }
}

/// Who asks in the example.
const EXAMPLE_USER: &str = "ann";

/// Whether a pattern lists items, and any text will do for what it asks.
fn is_list(pattern: &Pattern) -> bool {
    let is_text = |parameter: &Parameter| {
        matches!(
            &parameter.kind,
            ParameterKind::Value(AttributeType::String(_))
        )
    };
    let is_page = !pattern.one && matches!(pattern.read, Read::Query { .. });
    is_page && pattern.parameters.len() <= 1 && pattern.parameters.iter().all(is_text)
}
