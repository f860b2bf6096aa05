//! Designs that are drawn: small and odd, of parts that the designs in files do not combine.
//!
//! A design begins with entities, their refs and what callers give. Then one part after another is
//! tried: counts, sums, copies, computed values, keys of indexes, views, unique values, triggers.
//! A part reads any that are there by then, and stays if `check` accepts the design with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const NAMES: [&str; 4] = ["Apple", "Birch", "Cedar", "Daisy"];
const IDS: [&str; 4] = ["apple", "birch", "cedar", "daisy"];
/// Parts that are tried.
const PARTS: usize = 26;

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Number,
    Text,
}

#[derive(Clone, Debug)]
struct Attribute {
    name: String,
    holds: Holds,
    is_optional: bool,
}

#[derive(Clone, Debug)]
struct Ref {
    name: String,
    target: usize,
    is_optional: bool,
}

#[derive(Clone, Debug, Default)]
struct Entity {
    /// The entity in whose partition it is.
    inside: Option<usize>,
    refs: Vec<Ref>,
    attributes: Vec<Attribute>,
}

/// A design that is being drawn.
#[derive(Clone, Debug, Default)]
struct Sketch {
    entities: Vec<Entity>,
    /// The lines of each section.
    sections: BTreeMap<String, Vec<String>>,
    indexes: usize,
    parts: usize,
}

/// A design that `check` accepts.
pub(crate) fn design(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let mut sketch = Sketch::begin(&mut random);
        if !is_accepted(&sketch.text()) {
            continue;
        }
        for _ in 0..PARTS {
            let mut next = sketch.clone();
            if next.add_part(&mut random).is_some() && is_accepted(&next.text()) {
                sketch = next;
            }
        }
        return sketch.text();
    }
}

fn is_accepted(text: &str) -> bool {
    partita_design::check(text, &|_: &str| None).0.is_some()
}

impl Sketch {
    /// Entities with their refs and what callers give.
    fn begin(random: &mut fastrand::Rng) -> Sketch {
        let mut sketch = Sketch::default();
        for number in 0..random.usize(2..=NAMES.len()) {
            sketch.add_entity(number, random);
        }
        sketch
    }

    fn add_entity(&mut self, number: usize, random: &mut fastrand::Rng) {
        let (name, id) = (NAMES[number], IDS[number]);
        let outer = (0..number).filter(|outer| self.entities[*outer].inside.is_none());
        let outer = random.choice(outer.collect::<Vec<_>>());
        let inside = outer.filter(|_| random.bool());
        self.entities.push(Entity {
            inside,
            ..Entity::default()
        });
        let of = inside.unwrap_or(number);
        let entity = format!("entity.{name}");
        self.line(&entity, format!("PK = \"{}#{{{}}}\"", NAMES[of], IDS[of]));
        self.line(&entity, format!("SK = \"{name}#{{{id}}}\""));
        if random.u8(0..5) == 0 {
            let repeat = ["ignore", "update"][random.usize(0..2)];
            self.line(&entity, format!("repeat = \"{repeat}\""));
        }
        self.line(&format!("{entity}.allow"), "\"*\" = \"public\"".into());
        self.attribute(number, id, "string 1..40");
        if let Some(outer) = inside {
            self.attribute(number, IDS[outer], "string 1..40");
            let target = format!("{}({} = {})", NAMES[outer], IDS[outer], IDS[outer]);
            self.refer(number, outer, &target, None, random);
        }
        for _ in 0..random.usize(usize::from(number > 0 && inside.is_none())..=2) {
            self.add_ref(number, random);
        }
        self.add_given(number, random);
        if random.u8(0..4) == 0 {
            self.line(&entity, "soft-delete = \"gone\"".into());
            self.attribute(number, "gone", "timestamp?");
            self.line(&format!("{entity}.allow"), "purge = \"public\"".into());
        }
        if random.u8(0..4) == 0 {
            self.attribute(number, "version", "version");
        }
    }

