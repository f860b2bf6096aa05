//! A demo as text: one statement a line, blocks by their indentation.
//!
//! `docs/demos.md` describes the language.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context as _, Error, Result, bail, ensure};
use serde_json::Value as Json;

use super::expression::{Expression, Range, Template, Text, name, span};

/// The statements of a demo, in order.
pub(super) type Block = Vec<Statement>;

/// A statement, and the line that it begins in.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) line: usize,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// `at 60d ago`, `at now`: how long before the present it is.
    At {
        before_present: i64,
    },
    /// `pace 20m..6h`: how far apart writes are.
    Pace(Range),
    /// `list NAME: a, b`, or rows below it.
    List {
        name: String,
        rows: Vec<Template>,
    },
    Let {
        name: String,
        value: Expression,
    },
    For {
        name: String,
        of: Expression,
        block: Block,
    },
    Repeat {
        times: Range,
        block: Block,
    },
    Maybe {
        percent: u8,
        block: Block,
    },
    If {
        one: Expression,
        is: bool,
        other: Expression,
        block: Block,
    },
    Write {
        caller: Caller,
        write: Write,
        kept: Kept,
    },
    /// `past the rules PK | SK | {…}`: attributes of an item, set as nobody may.
    PastTheRules {
        key: [Text; 2],
        attributes: Template,
    },
    /// `past the rules creates Entity {…}`: an item that no caller could create.
    CreatePastTheRules {
        entity: String,
        attributes: Template,
    },
    /// `CALLER queries pattern name=value as NAME`: the rows have this name from here on.
    Find {
        query: Query,
        name: String,
    },
    /// `show CALLER queries pattern name=value`: asked when everything else is done.
    Show(Query),
}

/// A pattern, with its parameters.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) caller: Caller,
    pub(super) pattern: String,
    pub(super) parameters: Vec<(String, Text)>,
}

/// `nobody`, `ada`, `root/admin`.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) id: Option<Text>,
    pub(super) role: Option<String>,
}

/// What a caller does.
#[derive(Debug)]
pub(super) enum Write {
    Create {
        entity: String,
        with: Template,
    },
    Update {
        on: On,
        with: Template,
    },
    Delete {
        on: On,
    },
    Restore {
        on: On,
    },
    Purge {
        on: On,
    },
    Act {
        action: String,
        on: Option<On>,
        with: Template,
    },
}

/// An entity and the parts of an identity.
#[derive(Debug)]
pub(super) struct On {
    pub(super) entity: String,
    pub(super) identity: Vec<Text>,
}

/// What becomes of the answer.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// `as chapter`: it has this name from here on.
    pub(super) name: Option<String>,
    /// `into chapters`: it is added to this list.
    pub(super) list: Option<String>,
}

/// Bytes of a demo. The largest that ships has 20 KB.
const SCRIPT_BYTES_MAX: usize = 1_000_000;
/// Blocks inside one another.
const DEPTH_MAX: usize = 16;
/// How often one `repeat` repeats its block.
const REPEATS_MAX: i64 = 10_000;

/// Reads a demo; the error names the line.
pub(super) fn parse(text: &str) -> Result<Block> {
    ensure!(
        text.len() <= SCRIPT_BYTES_MAX,
        "a demo has at most {SCRIPT_BYTES_MAX} bytes"
    );
    let lines = lines(text);
    let mut lines = lines.as_slice();
    let block = block(&mut lines, 0, 0)?;
    match lines.first() {
        None => Ok(block),
        Some(line) => bail!("line {}: indented by nothing above it", line.number),
    }
}

/// Where a mistake is.
#[derive(Clone, Copy, Debug)]
struct AtLine(usize);

impl Display for AtLine {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "line {}", self.0)
    }
}

/// The error with its line, unless it has that of a line further in.
pub(super) fn at_line(error: Error, line: usize) -> Error {
    match error.downcast_ref::<AtLine>() {
        Some(_) => error,
        None => error.context(AtLine(line)),
    }
}

/// One statement, whose brackets are all closed.
struct Line {
    number: usize,
    indent: usize,
    text: String,
}

