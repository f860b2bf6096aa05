use proptest::prelude::*;

use super::*;

/// The text of `key` in the file.
fn text(source: &str) -> (Text, Report) {
    let report = Report::default();
    let table = read(source, &report);
    let text = table
        .into_iter()
        .find_map(|(name, node)| match node.content {
            Content::Text(text) if name.text == "key" => Some(text),
            _ => None,
        });
    (text.expect("there is such a text"), report)
}

/// What the file has in the place of `word` of the decoded text.
fn written<'s>(source: &'s str, word: &str) -> &'s str {
    let (text, _) = text(source);
    let start = text.as_str().find(word).expect("the word is in the text");
    let span = text.at(start..start + word.len());
    &source[span.start..span.end]
}

#[test]
fn places_inside_strings() {
    for (source, word, expected) in [
        ("key = \"USER#{x}\"", "x", "x"),
        ("key = 'USER#{x}'", "x", "x"),
        ("key = \"\\u0055SER#{x}\"", "x", "x"),
        ("key = \"\\u0055SER#{x}\"", "USER", "\\u0055SER"),
        ("key = \"\\U0001D11E{x}\"", "x", "x"),
        ("key = \"\\U0001D11E{x}\"", "𝄞", "\\U0001D11E"),
        ("key = \"é\\t\\\"{x}\"", "\"{x", "\\\"{x"),
        ("key = 'a\\u0055{x}'", "\\u0055{x", "\\u0055{x"),
        ("key = \"\"\"\nUSER#{x}\"\"\"", "USER#{x}", "USER#{x}"),
        ("key = \"\"\"\r\nUSER#{x}\"\"\"", "USER#{x}", "USER#{x}"),
        ("key = \"\"\"a\\\n   {x}\"\"\"", "{x}", "{x}"),
        ("key = \"\"\"ab\\\n   {x}\"\"\"", "ab", "ab"),
        (
            "key = \"\"\"a\\   \n\n   {x}\"\"\"",
            "a{x}",
            "a\\   \n\n   {x}",
        ),
        ("key = \"\"\"a\"\"{x}\"\"\"\"\"", "{x}\"\"", "{x}\"\""),
        ("key = '''\n''{x}'''", "''{x}", "''{x}"),
        ("\"key\" = \"{x}\"", "x", "x"),
    ] {
        assert_eq!(written(source, word), expected, "{source}");
    }
}

#[test]
fn places_inside_quotes_inside_strings() {
    let source = "key = \"\\u0050K = 'it''s {x}'\"";
    let (text, _) = text(source);
    let start = text.as_str().find('\'').expect("a quote");
    let inner = text.unquote(start..text.as_str().len());
    assert_eq!(inner.as_str(), "it's {x}");
    let at = inner.as_str().find("{x}").expect("a placeholder");
    let span = inner.at(at..at + 3);
    assert_eq!(&source[span.start..span.end], "{x}");
    let empty = text.unquote(start..start + 2);
    assert_eq!(empty.as_str(), "");
}

#[test]
fn the_end_of_a_text_is_before_its_quotes() {
    let source = "key = \"ab\" # c";
    let (text, _) = text(source);
    let end = text.at(2..2);
    assert_eq!((end.start, end.end), (9, 9));
    let beyond = text.at(5..9);
    assert_eq!((beyond.start, beyond.end), (9, 9));
}

#[test]
fn newer_syntax_is_refused() {
    let codes = |source: &str| {
        let report = Report::default();
        read(source, &report);
        let findings = report.findings();
        let codes = findings
            .iter()
            .map(|finding| finding.diagnostic.code.as_str());
        codes.collect::<Vec<_>>().join(" ")
    };
    for (source, expected) in [
        ("a = { b = 1, c = [\n1,\n] }", ""),
        ("a = { b = '''\n''' }", ""),
        ("a = {}", ""),
        ("a = { b.c = 1, b.d = \"x,y\" }", ""),
        ("a = [\n{ b = 1 },\n]", ""),
        ("a = \"\\u001b\"", ""),
        ("a = { b = 1, }", "toml-version"),
        ("a = { b = 1,\n c = 2 }", "toml-version"),
        ("a = {\n}", "toml-version"),
        ("a = { # why\n b.c = 1 }", "toml-version"),
        ("a = { b = { c = 1, } }", "toml-version"),
        ("a = \"\\e\"", "toml-version"),
        ("a = \"\\x41\"", "toml-version"),
        ("a = '\\e'", ""),
    ] {
        assert_eq!(codes(source), expected, "{source}");
    }
}

proptest! {
    /// Our decoder, which only serves to find places, agrees with that of TOML.
    #[test]
    fn every_letter_has_its_own_place(
        letters in prop::collection::vec(prop::sample::select(&[
            "a", "é", "𝄞", "\\u0055", "\\U0001D11E", "\\n", "\\\"", "\\\\", "\\t", "'", " ",
        ][..]), 0..20),
        quotes in prop::sample::select(&["\"", "\"\"\""][..]),
    ) {
        let source = format!("key = {quotes}{}{quotes}", letters.concat());
        let (text, report) = text(&source);
        prop_assert!(!report.has_errors());
        let mut offset = 0;
        for (letter, written) in text.as_str().chars().zip(&letters) {
            let span = text.at(offset..offset + letter.len_utf8());
            prop_assert_eq!(&source[span.start..span.end], *written);
            offset += letter.len_utf8();
        }
    }
}
