//! The small languages inside a design's strings.
//!
//! | module | example |
//! |---|---|
//! | [`attribute`] | `ulid, generated, as storyId` |
//! | [`kind`] | the types in it: `list? of string ..49` |
//! | [`value`] | the values in it: `parent.depth + 1 \| 0` |
//! | [`mod@reference`] | `User(userId = authorId), on delete cascade` |
//! | [`template`] | `USER#{userId}#STORY#{storyId}` |
//! | [`path`] | `stories/{storyId}/chapters` |
//! | [`query`] | `PK = 'USER#{userId}' AND begins_with(SK, 'STORY#')` |
//! | [`lexer`] | the words and signs of all these |
//!
//! Every parser reports what it cannot read, goes on behind it, and gives what it could read.

pub(crate) mod attribute;
pub(crate) mod kind;
pub(crate) mod lexer;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod reference;
pub(crate) mod template;
pub(crate) mod value;

use partita_core::expression::Span;

/// A word and its place.
pub(crate) type Word = (String, Span);
