//! StreamSpecification.

use partita_store::stream::StreamView;
use serde::Deserialize;

use crate::constraints::{Choice, Constraints};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::ops) struct StreamSpecification {
    stream_enabled: Option<bool>,
    stream_view_type: Option<String>,
}

impl Choice for StreamView {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("NEW_IMAGE", StreamView::NewImage),
        ("OLD_IMAGE", StreamView::OldImage),
        ("NEW_AND_OLD_IMAGES", StreamView::NewAndOldImages),
        ("KEYS_ONLY", StreamView::KeysOnly),
    ];
}

/// What the service calls a view.
pub(in crate::ops) fn view_name(view: StreamView) -> &'static str {
    match view {
        StreamView::NewImage => "NEW_IMAGE",
        StreamView::OldImage => "OLD_IMAGE",
        StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
        StreamView::KeysOnly => "KEYS_ONLY",
    }
}

/// A specification whose parts are what they may be, each for itself.
#[derive(Clone, Copy)]
pub(in crate::ops) struct ParsedStream {
    is_enabled: bool,
    view: Option<StreamView>,
}

impl StreamSpecification {
    pub(in crate::ops) fn check(
        constraints: &mut Constraints,
        specification: Option<&StreamSpecification>,
    ) -> Option<ParsedStream> {
        let specification = specification?;
        let enabled = &specification.stream_enabled;
        constraints.required("streamSpecification.streamEnabled", enabled);
        let view = &specification.stream_view_type;
        let view = constraints.choice("streamSpecification.streamViewType", view);
        enabled.map(|is_enabled| ParsedStream { is_enabled, view })
    }
}

impl ParsedStream {
    /// The stream that is asked for, if one is. A view belongs to a stream and to nothing else:
    /// the service has two sentences for that, which differ from operation to operation.
    pub(in crate::ops) fn resolve(
        self,
        view_missing: &'static str,
        view_unexpected: &'static str,
    ) -> Result<Option<StreamView>, Refusal> {
        match (self.is_enabled, self.view) {
            (true, None) => Err(Refusal::validation(view_missing)),
            (false, Some(_)) => Err(Refusal::validation(view_unexpected)),
            (_, view) => Ok(view),
        }
    }
}
