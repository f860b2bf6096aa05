//! The shipped designs against the pages that they come from.
//!
//! `tests/spec/<design>.txt` holds what a page lists, in the page's order, one row each:
//!
//! ```text
//! entity    | line of the page | name
//! key       | line | attribute | template, or the value that tells the entity apart
//! attribute | line | name, `?` if optional | type
//! member    | line | attribute.name of a member of its elements | type
//! pattern   | line | number | name in the design | key condition | one, descending, limit N
//! resolved  | line | number | the pattern to use besides or instead, written the same way
//! ```
//!
//! Every row has its line in the design, in the same order, and says the same. Where it does not,
//! `tests/spec/decided.txt` says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const DESIGNS: [&str; 5] = [
    "stories",
    "storyhub",
    "mediahub",
    "holdthatthought",
    "figureforge",
];

#[test]
fn every_row_of_every_page_has_its_line() {
    let decided = Decided::read();
    let mut found = BTreeMap::new();
    let mut wrong = Vec::new();
    for name in DESIGNS {
        let mut page = Comparison::new(name, &decided);
        for row in rows(&format!("{name}.txt")) {
            *found.entry(row.kind.clone()).or_insert(0) += 1;
            page.compare(&row);
        }
        wrong.extend(page.wrong);
    }
    wrong.extend(decided.unused());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(found["entity"], 46);
    assert_eq!(found["attribute"], 426);
}

#[test]
fn all_105_patterns_are_there() {
    let numbers: BTreeSet<_> = DESIGNS
        .iter()
        .flat_map(|name| rows(&format!("{name}.txt")))
        .filter(|row| row.kind == "pattern")
        .map(|row| row.cells[0].clone())
        .collect();
    assert_eq!(numbers.len(), 105);
}

#[test]
fn every_entity_has_rules() {
    for name in DESIGNS {
        let design = Lines::read(name);
        for row in rows(&format!("{name}.txt")) {
            let entity = format!("entity.{}", row.cells[0]);
            if row.kind == "entity" && design.header(&entity).is_some() {
                let rules = design.section(&format!("{entity}.allow"));
                assert!(!rules.is_empty(), "{name}: {entity} has no rules");
            }
        }
    }
}

