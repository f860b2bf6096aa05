//! Syntax trees that are kept, so that a text is parsed once however often it comes.

use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::syntax::{Clause, Node, RawPath};

/// Parsed expressions by their kind and text, bounded in number and in bytes.
///
/// Applications send the same few texts over and over, with other values. Share one cache among
/// all requests; it is made for many threads.
pub struct ExpressionCache {
    /// Conditions, filters and key conditions: they have one grammar.
    pub(super) conditions: KeptTrees<Node>,
    pub(super) updates: KeptTrees<Vec<Clause>>,
    pub(super) projections: KeptTrees<Vec<RawPath>>,
}

impl ExpressionCache {
    /// A cache of about so many texts that takes at most about so many bytes.
    pub fn new(texts_max: usize, bytes_max: u64) -> Self {
        ExpressionCache {
            conditions: KeptTrees::new(texts_max / 2, bytes_max / 2),
            updates: KeptTrees::new(texts_max / 4, bytes_max / 4),
            projections: KeptTrees::new(texts_max / 4, bytes_max / 4),
        }
    }

    /// How many texts are kept.
    pub fn len(&self) -> usize {
        self.conditions.texts.len() + self.updates.texts.len() + self.projections.texts.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for ExpressionCache {
    /// Room for what one server's applications say: 4,096 texts, 16 MiB.
    fn default() -> Self {
        ExpressionCache::new(4_096, 16 << 20)
    }
}

impl fmt::Debug for ExpressionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpressionCache")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The trees of one grammar.
pub(super) struct KeptTrees<T> {
    texts: Cache<Box<str>, Arc<T>, Weight>,
}

impl<T> KeptTrees<T> {
    fn new(texts_max: usize, bytes_max: u64) -> Self {
        let share_bytes = bytes_max / (texts_max as u64).max(1);
        KeptTrees {
            texts: Cache::with_weighter(texts_max, bytes_max, Weight { share_bytes }),
        }
    }

    /// The tree of a text; it is kept if it has one. Refused texts are not: they would let a
    /// hostile client push out what others use.
    pub(super) fn get_or_parse<E>(
        &self,
        text: &str,
        parse: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(tree) = self.texts.get(text) {
            return Ok(tree);
        }
        let tree = Arc::new(parse()?);
        self.texts.insert(text.into(), Arc::clone(&tree));
        Ok(tree)
    }
}

/// What an entry takes however short its text is.
const ENTRY_BYTES: u64 = 256;
/// What a tree takes for a byte of text, roughly: tokens become nodes with names of their own.
const BYTES_PER_TEXT_BYTE: u64 = 24;

/// Bytes, but at least an entry's share, so that the number of entries is bounded too.
#[derive(Clone, Copy)]
struct Weight {
    share_bytes: u64,
}

impl<T> Weighter<Box<str>, Arc<T>> for Weight {
    fn weight(&self, text: &Box<str>, _: &Arc<T>) -> u64 {
        let bytes = ENTRY_BYTES + text.len() as u64 * BYTES_PER_TEXT_BYTE;
        bytes.max(self.share_bytes)
    }
}
