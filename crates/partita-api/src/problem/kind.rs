//! Every kind of problem, in one table. `docs/errors.md` shows it, and a test compares the two.

use axum::http::StatusCode;

macro_rules! kinds {
    ($($variant:ident $name:literal $status:ident $title:literal $advice:literal)*) => {
        /// What kind of problem a request met.
        ///
        /// The name is stable: programs distinguish problems by it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $(#[doc = $title] $variant,)*
        }

        impl ProblemKind {
            /// All kinds, in the order of this table.
            pub const ALL: &'static [ProblemKind] = &[$(ProblemKind::$variant),*];

            /// The stable name, such as `stale-version`.
            pub fn name(self) -> &'static str {
                match self { $(ProblemKind::$variant => $name,)* }
            }

            /// The status of the response.
            pub fn status(self) -> StatusCode {
                match self { $(ProblemKind::$variant => StatusCode::$status,)* }
            }

            /// The same few words for every problem of the kind.
            pub fn title(self) -> &'static str {
                match self { $(ProblemKind::$variant => $title,)* }
            }

            /// What somebody can do who meets it.
            pub fn advice(self) -> &'static str {
                match self { $(ProblemKind::$variant => $advice,)* }
            }
        }
    };
}

kinds! {
    // The request.
    BadRequest       "bad-request"        BAD_REQUEST            "The request cannot be understood"                "Read `detail`: it says which part of the request."
    NotJson          "not-json"           UNSUPPORTED_MEDIA_TYPE "The body must be JSON"                           "Send `Content-Type: application/json`."
    HeadTooLarge     "head-too-large"     REQUEST_HEADER_FIELDS_TOO_LARGE "The head of the request is too large"   "Send fewer or shorter headers, or a shorter path."
    BodyTooLarge     "body-too-large"     PAYLOAD_TOO_LARGE      "The body is too large"                           "Send at most 2 MiB, and at most 32 KiB to `/auth/`."
    BodyTooSlow      "body-too-slow"      REQUEST_TIMEOUT        "The body takes too long"                         "Send the whole body within 30 seconds."
    NoRoute          "no-route"           NOT_FOUND              "There is nothing at this path"                   "Read `detail`: it says what was probably meant."
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED     "The method does not fit the path"                "Use one of those in the header `Allow`."
    Invalid          "invalid"            UNPROCESSABLE_ENTITY   "What was given does not fit the design"          "Mend what `faults` lists: everything that is wrong, not only the first, up to a hundred."
    BadCursor        "bad-cursor"         BAD_REQUEST            "The cursor is refused"                           "Start again without a cursor. A cursor is good for one caller, pattern, order and set of parameters, for a time."
    NoFeed           "no-feed"            NOT_IMPLEMENTED        "This cannot be followed"                          "Read `detail`: it says what is in the way. Ask for it without `Accept: text/event-stream`."
    TooLarge         "too-large"          UNPROCESSABLE_ENTITY   "There is more to read than the pattern may"      "Ask a pattern that reads less. One that sorts, or that looks for one item, reads as many items as the design says with `whole`, and 32 MB, at most."
    KeyReused        "idempotency-key-reused" UNPROCESSABLE_ENTITY "The idempotency key belongs to another request" "Give every request a key of its own; repeat a request under its key only unchanged."

    // Who asks.
    TokenInvalid     "token-invalid"      UNAUTHORIZED           "The token is refused"                            "Bring a token that was made for this design."
    TokenExpired     "token-expired"      UNAUTHORIZED           "The token has expired"                           "Bring a new token."
    WrongCredentials "wrong-credentials"  UNAUTHORIZED           "The login or the password is wrong"               "Try again, or ask for a new password. Which of the two is wrong is not said."
    AccountClosed    "account-closed"     UNAUTHORIZED           "The account is gone or not active"               "An administrator may activate it. Its sessions and tokens count for nothing until then."
    NotProvisioned   "not-provisioned"    FORBIDDEN              "There is no account for this token"              "Read `detail`: which claim is missing, or which value somebody else has. An id token has more claims than an access token."
    SignInInvalid    "sign-in-invalid"    FORBIDDEN              "The sign-in did not begin in this browser"       "Begin again, in the same browser. A sign-in is good once, for ten minutes."
    ProviderRefused  "provider-refused"   FORBIDDEN              "The provider does not vouch for you"             "Read `detail`: what the provider said, or what is wrong with its token. Begin again."
    ProviderUnavailable "provider-unavailable" SERVICE_UNAVAILABLE "The provider cannot be asked"                  "Try again later, or sign in otherwise. The server's log says why."
    Unverified       "unverified"         FORBIDDEN              "The address is not confirmed"                    "Open the link that was mailed to it, or ask for a new password, which confirms it too."
    LinkInvalid      "link-invalid"       FORBIDDEN              "The link is not good any more"                   "Ask for another. A link is good once, for a time, and for the password and address that the account had."
    BadOrigin        "bad-origin"         FORBIDDEN              "The request comes from a page of somebody else"  "Send a write with a cookie from a page of the server's own, at its `--public-url`, or bring a token."
    LastWay          "last-way"           CONFLICT               "There would be no way to sign in"                "Choose a password first, by the link that `request-reset` mails, or sign in at another provider."
    Unauthenticated  "unauthenticated"    UNAUTHORIZED           "This needs a token"                              "Send `Authorization: Bearer` and a token."
    Forbidden        "forbidden"          FORBIDDEN              "This is not allowed"                             "`rule` is the rule of the design that decided; somebody else may do it."
    LimitReached     "limit-reached"      TOO_MANY_REQUESTS      "This was done as often as it may be"             "Wait as many seconds as `wait` and the header `Retry-After` say."

    TooManyKeys      "too-many-keys"      TOO_MANY_REQUESTS      "Too much was written under idempotency keys"     "Wait as many seconds as `wait` and the header `Retry-After` say, or write without a key. Repeating a request under its key is always answered."

    BadSignature     "bad-signature"      FORBIDDEN              "The signed URL is refused"                       "Ask for another; a signed URL is good for one method, file and caller."
    UrlExpired       "url-expired"        FORBIDDEN              "The signed URL has expired"                      "Ask for another."

    // Files.
    WrongType        "wrong-type"         UNSUPPORTED_MEDIA_TYPE "The file is of another type"                     "Send the `Content-Type` that the upload was asked for."
    Uploaded         "uploaded"           CONFLICT               "This file was uploaded already"                  "Ask for another upload to send something else."
    TooManyUploads   "too-many-uploads"   TOO_MANY_REQUESTS      "You have too many uploads that nothing names"    "Name them in items, or wait as many seconds as `wait` and the header `Retry-After` say: the first of them is removed then."
    FilesUnavailable "files-unavailable"  SERVICE_UNAVAILABLE    "Files cannot be reached"                         "The server's log says why; nothing was changed."

    // What is there.
    NotFound         "not-found"          NOT_FOUND              "There is no such item"                           "It is not there, or you may not see it."
    Exists           "exists"             CONFLICT               "There is such an item already"                   "Change it with PATCH, or create one with another identity."
    Taken            "taken"              CONFLICT               "Another item has this value"                     "Give another value for what `faults` lists. With other faults it is one of those of `invalid`."
    StaleVersion     "stale-version"      PRECONDITION_FAILED    "The item was changed since it was read"          "Read it again, and repeat the change with its new `ETag`."
    PreconditionFailed "precondition-failed" PRECONDITION_FAILED "What the request is conditional on is not so"    "`If-None-Match: *` is for what is not there yet, `If-Match: *` for what is."
    Requirement      "requirement"        CONFLICT               "What this requires is not so"                    "`rule` is what the design requires."
    InUse            "in-use"             CONFLICT               "Others refer to this item"                       "Delete what refers to it first; `by` says what that is."
    StillRemoved     "still-removed"      CONFLICT               "What belonged to it is still being removed"      "Try again later, or use another identity."
    NotDeleted       "not-deleted"        CONFLICT               "Only what is deleted can be restored or purged"  "Nothing: it is there."
    NotRestorable    "not-restorable"     CONFLICT               "This entity has no soft delete"                  "Create the item again."
    TooMuch          "too-much"           UNPROCESSABLE_ENTITY   "This write is larger than a transaction"         "Write less at once; a transaction has at most 100 actions."
    TooMuchMemory    "too-much-memory"    UNPROCESSABLE_ENTITY   "This takes more memory than one request may have" "Ask for less at once: give the operations in several batches, or make the items smaller."
    RefusedByStore   "refused-by-store"   UNPROCESSABLE_ENTITY   "The store refuses this item"                     "Read `detail`: an item has at most 400 KB, say."

    // The server.
    Drift            "drift"              CONFLICT               "Something that is derived is wrong"               "Nothing was changed. Try again; if it stays so, who runs the server mends it: `partita verify` shows what is wrong, and `partita repair` mends it. `attribute` says what it is."
    Conflict         "conflict"           CONFLICT               "Others are writing to the same items"            "Try again in as many seconds as `Retry-After` says: nothing was changed. `hot` says which key of the design it is."
    Superseded       "superseded"         SERVICE_UNAVAILABLE    "The design has changed meanwhile"                "Try again: nothing was changed."
    OutcomeUnknown   "outcome-unknown"    SERVICE_UNAVAILABLE    "Nobody can say whether this was carried out"     "Repeat it with the same `Idempotency-Key`, or read before you repeat it."
    Timeout          "timeout"            SERVICE_UNAVAILABLE    "The store does not answer in time"               "Try again."
    Throttled        "throttled"          SERVICE_UNAVAILABLE    "There is no capacity right now"                  "Try again in as many seconds as `Retry-After` says: nothing was changed. `hot` says which key of the design it is, where the store does."
    Unavailable      "unavailable"        SERVICE_UNAVAILABLE    "The store is unavailable"                        "The server's log says why; nothing was changed."
    DiskFull         "disk-full"          SERVICE_UNAVAILABLE    "The server's disk is full"                       "Nothing was changed, and reads go on. Who runs the server frees space on its disk; writes are taken again by themselves. Try again after as many seconds as `wait` and the header `Retry-After` say."
    ReadOnly         "read-only"          SERVICE_UNAVAILABLE    "The data is moving to another store"              "Nothing was changed, and reads go on. Who runs the server has copied the data elsewhere and starts a server there. Try again after as many seconds as `wait` and the header `Retry-After` say."
    Importing        "importing"          SERVICE_UNAVAILABLE    "The data is being imported"                       "Nothing was changed. Who runs the server fills the tables from files, and nobody reads a part of the items. Try again after as many seconds as `wait` and the header `Retry-After` say."
    Corrupt          "corrupt"            INTERNAL_SERVER_ERROR  "Stored data is damaged"                          "The server's log says where."
    Internal         "internal"           INTERNAL_SERVER_ERROR  "Something went wrong"                            "The server's log says what, under the id in `instance`."
}

impl ProblemKind {
    /// The `type` of the document.
    pub fn uri(self) -> String {
        format!("urn:partita:problem:{}", self.name())
    }

    /// Whether the same request may succeed in a moment.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            ProblemKind::Throttled
                | ProblemKind::Timeout
                | ProblemKind::OutcomeUnknown
                | ProblemKind::Conflict
        )
    }
}
