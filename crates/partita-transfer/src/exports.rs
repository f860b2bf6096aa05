//! Tables in files, in the form in which DynamoDB exports them to S3.
//!
//! ```text
//! AWSDynamoDB/ID/_started                 empty
//! AWSDynamoDB/ID/data/NAME.json.gz        a line for each item: {"Item": …} in DynamoDB JSON
//! AWSDynamoDB/ID/manifest-files.json      a line for each of these files, with its checksum
//! AWSDynamoDB/ID/manifest-summary.json    the table, the time, how many items; it is written last
//! AWSDynamoDB/ID/manifest-*.checksum      the checksum of each manifest
//! ```
//!
//! An export is of one table. Checksums are MD5 in base64, which that form has; they find accidents,
//! and prove nothing about who wrote a file.
//!
//! | module | what it holds |
//! |---|---|
//! | `manifest` | both manifests |
//! | `writing` | an export, written |
//! | `reading` | one that is read: ours, or Amazon's |

mod manifest;
mod reading;
mod writing;

use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};

pub use manifest::Summary;
pub use reading::{Export, find};
pub use writing::{Begun, ExportWriter, Exported};

/// The folder that exports are in.
pub const FOLDER: &str = "AWSDynamoDB";

/// Why an export is not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file cannot be written or read.
    #[error("{}: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A file is not what it has to be.
    #[error("{}: {message}", .path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// There is nothing to read.
    #[error(
        "{} is no export: there is no manifest-summary.json in it or below {FOLDER}",
        .path.display()
    )]
    None {
        /// Where.
        path: PathBuf,
    },
    /// It has no end.
    #[error(
        "{} was begun and not ended: remove it, or say with --export which ones are meant",
        .path.display()
    )]
    Unfinished {
        /// Which.
        path: PathBuf,
    },
    /// It is of a kind that is not read.
    #[error("{} is an export of another kind: {message}", .path.display())]
    OtherKind {
        /// Which.
        path: PathBuf,
        /// What is not read.
        message: String,
    },
}

impl ExportError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> ExportError {
        let path = path.to_owned();
        move |error| ExportError::File { path, error }
    }

    fn damaged(path: &Path, message: impl Into<String>) -> ExportError {
        ExportError::Damaged {
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

/// A checksum as manifests have it.
fn checksum(digest: Md5) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(digest.finalize())
}

fn checksum_of(bytes: &[u8]) -> String {
    checksum(Md5::new().chain_update(bytes))
}

#[cfg(test)]
mod tests;