/// `tests/spec/behaviours.txt` says where a design says what its page says in prose.
#[test]
fn every_behaviour_has_its_place() {
    let mut numbers = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in rows("behaviours.txt") {
        let design = Lines::read(&row.line);
        let [places, what] = row.cells.as_slice() else {
            panic!("{:?} cannot be read", row.all);
        };
        assert!(!what.is_empty(), "{}", row.kind);
        assert!(numbers.insert(row.kind.clone()), "{} comes twice", row.kind);
        for place in places.split(' ').filter(|place| *place != "-") {
            if !design.has(place) {
                wrong.push(format!("{}: {} has no {place}", row.kind, row.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(numbers.len(), 13 + 23 + 47 + 18 + 16);
}

/// Compares one page with its design.
struct Comparison<'d> {
    name: &'static str,
    design: Lines,
    decided: &'d Decided,
    entity: String,
    /// The place of the last row, by what is in order with it.
    last: BTreeMap<String, Place>,
    wrong: Vec<String>,
}

/// Line and column.
type Place = (usize, usize);

impl<'d> Comparison<'d> {
    fn new(name: &'static str, decided: &'d Decided) -> Self {
        Comparison {
            name,
            design: Lines::read(name),
            decided,
            entity: String::new(),
            last: BTreeMap::new(),
            wrong: Vec::new(),
        }
    }

    fn compare(&mut self, row: &Row) {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        let result = match (row.kind.as_str(), cells.as_slice()) {
            ("entity", [name]) => self.entity(name),
            ("key", [name, template]) => self.key(name, template),
            ("attribute", ["*?", "any"]) => self.open(),
            ("attribute", [name, kind]) => self.attribute(name, kind),
            ("member", [name, kind]) => self.member(name, kind),
            ("pattern" | "resolved", [_, name, condition]) => self.pattern(name, condition, ""),
            ("pattern" | "resolved", [_, name, condition, words]) => {
                self.pattern(name, condition, words)
            }
            _ => Err("the row cannot be read".to_owned()),
        };
        if let Err(problem) = result {
            let Self { name, entity, .. } = self;
            let what = format!("{} {}", row.kind, row.cells.join(" | "));
            self.wrong.push(format!(
                "{name}, line {} of the page, {entity}: {what}: {problem}",
                row.line
            ));
        }
    }

    fn entity(&mut self, name: &str) -> Result<(), String> {
        self.entity = name.to_owned();
        let (_, line) = self.record()?;
        self.in_order("entities", (line, 0))
    }

    /// `entity.Name` or `view.Name`, and where it begins.
    fn record(&self) -> Result<(String, usize), String> {
        ["entity", "view"]
            .iter()
            .map(|kind| format!("{kind}.{}", self.entity))
            .find_map(|record| Some((record.clone(), self.design.header(&record)?)))
            .ok_or_else(|| "neither entity nor view".to_owned())
    }

    fn key(&mut self, name: &str, template: &str) -> Result<(), String> {
        let (record, _) = self.record()?;
        let line = self.design.entry(&record, name).ok_or("no such key")?;
        let (place, value) = ((line.number, 0), line.value.clone());
        let expected = self.decided.instead_of(self.name, &self.at(name), template);
        same(&expected, &value)?;
        self.in_order(&format!("keys of {record}"), place)
    }

    fn attribute(&mut self, name: &str, kind: &str) -> Result<(), String> {
        let optional = name.ends_with('?');
        let name = name.trim_end_matches('?');
        let (record, _) = self.record()?;
        let attributes = format!("{record}.attributes");
        if let Some(line) = self.design.entry(&attributes, name) {
            let (place, value) = ((line.number, 0), line.value.clone());
            if record.starts_with("entity.") {
                let decided = self.decided.instead_of(self.name, &self.at(name), kind);
                let optional = (optional || decided == "optional") && decided != "required";
                type_agrees(kind, optional, &value)?;
            }
            return self.in_order(&attributes, place);
        }
        if let Some(line) = self.design.entry("every.attributes", name) {
            return type_agrees(kind, optional, &line.value);
        }
        let keep = self.design.entry(&record, "keep").ok_or("no such line")?;
        let column = keep.value.find(&format!("\"{name}\""));
        let place = (keep.number, column.ok_or("the view does not keep it")?);
        self.in_order(&format!("{record}.keep"), place)
    }

    /// A member of the elements of a list, which a shape lists.
    fn member(&mut self, name: &str, kind: &str) -> Result<(), String> {
        let (attribute, member) = name.rsplit_once('.').ok_or("no member")?;
        let attributes = format!("entity.{}.attributes", self.entity);
        let list = self.design.entry(&attributes, attribute);
        let list = &list.ok_or("no such attribute")?.value;
        let shape = list.split(' ').skip_while(|word| *word != "of").nth(1);
        let shape = format!("shape.{}", shape.ok_or("not a list of a shape")?);
        let line = self.design.entry(&shape, member).ok_or("no such member")?;
        type_agrees(kind, false, &line.value)
    }

    fn open(&self) -> Result<(), String> {
        let (record, _) = self.record()?;
        let open = self.design.entry(&record, "open").ok_or("not open")?;
        same("true", &open.value)
    }

    fn pattern(&mut self, name: &str, condition: &str, words: &str) -> Result<(), String> {
        self.entity.clear();
        let pattern = format!("pattern.{name}");
        let line = self.design.header(&pattern).ok_or("no such pattern")?;
        let read = ["get", "query", "scan"]
            .iter()
            .find_map(|kind| Some((*kind, self.design.entry(&pattern, kind)?)));
        let (kind, read) = read.ok_or("no key condition")?;
        let expected = self.decided.instead_of(self.name, name, condition);
        same(&expected, &read.value)?;
        let says = |key: &str, value: &str| match self.design.entry(&pattern, key) {
            Some(line) if line.value == value => Ok(()),
            _ => Err(format!("it does not say {key} = {value}")),
        };
        if words.contains("one") && kind != "get" {
            says("one", "true")?;
        }
        if words.contains("descending") {
            says("order", "descending")?;
        }
        if let Some((_, limit)) = words.split_once("limit ") {
            says("limit", limit)?;
        }
        self.in_order("patterns", (line, 0))
    }

    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.entity)
    }

    fn in_order(&mut self, what: &str, place: Place) -> Result<(), String> {
        let last = self.last.insert(what.to_owned(), place);
        match last {
            Some(last) if last > place => Err(format!(
                "it stands on line {}, before its predecessor on line {}",
                place.0, last.0
            )),
            _ => Ok(()),
        }
    }
}

fn same(expected: &str, found: &str) -> Result<(), String> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("the design says {found}"))
    }
}

/// Whether an attribute line is of the page's type, and can be left out where the page says so.
fn type_agrees(page: &str, optional: bool, line: &str) -> Result<(), String> {
    // An attribute with cases is a list: the line, then the cases.
    let line = line.trim_start_matches("[\"");
    let word = line.split([' ', ',', '"']).next().unwrap_or_default();
    let (word, is_optional) = match word.strip_suffix('?') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let is_shape = word.starts_with(char::is_uppercase);
    let agrees = match page {
        "string" => [
            "string",
            "ulid",
            "uuid",
            "id",
            "timestamp",
            "date",
            "enum",
            "state",
            "copy",
            "password",
        ]
        .contains(&word),
        "number" => [
            "number", "int", "counter", "count", "sum", "epoch", "epoch-ms", "expiry",
        ]
        .contains(&word),
        "boolean" => word == "bool",
        "any" => true,
        "object" => word == "map",
        list if list.ends_with("[]") => word == "list",
        "ThumbnailUrls" => is_shape,
        "Metadata" | "UserProfileInsights" | "EmailPreferences" => word == "map",
        // The page's own names of vocabularies, some of them printed and some not.
        _ => ["enum", "state", "string"].contains(&word),
    };
    if !agrees {
        return Err(format!("the design says {line}"));
    }
    let derived = [" default", " = ", "copy ", "counter", "count ", "sum "];
    let may_be_left_out = is_optional || derived.iter().any(|how| line.contains(how));
    match optional {
        true if !may_be_left_out => Err(format!("it is optional, the design says {line}")),
        false if is_optional => Err(format!("it is required, the design says {line}")),
        _ => Ok(()),
    }
}

