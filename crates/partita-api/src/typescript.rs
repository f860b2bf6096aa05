//! A client of a design in TypeScript: one file that needs nothing else.
//!
//! It is made from the operations of the OpenAPI document, so it has those that are answered and no
//! others. What every client has in common is `runtime.ts`, which ends each of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `calls` | a member for every operation |
//! | `types` | schemas as types |
//! | `words` | names, texts and comments of the language |
//! | `runtime.ts` | requests, lists, feeds, refusals |

mod calls;
mod types;
mod words;

use std::collections::BTreeMap;

use partita_design::Design;
use partita_design::design::{Pattern, Record, RecordId};
use serde_json::Value as Json;

use crate::openapi;
use crate::problem::ProblemKind;
use crate::routes::Routes;
use calls::Group;
use types::{Known, Types};
use words::{Names, comment, entry, text};

const RUNTIME: &str = include_str!("typescript/runtime.ts");

/// The client of a design.
///
/// ```
/// use partita_api::{routes::Routes, typescript};
///
/// let source = partita_design::shipped::find("stories").unwrap().source;
/// let design = partita_design::check(source, &|_| None).0.unwrap();
/// let client = typescript::client(&design, &Routes::of(&design));
/// assert!(client.contains("create: async (given: StoryNew, options?: WriteOptions)"));
/// ```
pub fn client(design: &Design, routes: &Routes) -> String {
    let mut client = Client::new(design, routes);
    for called in openapi::canonical(design, routes) {
        client.call(&called);
    }
    client.uploading();
    client.written()
}

/// A client as it is written.
struct Client<'d> {
    design: &'d Design,
    schemas: Json,
    known: Known,
    names: Names,
    /// The types of what identifies an item, by its record.
    identities: BTreeMap<RecordId, String>,
    declared: String,
    groups: Vec<Group>,
    /// The prefixes that files can be sent to, and how one asks.
    uploads: Vec<String>,
    upload: Option<Json>,
}

impl<'d> Client<'d> {
    fn new(design: &'d Design, routes: &Routes) -> Self {
        let mut document = openapi::document(design, routes);
        let mut client = Client {
            design,
            schemas: document["components"]["schemas"].take(),
            known: Known::new(),
            names: Names::beside(RUNTIME),
            identities: BTreeMap::new(),
            declared: String::new(),
            groups: Vec::new(),
            uploads: Vec::new(),
            upload: None,
        };
        for name in [
            "Problem",
            "ProblemKind",
            "ProblemOf",
            "KindOf",
            "Refused",
            "operations",
            "connect",
            "Client",
        ] {
            client.names.give(name);
        }
        client.declare_records();
        client
    }

    /// The types of entities and views, and of what is given for them.
    fn declare_records(&mut self) {
        let design = self.design;
        // What a design calls something keeps its name before anything that is called after it.
        for record in &design.records {
            let name = self.names.give(&record.name);
            self.known.insert(record.name.clone(), name);
        }
        for entity in design.entities() {
            for suffix in openapi::GIVEN {
                let schema = openapi::given_name(design, entity, suffix);
                let name = self.names.give(&format!("{}{suffix}", entity.name));
                self.known.insert(schema, name);
            }
        }
        for record in &design.records {
            // Nothing asks for the keys of the table.
            if let Some(shown) = self.schemas[&record.name]["properties"].as_object_mut() {
                let keys = openapi::table_keys(&design[record.table], record);
                shown.retain(|name, _| !keys.contains(&name.as_str()));
            }
            let mut names = vec![record.name.clone()];
            if record.is_entity() {
                names.extend(
                    openapi::GIVEN.map(|suffix| openapi::given_name(design, record, suffix)),
                );
            }
            let changes = names.last().filter(|_| record.is_entity());
            let changes = changes.map(|name| self.schemas[name]["properties"].clone());
            let is_fixed = |name: &str| {
                changes
                    .as_ref()
                    .is_none_or(|changes| changes.get(name).is_none())
            };
            for (at, schema) in names.iter().enumerate() {
                let name = &self.known[schema];
                let of_answer = |name: &str| at == 0 && is_fixed(name);
                let declared = self
                    .types()
                    .declare(name, &self.schemas[schema], &of_answer);
                self.declared += &format!("{declared}\n");
            }
        }
    }

