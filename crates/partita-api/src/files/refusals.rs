//! Problems that only files have.

use crate::problem::{Problem, ProblemKind};

impl Problem {
    /// A signed URL that is not one, or not for this.
    pub(crate) fn bad_signature() -> Self {
        let detail = "it is not one of ours for this method, file and caller";
        Problem::new(ProblemKind::BadSignature, detail)
    }

    /// A signed URL whose time is over.
    pub(crate) fn url_expired() -> Self {
        Problem::new(ProblemKind::UrlExpired, "its time is over")
    }

    /// Bytes without a signed URL.
    pub(crate) fn not_signed() -> Self {
        let detail = "ask for an upload with POST /{design}/files/{prefix}, and use its URL";
        Problem::new(ProblemKind::BadSignature, detail)
    }

    /// Bytes of another type than was asked for.
    pub(crate) fn wrong_type(signed: &str) -> Self {
        let detail = format!("send it with `Content-Type: {signed}`");
        Problem::new(ProblemKind::WrongType, detail)
    }

    /// Fewer bytes than were announced.
    pub(crate) fn wrong_size(bytes: u64, announced: u64) -> Self {
        let detail = format!("the body has {bytes} bytes, and {announced} were announced");
        Problem::bad_request(&detail)
    }

    /// Bytes that are there already.
    pub(crate) fn uploaded_already() -> Self {
        Problem::new(ProblemKind::Uploaded, "an upload is sent once")
    }

    /// Bytes for an upload that an item, or its prefix, has taken over.
    pub(crate) fn no_upload() -> Self {
        Problem::new(
            ProblemKind::Uploaded,
            "it is no upload any more; ask for another",
        )
    }

    /// There is no such object any more.
    pub(crate) fn no_object() -> Self {
        let detail = "the file was removed, or never uploaded";
        Problem::new(ProblemKind::NotFound, detail).with("entity", "file")
    }
}
