//! Attributes by name.
//!
//! Items are copied, compared and looked into far more often than they grow, and most have a
//! dozen attributes with short names. So the entries are in one piece of memory, sorted by
//! name, and a short name is inside its entry.

use std::fmt;
use std::ops::Index;

use crate::Value;

/// The name of an attribute. Up to 24 bytes need no memory of their own.
pub type Name = compact_str::CompactString;

/// Entries that are gone through one by one.
const FEW: usize = 24;

/// Attributes by name, at any depth, in the order of their names.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Map {
    // INVARIANT: sorted by name, and no two have the same.
    entries: Vec<(Name, Value)>,
}

impl Map {
    /// No attributes.
    pub const fn new() -> Self {
        Map {
            entries: Vec::new(),
        }
    }

    /// No attributes yet, and room for some.
    pub fn with_capacity(capacity: usize) -> Self {
        Map {
            entries: Vec::with_capacity(capacity),
        }
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value under a name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.find(name)?;
        Some(&self.entries[at].1)
    }

    /// The value under a name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let at = self.find(name)?;
        Some(&mut self.entries[at].1)
    }

    /// Whether there is a value under a name.
    #[inline]
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Puts a value under a name, and says which one was there.
    ///
    /// What comes in order is appended. What does not moves all that is behind it: many are better
    /// [collected](FromIterator).
    pub fn insert(&mut self, name: impl Into<Name> + AsRef<str>, value: Value) -> Option<Value> {
        match self.place(name.as_ref()) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (name.into(), value));
                None
            }
        }
    }

    /// The value under a name; one that is missing is put there first.
    pub fn get_or_insert_with(&mut self, name: &str, value: impl FnOnce() -> Value) -> &mut Value {
        let at = self.place(name).unwrap_or_else(|at| {
            self.entries.insert(at, (name.into(), value()));
            at
        });
        &mut self.entries[at].1
    }

    /// Takes the value under a name away.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.find(name)?;
        Some(self.entries.remove(at).1)
    }

    /// A copy of the attributes that the choice takes.
    #[must_use]
    pub fn part(&self, mut choice: impl FnMut(&Name) -> bool) -> Map {
        let mut entries = Vec::with_capacity(self.entries.len());
        let chosen = self.entries.iter().filter(|(name, _)| choice(name));
        entries.extend(chosen.cloned());
        Map { entries }
    }

    /// Keeps the attributes that the choice takes.
    pub fn retain(&mut self, mut choice: impl FnMut(&Name, &mut Value) -> bool) {
        self.entries.retain_mut(|(name, value)| choice(name, value));
    }

    /// The attributes in the order of their names.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.entries.iter())
    }

    /// The names, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Name> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(name, _)| name)
    }

    /// The values, in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The position of a name. Up to `FEW` entries a linear scan beats a binary search: length and
    /// first byte rule out most names.
    #[inline]
    fn find(&self, name: &str) -> Option<usize> {
        if self.entries.len() > FEW {
            return self.search(name).ok();
        }
        let first = name.as_bytes().first();
        self.entries.iter().position(|(known, _)| {
            let known = known.as_bytes();
            known.len() == name.len() && known.first() == first && known == name.as_bytes()
        })
    }

    /// The position of a name, or where it would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        match self.entries.last() {
            Some((last, _)) if last.as_str() < name => Err(self.entries.len()),
            _ => self.search(name),
        }
    }

    /// The map of these entries. Of those with one name the last counts.
    fn in_order(mut entries: Vec<(Name, Value)>) -> Map {
        if !entries.is_sorted_by(|one, two| one.0 < two.0) {
            entries.sort_by(|one, two| one.0.cmp(&two.0));
            entries.dedup_by(|later, earlier| {
                let is_same = later.0 == earlier.0;
                if is_same {
                    // The one that stays is the first.
                    std::mem::swap(&mut later.1, &mut earlier.1);
                }
                is_same
            });
        }
        Map { entries }
    }

    fn search(&self, name: &str) -> Result<usize, usize> {
        let entries = &self.entries;
        entries.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

/// Of several values under one name, the last counts.
impl<N: Into<Name>> FromIterator<(N, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let entries = entries.map(|(name, value)| (name.into(), value));
        Map::in_order(entries.collect())
    }
}

impl<N: Into<Name>, const COUNT: usize> From<[(N, Value); COUNT]> for Map {
    fn from(entries: [(N, Value); COUNT]) -> Self {
        entries.into_iter().collect()
    }
}

impl<N: Into<Name>> Extend<(N, Value)> for Map {
    fn extend<I: IntoIterator<Item = (N, Value)>>(&mut self, entries: I) {
        let entries = entries.into_iter();
        let entries = entries.map(|(name, value)| (name.into(), value));
        self.entries.extend(entries);
        *self = Map::in_order(std::mem::take(&mut self.entries));
    }
}

impl Index<&str> for Map {
    type Output = Value;

    /// The value under a name.
    ///
    /// # Panics
    /// If there is none.
    fn index(&self, name: &str) -> &Value {
        self.get(name).expect("the name is in the map")
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// The attributes of a map in the order of their names.
#[derive(Clone, Debug)]
pub struct Iter<'m>(std::slice::Iter<'m, (Name, Value)>);

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m Name, &'m Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(name, value)| (name, value))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'m> IntoIterator for &'m Map {
    type Item = (&'m Name, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}

impl IntoIterator for Map {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests;
