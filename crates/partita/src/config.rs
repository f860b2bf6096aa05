//! `partita.toml`: defaults for the command line of `serve`.
//!
//! A file's values become the defaults of the flags, so that a flag goes before the environment,
//! the environment before the file, and the file before what is built in. There is no second list
//! of settings: a key is the long name of a flag, and `designs` are the designs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use partita_design::spelling;
use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use crate::cli::Cli;
use crate::private;

/// The file that is read where none is named, if it is there.
const FILE_DEFAULT: &str = "partita.toml";

/// The command that has these settings.
const SERVE: &str = "serve";

/// Flags that say what to do and not how: they are in no file.
const NOT_IN_A_FILE: [&str; 4] = ["config", "print_config", "help", "version"];

/// What the command line asks for.
pub(crate) enum Asked {
    /// To carry out a command, with the settings of a file if there is one.
    Run(Box<Cli>, Option<PathBuf>),
    /// To print what is in force, as a file that says the same.
    Print(String),
}

/// Reads the command line of this process, with what its configuration file says.
pub(crate) fn parse() -> Result<Asked> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let Read {
        command,
        settings,
        file,
    } = command(&arguments)?;
    let matches = command.clone().get_matches_from(arguments);
    if let Some(serve) = matches.subcommand_matches(SERVE)
        && serve.get_flag("print_config")
    {
        return Ok(Asked::Print(print(&command, serve, &settings)));
    }
    let cli = Cli::from_arg_matches(&matches);
    let cli = cli.unwrap_or_else(|error| error.exit());
    Ok(Asked::Run(Box::new(cli), file))
}

/// The command line with the settings of a file.
struct Read {
    command: Command,
    settings: Vec<Setting>,
    /// None if there is no file.
    file: Option<PathBuf>,
}

/// The command line with the settings of the file, if there is one, as defaults; and these.
fn command(arguments: &[OsString]) -> Result<Read> {
    let mut command = Cli::command();
    let nothing = |command| Read {
        command,
        settings: Vec::new(),
        file: None,
    };
    let Some(file) = named_file(&command, arguments) else {
        return Ok(nothing(command));
    };
    let text = match file.read() {
        Ok(None) => return Ok(nothing(command)),
        Ok(Some(text)) => text,
        Err(error) => return Err(error.context(format!("cannot read {}", file.path.display()))),
    };
    let settings = read(&text, &command).with_context(|| file.path.display().to_string())?;
    for Setting { id, values } in &settings {
        let is_global = command
            .get_arguments()
            .any(|arg| arg.get_id() == id.as_str());
        let default = |arg: Arg| arg.default_values(values.clone());
        command = if is_global {
            command.mut_arg(id, default)
        } else {
            command.mut_subcommand(SERVE, |serve| serve.mut_arg(id, default))
        };
    }
    Ok(Read {
        command,
        settings,
        file: Some(file.path),
    })
}

/// A file to read, and whether somebody named it: then it must be there.
struct File {
    path: PathBuf,
    is_named: bool,
}

impl File {
    /// The text; none if nobody named the file and it is not there.
    fn read(&self) -> Result<Option<String>> {
        let mut opened = match fs::File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !self.is_named => return Ok(None),
            opened => opened?,
        };
        private::demand_trusted(&opened.metadata()?, self.is_named)?;
        let mut text = String::new();
        opened.read_to_string(&mut text)?;
        Ok(Some(text))
    }
}

/// The file that `serve --config` names; other commands read none.
fn named_file(command: &Command, arguments: &[OsString]) -> Option<File> {
    // Mistakes are reported by the second parse, which has the defaults of the file.
    let first = command.clone().ignore_errors(true);
    let matches = first.try_get_matches_from(arguments).ok()?;
    let serve = matches.subcommand_matches(SERVE)?;
    let named = serve.try_get_one::<PathBuf>("config").ok().flatten();
    Some(File {
        path: named.cloned().unwrap_or_else(|| FILE_DEFAULT.into()),
        is_named: named.is_some(),
    })
}

/// One key of a file.
struct Setting {
    /// Of the flag, as the command line knows it.
    id: String,
    values: Vec<String>,
}

/// The settings of a file. All mistakes are reported at once, each with its line.
fn read(text: &str, command: &Command) -> Result<Vec<Setting>> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        anyhow!("line {line}: {}", error.message())
    })?;
    let mut settings = Vec::new();
    let mut mistakes = Vec::new();
    for (key, value) in table.get_ref() {
        let line = line_of(key.span().start);
        let name = key.get_ref().as_ref();
        let Some((_, arg)) = settable(command).find(|(known, _)| *known == name) else {
            let names = settable(command).map(|(known, _)| known);
            let meant = spelling::nearest(name, names);
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
            let meant = meant.unwrap_or_default();
            mistakes.push(format!("line {line}: there is no setting `{name}`{meant}"));
            continue;
        };
        match values(value.get_ref()) {
            Some(values) => settings.push(Setting {
                id: arg.get_id().to_string(),
                values,
            }),
            None => mistakes.push(format!(
                "line {line}: `{name}` must be a text, a number, true or false, or a list of these"
            )),
        }
    }
    if mistakes.is_empty() {
        Ok(settings)
    } else {
        bail!("{}", mistakes.join("\n"))
    }
}

/// The flags that a file may set, each with its key.
fn settable(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let serve = command.find_subcommand(SERVE).into_iter();
    let args = serve.flat_map(Command::get_arguments);
    let args = args.chain(command.get_arguments());
    let args = args.filter(|arg| !NOT_IN_A_FILE.contains(&arg.get_id().as_str()));
    args.map(|arg| (arg.get_long().unwrap_or(arg.get_id().as_str()), arg))
}

/// The words of a value, as the command line has them.
fn values(value: &DeValue<'_>) -> Option<Vec<String>> {
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().replace('_', "")),
        DeValue::Float(number) => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    };
    match value {
        DeValue::Array(list) => list.iter().map(|value| one(value.get_ref())).collect(),
        value => Some(vec![one(value)?]),
    }
}

/// What is in force, as a file that says the same, and where each value comes from.
fn print(command: &Command, serve: &ArgMatches, file: &[Setting]) -> String {
    let mut text = String::new();
    for (key, arg) in settable(command) {
        let id = arg.get_id().as_str();
        let is_in_file = file.iter().any(|setting| setting.id == id);
        let source = match serve.value_source(id) {
            Some(ValueSource::CommandLine) => "the command line",
            Some(ValueSource::EnvVariable) => "the environment",
            Some(_) if is_in_file => "the file",
            Some(_) => "built in",
            None => "not set",
        };
        let words = serve.get_raw(id).into_iter().flatten();
        let words: Vec<String> = words.map(|word| literal(&word.to_string_lossy())).collect();
        // Writing to a text cannot fail.
        let _ = match (words.as_slice(), arg.get_action()) {
            ([], _) => writeln!(text, "# {key}: {source}"),
            (words, ArgAction::Append) => {
                writeln!(text, "{key} = [{}]  # {source}", words.join(", "))
            }
            ([word, ..], _) => writeln!(text, "{key} = {word}  # {source}"),
        };
    }
    text
}

/// A word as TOML has it: truths and numbers are no texts. A text of JSON is one of TOML.
fn literal(word: &str) -> String {
    if word == "true" || word == "false" || word.parse::<i64>().is_ok() {
        word.to_owned()
    } else {
        Json::from(word).to_string()
    }
}
