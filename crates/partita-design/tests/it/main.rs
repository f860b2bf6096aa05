//! Integration tests of the design language.

mod stories;