    /// A ref by attributes that may change, with an index that leads back.
    fn add_ref(&mut self, number: usize, random: &mut fastrand::Rng) {
        let target = random.usize(0..=number);
        let is_optional = target == number || random.bool();
        let kind = if is_optional {
            "string? 1..40"
        } else {
            "string 1..40"
        };
        let outer = self.entities[target].inside;
        let parts: Vec<usize> = outer.into_iter().chain([target]).collect();
        let count = self.entities[number].refs.len();
        let by = |part: &usize| format!("{}{count}", IDS[*part]);
        for part in &parts {
            self.attribute(number, &by(part), kind);
        }
        let index = self.add_index();
        let entity = format!("entity.{}", NAMES[number]);
        let holes = parts.iter().map(|part| format!("#{{{}}}", by(part)));
        let holes: String = holes.collect();
        self.line(&entity, format!("{index}PK = \"{}{holes}\"", NAMES[target]));
        self.line(&entity, format!("{index}SK = \"{}\"", self.own_id(number)));
        let arguments = parts
            .iter()
            .map(|part| format!("{} = {}", IDS[*part], by(part)));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let cleared = parts.iter().map(by).collect::<Vec<_>>().join(", ");
        let cleared = is_optional.then_some(cleared);
        let target_text = format!("{}({arguments})", NAMES[target]);
        self.refer(number, target, &target_text, cleared, random);
    }

    /// The holes of a key that no other item of the entity has.
    fn own_id(&self, number: usize) -> String {
        let parts = self.entities[number].inside.into_iter().chain([number]);
        let parts = parts.map(|part| format!("{{{}}}", IDS[part]));
        parts.collect::<Vec<_>>().join("#")
    }

    fn refer(
        &mut self,
        number: usize,
        target: usize,
        text: &str,
        cleared: Option<String>,
        random: &mut fastrand::Rng,
    ) {
        let name = format!("ref{}", self.entities[number].refs.len());
        let is_optional = cleared.is_some();
        let ending = match (random.u8(0..4), cleared) {
            (0, _) => ", on delete keep".to_owned(),
            (1, Some(cleared)) => format!(", on delete clear {cleared}"),
            _ => ", on delete cascade".to_owned(),
        };
        let line = format!("{name} = \"{text}{ending}\"");
        self.line(&format!("entity.{}.refs", NAMES[number]), line);
        self.entities[number].refs.push(Ref {
            name,
            target,
            is_optional,
        });
    }

    fn add_given(&mut self, number: usize, random: &mut fastrand::Rng) {
        let (kind, is_optional) = if random.bool() {
            ("int? 0..4", true)
        } else {
            ("int 0..4 default 0", false)
        };
        self.given(number, "own", kind, Holds::Number, is_optional);
        let (kind, is_optional) = if random.bool() {
            ("enum? Red | green | blue", true)
        } else {
            ("enum Red | green default Red", false)
        };
        self.given(number, "hue", kind, Holds::Text, is_optional);
        if random.bool() {
            self.given(number, "more", "int 0..3 default 1", Holds::Number, false);
        }
        self.attribute(number, "tally", "counter");
    }

    fn given(&mut self, number: usize, name: &str, kind: &str, holds: Holds, is_optional: bool) {
        self.attribute(number, name, kind);
        self.know(number, name.to_owned(), holds, is_optional);
    }

    fn know(&mut self, number: usize, name: String, holds: Holds, is_optional: bool) {
        self.entities[number].attributes.push(Attribute {
            name,
            holds,
            is_optional,
        });
    }

    /// One part more, if there is what it needs.
    fn add_part(&mut self, random: &mut fastrand::Rng) -> Option<()> {
        self.parts += 1;
        let number = random.usize(0..self.entities.len());
        match random.u8(0..20) {
            0..3 => self.add_count(number, random),
            3..6 => self.add_sum(number, random),
            6..9 => self.add_copy(number, random),
            9..13 => self.add_computed(number, random),
            13..15 => self.add_keys(number, random),
            15..17 => self.add_view(number, random),
            17 => self.add_unique(number, random),
            _ => self.add_trigger(number, random),
        }
    }

