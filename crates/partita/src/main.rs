//! The binary: flags, wiring and exit codes.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli` | the command line |
//! | `config` | `partita.toml`, which the flags of `serve` take their defaults from |
//! | `source` | a design by its file or its shipped name |
//! | `private` | the modes of what is in the data directory |
//! | `secret` | rotating the installation's secret |
//! | `secret_file` | the installation's secrets: found, made, and read again |
//! | `draft` | files that take the place of others, as a whole |
//! | `endpoint` | DynamoDB's endpoint on the server's sockets |
//! | `governed` | which tables it may not write, and what to ask the API instead |
//! | `monitoring` | health, readiness and metrics |
//! | `announce` | what the server says when it has started |
//! | `files` | where the files of designs are, and who sweeps them |
//! | `provider` | where people sign in |
//! | `issuer` | whose tokens are taken beside our own |
//! | `serve` | the server: store, designs, listener, signals |
//! | `memory` | how much there is for the cache and for bodies |
//! | `open_files` | how many files may be open, and who gets them |
//! | `inspect` | `check`, `keys`, `describe`, `openapi`, `docs`, `access`, `client` and `new` |
//! | `token` | `token` |
//! | `console` | `console` |
//! | `grant` | `admin grant` |
//! | `door` | how a command reaches the data: in this process, over the socket, or at `--server` |
//! | `socket` | the socket in the data directory, for commands beside the server |
//! | `ask` | a question of `can` and `plan`, as the command line has it |
//! | `can`, `plan` | `can` and `plan` |
//! | `demo` | `demo` |
//! | `adopt` | `adopt` |
//! | `diff` | `diff` |
//! | `history` | `history` |
//! | `migrate` | `migrate`, and the work of migrations behind the server |
//! | `cost` | `cost` |
//! | `store` | the kinds of stores: their flags, and how each is opened |
//! | `invocation` | commands to be printed, with this binary and its flags |
//! | `lease` | the leases of a server on tables that it shares with others |
//! | `jobs` | `jobs`, and the work on them behind the server |
//! | `outbox` | `outbox`, and the deliveries behind the server |
//! | `verify` | `verify` and `repair` |
//! | `output` | standard output, also when nobody reads it any more |
//! | `operator` | commands for a whole data directory, asked of its server |
//! | `copy` | `copy`, and the copy that a server carries out |
//! | `export`, `import` | `export` and `import` |
//! | `backup` | `backup`, `restore` and `resume`, and the backup behind the server |

mod adopt;
mod announce;
mod ask;
mod backup;
mod can;
mod cli;
mod config;
mod console;
mod copy;
mod cost;
mod demo;
mod diff;
mod door;
mod draft;
mod endpoint;
mod export;
mod files;
mod governed;
mod grant;
mod history;
mod import;
mod inspect;
mod invocation;
mod issuer;
mod jobs;
mod lease;
mod memory;
mod migrate;
mod monitoring;
mod open_files;
mod operator;
mod outbox;
mod output;
mod plan;
mod private;
mod provider;
mod secret;
mod secret_file;
mod serve;
#[cfg(unix)]
mod socket;
mod source;
mod store;
mod token;
mod turn;
mod verify;
mod watch;

use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use cli::{AdminCommand, Cli, ClientCommand, Command, ExportCommand};
use output::print;
use partita_core::printable;

#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a command ends with that has failed and has no other code for it.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    let result = config::parse().and_then(|asked| match asked {
        config::Asked::Run(cli, file) => run(*cli, file.as_deref()),
        config::Asked::Print(text) => {
            print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
    });
    match result {
        Ok(code) => code,
        Err(error) => output::failed(&error, FAILURE),
    }
}

fn run(cli: Cli, settings: Option<&Path>) -> Result<ExitCode> {
    cli.start_log();
    if let Some(file) = settings {
        tracing::info!(file = %file.display(), "the settings of this file are in force");
    }
    match cli.command {
        Command::Serve(flags) => serve::run(*flags),
        Command::Check(flags) => inspect::check(&flags),
        Command::Keys(flags) => inspect::keys(&flags),
        Command::Describe(flags) => inspect::describe(&flags),
        Command::Cost(flags) => cost::run(&flags),
        Command::Openapi(flags) => inspect::openapi(&flags),
        Command::Docs(flags) => inspect::docs(&flags),
        Command::Access(flags) => inspect::access(&flags),
        Command::Client(ClientCommand::Typescript(flags)) => inspect::typescript(&flags),
        Command::New(flags) => inspect::new(&flags),
        Command::Token(flags) => wait(token::run(&flags)),
        Command::Secret(command) => wait(secret::run(&command)),
        Command::Console(flags) => wait(console::run(&flags)),
        Command::Admin(AdminCommand::Grant(flags)) => wait(grant::run(&flags)),
        Command::Can(flags) => wait(can::run(&flags)),
        Command::Plan(flags) => wait(plan::run(&flags)),
        Command::Demo(flags) => wait(demo::run(&flags)),
        Command::Adopt(flags) => wait(adopt::run(&flags)),
        Command::Diff(flags) => wait(diff::run(&flags)),
        Command::History(flags) => wait(history::run(&flags)),
        Command::Migrate(flags) => wait(migrate::run(&flags)),
        Command::Jobs(flags) => wait(jobs::run(&flags)),
        Command::Outbox(flags) => wait(outbox::run(&flags)),
        Command::Verify(flags) => wait(verify::verify(&flags)),
        Command::Repair(flags) => wait(verify::repair(&flags)),
        Command::Backup(flags) => wait(backup::run(&flags)),
        Command::Restore(flags) => wait(backup::restore::run(&flags)),
        Command::Resume(flags) => backup::restore::resume(&flags),
        Command::Copy(flags) => wait(copy::run(&flags)),
        Command::Export(ExportCommand::Items(flags)) => wait(export::items(&flags)),
        Command::Export(ExportCommand::Cloudformation(flags)) => export::cloudformation(&flags),
        Command::Import(flags) => wait(import::run(&flags)),
        #[cfg(feature = "bench")]
        Command::Bench(flags) => partita_bench::run(&flags),
        #[cfg(not(feature = "bench"))]
        Command::Bench { .. } => anyhow::bail!(
            "this build has no bench: build it with `cargo build --profile dist --features bench`"
        ),
    }
}

/// Runs a command that waits for a store or a server.
fn wait(command: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    // Behind a pointer, so that the runtime is compiled once and not for each command.
    let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(command);
    runtime.block_on(command)
}

/// A document as a command prints it, with characters that act on a terminal as escapes.
fn json_text(document: &serde_json::Value) -> String {
    printable::json(&format!("{document:#}\n")).into_owned()
}
