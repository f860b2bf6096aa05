//! Numbers by the items that keep them, for tables larger than memory.
//!
//! What items count is added up under the item and attribute that it counts for. When that takes
//! more memory than allowed, it is written out in order to a temporary file and begun anew; in the
//! end all files and the rest are merged in that order, each group once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};

use partita_core::{Number, Value};
use serde::{Deserialize, Serialize};

/// The place of a number: the table, the key and the attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) table: String,
    pub(crate) partition: String,
    pub(crate) sort: String,
    pub(crate) attribute: String,
}

/// What is known of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// What is stored, if the item that keeps it is there.
    pub(crate) stored: Option<Option<Value>>,
    /// What the items that count for it come to.
    pub(crate) sum: Number,
}

/// Groups of a whole table.
pub(crate) struct Grouping {
    bytes_max: usize,
    bytes: usize,
    groups: BTreeMap<Place, Group>,
    runs: Vec<File>,
}

/// One line of a run.
#[derive(Serialize, Deserialize)]
struct Line {
    place: Place,
    is_stored: bool,
    stored: Option<Value>,
    sum: String,
}

/// What a group takes beside its texts, about.
const GROUP_BYTES: usize = 200;

impl Grouping {
    /// No groups, of which so many bytes are held in memory at most.
    pub(crate) fn new(bytes_max: usize) -> Grouping {
        Grouping {
            bytes_max,
            bytes: 0,
            groups: BTreeMap::new(),
            runs: Vec::new(),
        }
    }

    /// The item that keeps a number is there, with this value.
    pub(crate) fn keep(&mut self, place: Place, stored: Option<Value>) -> io::Result<()> {
        self.group(place).stored = Some(stored);
        self.spill()
    }

    /// An item counts so much.
    pub(crate) fn add(&mut self, place: Place, amount: Number) -> io::Result<()> {
        let group = self.group(place);
        group.sum = plus(group.sum, amount);
        self.spill()
    }

    fn group(&mut self, place: Place) -> &mut Group {
        let texts = place.partition.len() + place.sort.len() + place.attribute.len();
        let size = GROUP_BYTES + place.table.len() + texts;
        let bytes = &mut self.bytes;
        self.groups.entry(place).or_insert_with(|| {
            *bytes += size;
            Group::default()
        })
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for (place, group) in std::mem::take(&mut self.groups) {
            let line = Line {
                place,
                is_stored: group.stored.is_some(),
                stored: group.stored.flatten(),
                sum: group.sum.to_string(),
            };
            serde_json::to_writer(&mut file, &line)?;
            file.write_all(b"\n")?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        self.bytes = 0;
        Ok(())
    }

    /// Every group once, in order.
    pub(crate) fn merge(self) -> io::Result<Merge> {
        let mut merge = Merge {
            runs: Vec::new(),
            rest: self.groups.into_iter(),
            heads: BinaryHeap::new(),
            waiting: BTreeMap::new(),
        };
        merge.runs.extend(self.runs.into_iter().map(BufReader::new));
        for run in 0..=merge.runs.len() {
            merge.advance(run)?;
        }
        Ok(merge)
    }
}

/// The groups of several runs in one order.
pub(crate) struct Merge {
    runs: Vec<BufReader<File>>,
    rest: std::collections::btree_map::IntoIter<Place, Group>,
    /// The next place of every run; the one behind the last is what was in memory.
    heads: BinaryHeap<Reverse<(Place, usize)>>,
    waiting: BTreeMap<usize, Group>,
}

impl Merge {
    /// The next group.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Place, Group)>> {
        let mut whole: Option<(Place, Group)> = None;
        while let Some(Reverse((place, run))) = self.heads.peek() {
            let run = *run;
            if whole.as_ref().is_some_and(|(known, _)| known != place) {
                break;
            }
            let Some(Reverse((place, _))) = self.heads.pop() else {
                break;
            };
            let part = self.waiting.remove(&run).unwrap_or_default();
            let (_, group) = whole.get_or_insert_with(|| (place, Group::default()));
            group.sum = plus(group.sum, part.sum);
            group.stored = part.stored.or(group.stored.take());
            self.advance(run)?;
        }
        Ok(whole)
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        let next = match self.runs.get_mut(run) {
            None => self.rest.next(),
            Some(reader) => {
                let mut text = String::new();
                reader.read_line(&mut text)?;
                if text.is_empty() {
                    None
                } else {
                    Some(group(&text)?)
                }
            }
        };
        if let Some((place, group)) = next {
            self.heads.push(Reverse((place, run)));
            self.waiting.insert(run, group);
        }
        Ok(())
    }
}

fn group(text: &str) -> io::Result<(Place, Group)> {
    let line: Line = serde_json::from_str(text)?;
    let sum = line.sum.parse();
    let sum = sum.map_err(|_| io::Error::other("a number that was put aside is damaged"))?;
    let group = Group {
        stored: line.is_stored.then_some(line.stored),
        sum,
    };
    Ok((line.place, group))
}

/// A sum beyond the largest number stays where it is, and differs from whatever is stored.
fn plus(one: Number, two: Number) -> Number {
    one.checked_add(two).unwrap_or(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u32) -> Place {
        Place {
            table: "t".to_owned(),
            partition: format!("P#{}", number % 7),
            sort: format!("S#{}", number % 5),
            attribute: "count".to_owned(),
        }
    }

    fn grouped(bytes_max: usize) -> Vec<(Place, Group)> {
        let mut grouping = Grouping::new(bytes_max);
        for number in 0..1000_u32 {
            let amount = Number::from(i64::from(number % 3));
            grouping.add(place(number), amount).unwrap();
            if number % 10 == 0 {
                let stored = Some(Value::from(i64::from(number % 35)));
                grouping.keep(place(number), stored).unwrap();
            }
        }
        let mut merge = grouping.merge().unwrap();
        let mut groups = Vec::new();
        while let Some(group) = merge.next().unwrap() {
            groups.push(group);
        }
        groups
    }

    #[test]
    fn memory_does_not_change_the_sums() {
        let whole = grouped(usize::MAX);
        assert_eq!(whole.len(), 35);
        assert!(whole.is_sorted_by(|one, two| one.0 < two.0));
        for bytes_max in [0, 500, 3_000] {
            assert_eq!(grouped(bytes_max), whole, "{bytes_max}");
        }
    }
}
