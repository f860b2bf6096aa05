//! Diagnostics as people read them.

use partita_design::{Colours, check, render, shipped};

fn rendered(change: impl Fn(&str) -> String) -> String {
    let source = change(shipped::find("stories").unwrap().source);
    let (_, diagnostics) = check(&source, &|_| None);
    render("stories.toml", &source, &diagnostics, Colours::Off)
}

#[test]
fn a_misspelt_attribute() {
    insta::assert_snapshot!(rendered(|source| {
        source.replacen("STORY#{storyId}", "STORY#{stroyId}", 1)
    }));
}

#[test]
fn two_records_with_one_key() {
    insta::assert_snapshot!(rendered(|source| {
        source.replace("\"NODE#{nodeId}\"", "\"METADATA\"")
    }));
}

#[test]
fn a_warning_that_nobody_accepted() {
    insta::assert_snapshot!(rendered(|source| {
        let end = source
            .find("[[accept]]\nwarning = \"prefix-overlap\"")
            .unwrap();
        source[..end].to_owned()
    }));
}

#[test]
fn a_file_that_ends_too_early() {
    insta::assert_snapshot!(rendered(|source| {
        let end = source.find("[entity.Story]").unwrap();
        format!("{}[entity.Story", &source[..end])
    }));
}

#[test]
fn a_parameter_that_hides_an_attribute_far_away() {
    insta::assert_snapshot!(rendered(|source| {
        let gap = "# A comment.\n".repeat(40);
        let action =
            "[action.rename]\nentity = \"Story\"\nparams = { title = \"string\" }\ndelete = true\n";
        format!("{source}\n{gap}\n{action}")
    }));
}

#[test]
fn colours() {
    let source = "design = 1";
    let (_, diagnostics) = check(source, &|_| None);
    let plain = render("x.toml", source, &diagnostics, Colours::Off);
    let coloured = render("x.toml", source, &diagnostics, Colours::On);
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains('\u{1b}'));
}

/// A line as long as a file is not shown whole.
#[test]
fn a_line_that_is_too_long() {
    let text = rendered(|source| {
        let long = "x".repeat(100_000);
        source.replacen("design", &format!("{long} = 1\ndesign"), 1)
    });
    assert!(text.len() < 10_000, "{} bytes", text.len());
    assert!(text.contains('…'), "{text}");
}

#[test]
fn a_text_that_looks_like_html() {
    let source = shipped::find("stories").unwrap().source;
    let (design, _) = check(source, &|_| None);
    let mut design = design.unwrap();
    design.about = Some("a <script>b</script> & c".to_owned());
    let page = partita_design::page::page(&design);
    assert!(
        page.contains("a &lt;script&gt;b&lt;/script&gt; &amp; c"),
        "{page}"
    );
}