    /// Declares a type by this name or one like it, and says which.
    fn declare(&mut self, wanted: &str, schema: &Json) -> String {
        let name = self.names.give(wanted);
        let declared = self.types().declare(&name, schema, &|_| false);
        self.declared += &format!("{declared}\n");
        name
    }

    fn types(&self) -> Types<'_> {
        Types { known: &self.known }
    }

    fn record_type(&self, record: &Record) -> &str {
        &self.known[&record.name]
    }

    /// The records that a pattern answers with.
    fn found(&self, pattern: &'d Pattern) -> Vec<&'d Record> {
        let names = openapi::found(self.design, pattern).into_iter();
        names
            .filter_map(|name| self.design.find_record(name))
            .collect()
    }

    fn group(&mut self, name: &str) -> &mut Group {
        let at = self.groups.iter().position(|group| group.name == name);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group {
                name: name.to_owned(),
                ..Group::default()
            });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    fn written(self) -> String {
        let name = &self.design.name;
        let about = self.design.about.as_deref().unwrap_or_default();
        let writes = self
            .groups
            .iter()
            .filter(|group| !group.operations.is_empty());
        let writes = writes
            .map(|group| format!("  {}: {{\n{}  }},\n", entry(&group.name), group.operations));
        let members = self
            .groups
            .iter()
            .map(|group| format!("    {}: {{\n{}    }},\n", entry(&group.name), group.members));
        [
            "// A client in TypeScript, written by `partita client typescript`. To change it, change the\n// design and write it again; `--check FILE` says whether it is stale.\n/* eslint-disable */\n\n",
            &self.declared,
            "/** What every refusal says. */\n",
            &problems(),
            "/** Writes as `batch` takes them; nothing is sent before. */\n",
            &format!("export const operations = {{\n{}}};\n\n", writes.collect::<String>()),
            &comment(&format!("A client of `{name}`. {about}"), ""),
            "export type Client = ReturnType<typeof connect>;\n\n",
            &comment(&format!("A client of `{name}` at a server."), ""),
            &format!("export function connect(options: Options = {{}}) {{\n  const server = new Server({}, options);\n  return {{\n", text(name)),
            &members.collect::<String>(),
            "    /** Carries out several writes of `operations` in one transaction, all or none. */\n",
            "    batch: <const Operations extends readonly Operation<unknown>[]>(writes: Operations, options?: WriteOptions) => server.batch(writes, options),\n",
            "  };\n}\n\n",
            RUNTIME,
        ]
        .concat()
    }
}

/// Every kind of problem, and what all of them have.
fn problems() -> String {
    let schema = openapi::problem_members();
    let known = Known::new();
    let members = Types { known: &known }.object(&schema, "", &|_| true);
    let members = members.unwrap_or_default();
    let members = members.replacen(
        '{',
        "{\n  readonly type: `urn:partita:problem:${Kind}`;\n  readonly status: Status;",
        1,
    );
    let kinds = ProblemKind::ALL.iter().map(|kind| {
        let said = comment(&format!("{}. {}", kind.title(), kind.advice()), "  ");
        format!(
            "{said}  | Refused<'{}', {}>\n",
            kind.name(),
            kind.status().as_u16()
        )
    });
    format!(
        "export interface Refused<Kind extends string, Status extends number> {members}\n\n\
         /** Why a request was refused. */\nexport type Problem =\n{}  ;\n\n\
         type KindOf<One> = One extends Refused<infer Kind, number> ? Kind : never;\n\
         export type ProblemKind = KindOf<Problem>;\n\
         export type ProblemOf<Kind extends ProblemKind> = Extract<Problem, {{ readonly type: `urn:partita:problem:${{Kind}}` }}>;\n\n",
        kinds.collect::<String>()
    )
}