/// The lines that say something; one whose brackets are open goes on in the next.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut brackets = Brackets::default();
    for (index, raw) in text.lines().enumerate() {
        let text = raw.trim();
        if brackets.depth > 0
            && let Some(last) = lines.last_mut()
        {
            last.text.push(' ');
            last.text += text;
            brackets.read(text);
        } else if !text.is_empty() && !text.starts_with('#') {
            brackets = Brackets::default();
            brackets.read(text);
            lines.push(Line {
                number: index + 1,
                indent: raw.len() - raw.trim_start().len(),
                text: text.to_owned(),
            });
        }
    }
    lines
}

/// The brackets that are open behind what was read.
#[derive(Default)]
struct Brackets {
    depth: i32,
    is_quoted: bool,
    is_escaped: bool,
}

impl Brackets {
    fn read(&mut self, text: &str) {
        for one in text.chars() {
            match one {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' if self.is_quoted => self.is_escaped = true,
                '"' => self.is_quoted = !self.is_quoted,
                '{' | '[' if !self.is_quoted => self.depth += 1,
                '}' | ']' if !self.is_quoted => self.depth -= 1,
                _ => {}
            }
        }
    }
}

/// The statements that stand at least this far to the right.
fn block(lines: &mut &[Line], indent: usize, depth: usize) -> Result<Block> {
    // INVARIANT: recursion ends here, so that no script exhausts the stack.
    ensure!(depth <= DEPTH_MAX, "blocks nest at most {DEPTH_MAX} deep");
    let mut statements = Vec::new();
    while let Some((line, rest)) = lines.split_first() {
        if line.indent != indent {
            break;
        }
        *lines = rest;
        let what = statement(line, lines, depth).map_err(|error| at_line(error, line.number))?;
        let line = line.number;
        statements.push(Statement { line, what });
    }
    Ok(statements)
}