    /// An entity that refers to this one, and by which ref.
    fn referring(&self, number: usize, random: &mut fastrand::Rng) -> Option<(usize, String)> {
        let all = self.entities.iter().enumerate();
        let all = all.flat_map(|(of, entity)| entity.refs.iter().map(move |one| (of, one)));
        let all = all.filter(|(_, one)| one.target == number);
        random.choice(
            all.map(|(of, one)| (of, one.name.clone()))
                .collect::<Vec<_>>(),
        )
    }

    fn attribute_of(
        &self,
        number: usize,
        holds: Option<Holds>,
        random: &mut fastrand::Rng,
    ) -> Option<Attribute> {
        let all = self.entities[number].attributes.iter();
        let all = all.filter(|one| holds.is_none_or(|holds| one.holds == holds));
        random.choice(all.collect::<Vec<_>>()).cloned()
    }

    /// A condition over an item.
    fn condition(&self, number: usize, random: &mut fastrand::Rng) -> Option<String> {
        let of = self.attribute_of(number, None, random)?;
        let name = of.name;
        Some(match of.holds {
            Holds::Number => format!("{name} > {}", random.u8(0..4)),
            Holds::Text if random.bool() => format!("attribute_exists({name})"),
            Holds::Text => format!("{name} = '{}'", ["Red", "green", "red"][random.usize(0..3)]),
        })
    }

    fn add_count(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let (of, by) = self.referring(number, random)?;
        let name = format!("count{}", self.parts);
        let condition = if random.bool() {
            format!(" where {}", self.condition(of, random)?)
        } else {
            String::new()
        };
        self.attribute(
            number,
            &name,
            &format!("count of {} by {by}{condition}", NAMES[of]),
        );
        self.know(number, name, Holds::Number, false);
        Some(())
    }

    fn add_sum(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let (of, by) = self.referring(number, random)?;
        let amount = self.attribute_of(of, Some(Holds::Number), random)?.name;
        let name = format!("sum{}", self.parts);
        self.attribute(
            number,
            &name,
            &format!("sum of {amount} of {} by {by}", NAMES[of]),
        );
        self.know(number, name, Holds::Number, false);
        Some(())
    }

    fn add_copy(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let by = random.choice(self.entities[number].refs.clone())?;
        let of = self.attribute_of(by.target, None, random)?;
        let name = format!("copy{}", self.parts);
        self.attribute(number, &name, &format!("copy {}.{}", by.name, of.name));
        self.know(number, name, of.holds, of.is_optional || by.is_optional);
        Some(())
    }

    fn add_computed(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let name = format!("value{}", self.parts);
        if random.u8(0..4) == 0 {
            let of = self.attribute_of(number, Some(Holds::Text), random)?;
            let (mark, fallback) = missing(of.is_optional, "'none'", random);
            let line = format!("string{mark} = lower({}){fallback}", of.name);
            self.attribute(number, &name, &line);
            self.know(number, name, Holds::Text, !mark.is_empty());
            return Some(());
        }
        let one = self.attribute_of(number, Some(Holds::Number), random)?;
        let two = self.attribute_of(number, Some(Holds::Number), random)?;
        let (one_name, two_name) = (&one.name, &two.name);
        if random.u8(0..3) == 0 {
            let condition = self.condition(number, random)?;
            let line =
                format!("{name} = [\"int =\", {{ when = \"{condition}\", is = 2 }}, {{ is = 1 }}]");
            self.line(&format!("entity.{}.attributes", NAMES[number]), line);
            self.know(number, name, Holds::Number, false);
            return Some(());
        }
        let (formula, is_optional) = match random.u8(0..4) {
            0 => (format!("max({one_name}, 3)"), one.is_optional),
            1 => (
                format!("min({one_name}, {two_name})"),
                one.is_optional || two.is_optional,
            ),
            2 => (
                format!("{one_name} + {two_name}"),
                one.is_optional || two.is_optional,
            ),
            _ => (one_name.clone(), one.is_optional),
        };
        let (mark, fallback) = missing(is_optional, "0", random);
        self.attribute(number, &name, &format!("int{mark} = {formula}{fallback}"));
        self.know(number, name, Holds::Number, !mark.is_empty());
        Some(())
    }