/// What was decided otherwise than the page has it.
struct Decided {
    rows: Vec<Vec<String>>,
    used: std::cell::RefCell<BTreeSet<usize>>,
}

impl Decided {
    fn read() -> Self {
        let rows = rows("decided.txt").into_iter();
        let rows: Vec<_> = rows.map(|row| row.all).collect();
        for row in &rows {
            assert_eq!(row.len(), 5, "{row:?}");
            assert!(!row[4].is_empty(), "{row:?} has no reason");
        }
        Decided {
            rows,
            used: BTreeSet::new().into(),
        }
    }

    fn instead_of(&self, design: &str, place: &str, page: &str) -> String {
        let row = self
            .rows
            .iter()
            .position(|row| row[..3] == [design, place, page]);
        match row {
            Some(row) => {
                self.used.borrow_mut().insert(row);
                self.rows[row][3].clone()
            }
            None => page.to_owned(),
        }
    }

    fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let rows = self.rows.iter().enumerate();
        rows.filter(|(index, _)| !used.contains(index))
            .map(|(_, row)| format!("decided.txt: nothing needs {row:?}"))
            .collect()
    }
}

struct Row {
    kind: String,
    /// The line of the page.
    line: String,
    /// What follows the line.
    cells: Vec<String>,
    all: Vec<String>,
}

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/spec")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let all: Vec<_> = line
                .split(" |")
                .map(|cell| cell.trim().to_owned())
                .collect();
            let all = rejoined(all);
            Row {
                kind: all[0].clone(),
                line: all[1].clone(),
                cells: all[2..].to_vec(),
                all,
            }
        })
        .collect()
}

/// A bar also stands inside of templates, `{a | b}`; an open brace tells.
fn rejoined(cells: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for cell in cells {
        match joined.last_mut() {
            Some(last) if last.matches('{').count() > last.matches('}').count() => {
                last.push_str(if cell.starts_with('|') { " |" } else { " | " });
                last.push_str(&cell);
            }
            _ => joined.push(cell),
        }
    }
    joined
}

/// The lines of a design file, as a reader sees them.
struct Lines {
    headers: Vec<(String, usize)>,
    entries: Vec<Entry>,
}

struct Entry {
    number: usize,
    section: String,
    name: String,
    /// Without quotes and comment, if it is a string.
    value: String,
}

impl Lines {
    fn read(design: &str) -> Self {
        let text = fs::read_to_string(design_file(design)).unwrap();
        let mut lines = Lines {
            headers: Vec::new(),
            entries: Vec::new(),
        };
        let mut section = String::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(header) = line.strip_prefix('[') {
                let end = header.find(']').unwrap();
                section = header[..end].trim_start_matches('[').to_owned();
                lines.headers.push((section.clone(), number));
            } else if let Some((name, value)) = line.split_once('=')
                && !line.starts_with('#')
            {
                lines.entries.push(Entry {
                    number,
                    section: section.clone(),
                    name: name.trim().trim_matches('"').to_owned(),
                    value: value_of(value.trim()),
                });
            }
        }
        lines
    }

    fn header(&self, section: &str) -> Option<usize> {
        let header = self.headers.iter().find(|(name, _)| name == section);
        header.map(|(_, number)| *number)
    }

    fn section(&self, section: &str) -> Vec<&Entry> {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.section == section).collect()
    }

    /// Whether there is a line for a place such as `entity.Story.attributes.title`.
    fn has(&self, place: &str) -> bool {
        let is_it = |entry: &Entry| format!("{}.{}", entry.section, entry.name) == place;
        self.entries.iter().any(is_it)
    }

    fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        let entries = self.section(section).into_iter();
        entries.into_iter().find(|entry| entry.name == name)
    }
}

fn value_of(text: &str) -> String {
    if let Some(string) = text.strip_prefix('"') {
        return string[..string.find('"').unwrap()].to_owned();
    }
    let comment = text.find("  #").unwrap_or(text.len());
    text[..comment].trim_end().to_owned()
}

fn design_file(design: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../designs")
        .join(design)
        .join(format!("{design}.toml"))
}
