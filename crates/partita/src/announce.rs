//! What a server says when it has started: where everything is, and how to ask.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;

use partita_api::PublicUrl;
use partita_api::admin::Installation;
use partita_design::Design;
use partita_design::design::{Access, Parameter, ParameterKind, Pattern, Read};
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
    /// Where browsers reach the server.
    pub(crate) public_url: PublicUrl,
    /// A link that opens the console.
    pub(crate) console: Option<String>,
    /// Designs without an administrator, each with the secret that makes one.
    pub(crate) first_administrators: &'a [(String, String)],
}

/// Prints where everything is. It goes to standard output; a closed one does not stop the server.
pub(crate) fn say(told: &Told<'_>) {
    let mut out = std::io::stdout();
    let written = out.write_all(told.text().as_bytes());
    if let Err(error) = written.and_then(|()| out.flush()) {
        warn!(%error, "nobody can be told where the server is");
    }
}

/// A link that opens the console, for somebody who looks at a terminal. What is printed elsewhere may
/// be kept, as a log is: `partita console` prints a link when it is asked for.
pub(crate) fn console_link(installation: &Installation) -> Option<String> {
    let door = installation.console.as_ref()?;
    let is_seen = std::io::stdout().is_terminal();
    is_seen.then(|| door.link()).flatten().map(|link| link.url)
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
        if !self.designs.is_empty() {
            let (plain, url) = (format!("http://{address}/console"), self.console.as_ref());
            let link = url.map(|url| format!("{url} (for 15 minutes, once)"));
            lines.push(format!("{:<16} {}", "console", link.unwrap_or(plain)));
        }
        lines.push(match self.endpoint {
            Ok(()) => format!("{:<16} http://{address}", "endpoint"),
            Err(reason) => format!("{:<16} {reason}", "endpoint"),
        });
        if let Some(metrics) = self.metrics {
            lines.push(format!("{:<16} http://{metrics}/metrics", "metrics"));
        }
        for (design, secret) in self.first_administrators {
            let url = self.public_url.as_str();
            let link = format!("{url}/{design}/auth/administrator?token={secret}");
            lines.push(format!(
                "{:<16} {link} (for an hour, once)",
                "administrator"
            ));
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
    /// than the caller's id, asked for with a token that is made when it is sent. Where people have
    /// accounts there is nobody yet whom a token could be for, so the list is one for everybody.
    fn example(&self, argument: &str, design: &Design) -> Option<String> {
        let accounts = design.accounts.as_ref();
        let has_accounts = accounts.is_some_and(|one| one.sign_in.is_some());
        let patterns = design.patterns.iter().filter(|pattern| is_list(pattern));
        let patterns = patterns.filter(|pattern| !has_accounts || is_for_all(design, pattern));
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
        let token = (!has_accounts).then_some(token);
        let name = &design.name;
        let url = format!("http://{address}/{name}/query/{}{parameters}", pattern.name);
        Some(invocation::curl(token.as_deref(), &url))
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

/// Whether the rules may show what a pattern finds to somebody without a token.
fn is_for_all(design: &Design, pattern: &Pattern) -> bool {
    let mut records = pattern.returns.iter().map(|record| &design[*record]);
    records.all(|record| {
        let rules = &design.ruling(record).rules;
        let found = pattern.rule(record.id).into_iter();
        let mut all = found.chain([rules.get(Access::Read)]);
        !all.any(|rule| rule.needs_caller(design))
    })
}