fn statement(line: &Line, lines: &mut &[Line], depth: usize) -> Result<What> {
    let (word, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
    let rest = rest.trim();
    let mut inner = || -> Result<Block> {
        let indent = lines.first().map_or(0, |next| next.indent);
        ensure!(indent > line.indent, "nothing is indented below it");
        block(lines, indent, depth + 1)
    };
    Ok(match word {
        "at" => What::At {
            before_present: match rest.strip_suffix(" ago") {
                Some(before) => span(before)?,
                None if rest == "now" => 0,
                None => bail!("write `at 60d ago` or `at now`"),
            },
        },
        "pace" => What::Pace(Range::parse_span(rest)?),
        "list" => return list(line, rest, lines),
        "let" => {
            let (name_, value) = rest.split_once(" = ").context("write `let NAME = VALUE`")?;
            What::Let {
                name: name(name_)?,
                value: Expression::parse(value)?,
            }
        }
        "for" => {
            let (name_, of) = rest
                .split_once(" in ")
                .context("write `for NAME in LIST`")?;
            What::For {
                name: name(name_)?,
                of: Expression::list(of)?,
                block: inner()?,
            }
        }
        "repeat" => What::Repeat {
            times: repeats(rest)?,
            block: inner()?,
        },
        "maybe" => {
            let percent = rest.strip_suffix('%').and_then(|it| it.parse().ok());
            What::Maybe {
                percent: percent.context("write `maybe 30%`")?,
                block: inner()?,
            }
        }
        "if" => {
            let (one, is, other) = match rest.split_once(" is not ") {
                Some((one, other)) => (one, false, other),
                None => {
                    let (one, other) = rest.split_once(" is ").context("write `if A is B`")?;
                    (one, true, other)
                }
            };
            What::If {
                one: Expression::parse(one)?,
                is,
                other: Expression::parse(other)?,
                block: inner()?,
            }
        }
        "past" => past_the_rules(rest)?,
        "show" => show(rest)?,
        caller => write(caller, rest)?,
    })
}

/// `3` or `2..5` times.
fn repeats(text: &str) -> Result<Range> {
    let times = Range::parse(text)?;
    ensure!(
        times.to <= REPEATS_MAX,
        "a block is repeated at most {REPEATS_MAX} times"
    );
    Ok(times)
}

/// `list NAME: a, b, c`, or a row a line below `list NAME`: JSON, or a text.
fn list(line: &Line, rest: &str, lines: &mut &[Line]) -> Result<What> {
    if let Some((name_, words)) = rest.split_once(':') {
        let words = words.split(',').map(|word| Text::parse(word.trim()));
        return Ok(What::List {
            name: name(name_)?,
            rows: words
                .map(|word| Ok(Template::Text(word?)))
                .collect::<Result<_>>()?,
        });
    }
    let mut rows = Vec::new();
    while let Some((row, after)) = lines.split_first() {
        if row.indent <= line.indent {
            break;
        }
        *lines = after;
        let is_json = row.text.starts_with(['{', '[']);
        let parsed = if is_json {
            Template::parse(&row.text)
        } else {
            Text::parse(&row.text).map(Template::Text)
        };
        rows.push(parsed.map_err(|error| at_line(error, row.number))?);
    }
    Ok(What::List {
        name: name(rest)?,
        rows,
    })
}

fn past_the_rules(rest: &str) -> Result<What> {
    if let Some(rest) = rest.strip_prefix("the rules creates ") {
        let (entity, attributes) = rest.split_once(' ').unwrap_or((rest, "{}"));
        return Ok(What::CreatePastTheRules {
            entity: entity.to_owned(),
            attributes: Template::parse(attributes)?,
        });
    }
    let parts = rest
        .strip_prefix("the rules ")
        .map(|rest| rest.splitn(3, " | "));
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let [partition, sort, attributes] = parts[..] else {
        bail!("write `past the rules PK | SK | {{…}}`, or `past the rules creates Entity {{…}}`");
    };
    Ok(What::PastTheRules {
        key: [Text::parse(partition)?, Text::parse(sort)?],
        attributes: Template::parse(attributes)?,
    })
}

fn show(rest: &str) -> Result<What> {
    match rest.split_once(" queries ") {
        Some((who, rest)) => Ok(What::Show(query(who, rest)?)),
        None => bail!("write `show CALLER queries PATTERN NAME=VALUE`"),
    }
}

fn find(who: &str, rest: &str) -> Result<What> {
    let (rest, given) = rest
        .rsplit_once(" as ")
        .context("write `… as NAME` behind it")?;
    Ok(What::Find {
        query: query(who, rest)?,
        name: name(given)?,
    })
}

fn query(who: &str, rest: &str) -> Result<Query> {
    let mut words = rest.split_whitespace();
    let pattern = words.next().context("name the pattern")?;
    let parameters = words.map(|word| {
        let (name, value) = word
            .split_once('=')
            .with_context(|| format!("write `{word}` as NAME=VALUE"))?;
        Ok((name.to_owned(), Text::parse(value)?))
    });
    Ok(Query {
        caller: caller(who)?,
        pattern: pattern.to_owned(),
        parameters: parameters.collect::<Result<_>>()?,
    })
}

fn caller(text: &str) -> Result<Caller> {
    let (id, role) = match text.split_once('/') {
        Some((id, role)) => (id, Some(role.to_owned())),
        None => (text, None),
    };
    let id = match id {
        "nobody" => None,
        id => Some(Text::parse(id)?),
    };
    Ok(Caller { id, role })
}

/// `CALLER creates Entity {…} as NAME into LIST`, and so on.
fn write(who: &str, rest: &str) -> Result<What> {
    let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    if verb == "queries" {
        return find(who, rest);
    }
    let (words, with, behind) = around_body(rest.trim())?;
    let mut words = words.split_whitespace();
    let write = match verb {
        "creates" => Write::Create {
            entity: words.next().context("name the entity")?.to_owned(),
            with,
        },
        "updates" => Write::Update {
            on: on(&mut words)?,
            with,
        },
        "deletes" => Write::Delete {
            on: on(&mut words)?,
        },
        "restores" => Write::Restore {
            on: on(&mut words)?,
        },
        "purges" => Write::Purge {
            on: on(&mut words)?,
        },
        "does" => {
            let action = words.next().context("name the action")?.to_owned();
            let on = match words.next() {
                None => None,
                Some("to") => Some(on(&mut words)?),
                Some(other) => bail!("`{other}` is one word too many"),
            };
            Write::Act { action, on, with }
        }
        _ => bail!("`{who} {verb}` begins no statement"),
    };
    if let Some(word) = words.next() {
        bail!("`{word}` is one word too many");
    }
    Ok(What::Write {
        caller: caller(who)?,
        write,
        kept: kept(behind)?,
    })
}

/// `Story ann/1`
fn on<'t>(words: &mut impl Iterator<Item = &'t str>) -> Result<On> {
    let (Some(entity), Some(path)) = (words.next(), words.next()) else {
        bail!("name the entity and its key, as in `Story ann/1`");
    };
    Ok(On {
        entity: entity.to_owned(),
        identity: path.split('/').map(Text::parse).collect::<Result<_>>()?,
    })
}

