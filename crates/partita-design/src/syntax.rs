//! The small languages inside a design's strings.
//!
//! | module | example |
//! |---|---|
//! | [`attribute`] | `ulid, generated, as storyId` |
//! | [`mod@reference`] | `User(userId = authorId), live` |
//! | [`template`] | `USER#{userId}#STORY#{storyId}` |
//! | [`query`] | `PK = 'USER#{userId}' AND begins_with(SK, 'STORY#')` |
//! | [`lexer`] | the words and signs of attribute and reference lines |
//! | [`later`] | what the language has and this version does not know |
//!
//! Every parser reports what it cannot read, goes on behind it, and gives what it could read.

pub(crate) mod attribute;
pub(crate) mod later;
pub(crate) mod lexer;
pub(crate) mod query;
pub(crate) mod reference;
pub(crate) mod template;