    /// Keys of an index by any two attributes.
    fn add_keys(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let partition = self.attribute_of(number, None, random)?.name;
        let sort = self.attribute_of(number, None, random)?.name;
        let index = self.add_index();
        let entity = format!("entity.{}", NAMES[number]);
        self.line(&entity, format!("{index}PK = \"{index}#{{{partition}}}\""));
        self.line(
            &entity,
            format!("{index}SK = \"{{{sort}}}#{}\"", self.own_id(number)),
        );
        Some(())
    }

    fn add_view(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let name = format!("View{}", self.parts);
        let view = format!("view.{name}");
        let by = self.attribute_of(number, None, random)?.name;
        let kept = self.attribute_of(number, None, random)?.name;
        self.line(&view, format!("of = \"{}\"", NAMES[number]));
        self.line(&view, format!("PK = \"{name}#{{{by}}}\""));
        self.line(&view, format!("SK = \"{}\"", self.own_id(number)));
        self.line(&view, format!("keep = [\"{kept}\"]"));
        if random.bool() {
            let condition = self.condition(number, random)?;
            self.line(&view, format!("when = \"{condition}\""));
        }
        Some(())
    }

    fn add_unique(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let name = format!("sole{}", self.parts);
        let kind = if random.bool() {
            "string 1..40"
        } else {
            "string? 1..40"
        };
        self.attribute(number, &name, kind);
        let unique = format!("entity.{}.unique", NAMES[number]);
        self.line(&unique, format!("{name} = \"{name}#{{{name}}}\""));
        Some(())
    }

    fn add_trigger(&mut self, number: usize, random: &mut fastrand::Rng) -> Option<()> {
        let trigger = format!("trigger.on{}", self.parts);
        let event = ["create", "update", "delete", "write"][random.usize(0..4)];
        self.line(&trigger, format!("on = \"{event} {}\"", NAMES[number]));
        if random.u8(0..3) == 0 {
            let word = ["when", "turns"][random.usize(0..2)];
            let condition = self.condition(number, random)?;
            self.line(&trigger, format!("{word} = \"{condition}\""));
        }
        let by = random.choice(self.entities[number].refs.clone())?;
        self.line(&trigger, format!("update = \"{}\"", by.name));
        let change = match random.u8(0..3) {
            0 => "add = { tally = 1 }",
            1 => "set = { own = 3 }",
            _ => "set = { hue = \"green\" }",
        };
        self.line(&trigger, change.into());
        Some(())
    }

    fn add_index(&mut self) -> String {
        let index = format!("idx{}", self.indexes);
        self.indexes += 1;
        self.line("index", format!("{index} = [\"{index}PK\", \"{index}SK\"]"));
        index
    }

    fn attribute(&mut self, number: usize, name: &str, kind: &str) {
        let attributes = format!("entity.{}.attributes", NAMES[number]);
        self.line(&attributes, format!("{name} = \"{kind}\""));
    }

    fn line(&mut self, section: &str, line: String) {
        self.sections
            .entry(section.to_owned())
            .or_default()
            .push(line);
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "design = \"drawn\"\n\n[table]\nname = \"drawn\"\nkey = [\"PK\", \"SK\"]\ndiscriminator = \"Kind\"\n",
        );
        for (section, lines) in &self.sections {
            let _ = write!(text, "\n[{section}]\n{}\n", lines.join("\n"));
        }
        text
    }
}

/// What becomes of a value whose operand may be missing: the mark of its type, and what is taken.
fn missing(
    is_optional: bool,
    fallback: &str,
    random: &mut fastrand::Rng,
) -> (&'static str, String) {
    match (is_optional, random.bool()) {
        (false, _) => ("", String::new()),
        (true, false) => ("?", String::new()),
        (true, true) => ("", format!(" | {fallback}")),
    }
}
