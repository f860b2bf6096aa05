//! What concerns signatures.

pub(crate) const MISSING_AUTHENTICATION_TOKEN: &str = "Request is missing Authentication Token";
pub(crate) const UNRECOGNIZED_CLIENT: &str =
    "The security token included in the request is invalid.";
pub(crate) const SIGNATURE_DOES_NOT_MATCH: &str = "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";
pub(crate) const HOST_NOT_SIGNED: &str =
    "'Host' must be a 'SignedHeader' in the AWS Authorization.";

pub(crate) const WRONG_SERVICE: &str =
    "Credential should be scoped to correct service: 'dynamodb'. ";

pub(crate) fn incomplete_authorization(names: &[&str], no_date: bool, algorithm: &str) -> String {
    let mut message = String::new();
    for name in names {
        message += &format!("Authorization header requires '{name}' parameter. ");
    }
    if no_date {
        message +=
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
    }
    // The service repeats the whole header here; a signature belongs neither into an answer
    // nor into a client's log.
    message + "Authorization=" + algorithm
}

pub(crate) fn malformed_date(date: &str) -> String {
    format!(
        "Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
    )
}

pub(crate) fn signature_expired(date: &str, limit: &str, now: &str) -> String {
    format!("Signature expired: {date} is now earlier than {limit} ({now} - 15 min.)")
}

pub(crate) fn signature_early(date: &str, limit: &str, now: &str) -> String {
    format!("Signature not yet current: {date} is still later than {limit} ({now} + 15 min.)")
}

pub(crate) fn header_not_signed(name: &str) -> String {
    format!("'{name}' must be a 'SignedHeader' in the AWS Authorization.")
}

pub(crate) fn unsupported_algorithm(algorithm: &str) -> String {
    format!("Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). ")
}

pub(crate) fn malformed_credential(credential: &str) -> String {
    format!(
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{credential}'"
    )
}

pub(crate) fn wrong_terminator(terminator: &str) -> String {
    format!(
        "Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. "
    )
}

pub(crate) fn wrong_day(day: &str, date: &str) -> String {
    let expected = date.get(..8).unwrap_or(date);
    format!(
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{day}' != '{expected}', from '{date}'."
    )
}