/// The words before a JSON object, the object, and the words behind it.
fn around_body(text: &str) -> Result<(&str, Template, &str)> {
    let Some(begin) = text.find('{') else {
        return Ok((text, Template::Object(Vec::new()), ""));
    };
    let (words, body) = text.split_at(begin);
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Json>();
    let value = values.next().context("there is no object")?;
    let value = value.context("the attributes are no JSON")?;
    let behind = &body[values.byte_offset()..];
    Ok((words, Template::of(value)?, behind))
}

fn kept(text: &str) -> Result<Kept> {
    let mut kept = Kept::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let place = match word {
            "as" => &mut kept.name,
            "into" => &mut kept.list,
            other => bail!("`{other}` is one word too many"),
        };
        let given = words.next().with_context(|| format!("`{word}` what?"))?;
        *place = Some(name(given)?);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_indented_and_open_brackets_go_on() {
        let text = "
# People
list people
  ada
  {\"id\": \"bob\"}
for person in people
  $person creates User {\"userId\": \"$person\",
    \"bio\": \"likes {\"} as user into users
  maybe 30%
    ada deletes User $person/x
show nobody queries users name=$person
";
        let block = parse(text).unwrap();
        assert_eq!(block.len(), 3);
        assert!(matches!(&block[0].what, What::List { rows, .. } if rows.len() == 2));
        let What::For { block: inner, .. } = &block[1].what else {
            panic!("{:?}", block[1]);
        };
        assert_eq!(inner[0].line, 7);
        let What::Write { kept, .. } = &inner[0].what else {
            panic!("{:?}", inner[0]);
        };
        assert_eq!(kept.name.as_deref(), Some("user"));
        assert_eq!(kept.list.as_deref(), Some("users"));
        assert!(matches!(&inner[1].what, What::Maybe { percent: 30, block } if block.len() == 1));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!(format!("{error:#}"), expected, "{text}");
        };
        check("\nat noon", "line 2: write `at 60d ago` or `at now`");
        check("for a in b\nc d", "line 1: nothing is indented below it");
        check("ada jumps", "line 1: `ada jumps` begins no statement");
        check(
            "ada deletes Story",
            "line 1: name the entity and its key, as in `Story ann/1`",
        );
        check(
            "ada creates Story {} too",
            "line 1: `too` is one word too many",
        );
        check("at now\n    at now", "line 2: indented by nothing above it");
        check("for a in b\n  maybe 3", "line 2: write `maybe 30%`");
    }

    #[test]
    fn a_script_is_bounded() {
        let check = |text: &str, expected: &str| {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.ends_with(expected), "{error}");
        };
        let nested = (0..17).map(|depth| format!("{}repeat 1..1\n", " ".repeat(depth)));
        let nested = nested.collect::<String>() + &" ".repeat(17) + "at now";
        check(&nested, "blocks nest at most 16 deep");
        let often = "repeat 4000000000\n  at now";
        check(often, "a block is repeated at most 10000 times");
        let deep = format!("let a = {}people", "any ".repeat(40));
        check(&deep, "a value nests at most 16 deep");
        check(&"#".repeat(1_000_001), "a demo has at most 1000000 bytes");
        // Lines that go on are read once each.
        let long = format!("let a = [{}0]", "0,\n".repeat(100_000));
        assert_eq!(parse(&long).unwrap().len(), 1);
    }
}
