//! The fuzz targets about the endpoint, on the stable toolchain: fed with the corpus, and with
//! statements and requests of which a piece is missing, doubled, or another's.

use fastrand::Rng;

use crate::case;

#[path = "../../../../fuzz/src/endpoint.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other targets use the rest")]
mod endpoint;

/// Changed inputs of each target: a few with the other tests, more with `PARTITA_LONG=1`.
/// `scripts/fuzz` tries millions, and learns which ones are worth it.
fn changed_inputs() -> usize {
    match std::env::var_os("PARTITA_LONG") {
        Some(_) => 100_000,
        None => 2000,
    }
}

#[test]
fn statements() {
    let inputs = cases("partiql_").filter_map(|(_, body)| {
        let body: serde_json::Value = serde_json::from_str(&body).ok()?;
        let text = body["Statement"].as_str()?;
        Some(
            text.replace("partiql-select", "partiql")
                .replace("partiql-write", "partiql"),
        )
    });
    let inputs: Vec<String> = inputs.collect();
    feed(&inputs, &endpoint::partiql);
}

#[test]
fn legacy_parameters() {
    let tables = ["legacy-scan", "legacy-query", "legacy-write"];
    let inputs = cases("legacy_").filter(|(operation, _)| operation != "CreateTable");
    let inputs = inputs.map(|(operation, body)| {
        let body = tables
            .iter()
            .fold(body, |body, table| body.replace(table, "legacy"));
        format!("{operation} {body}")
    });
    let inputs: Vec<String> = inputs.collect();
    feed(&inputs, &|text| endpoint::legacy(text.as_bytes()));
}

#[test]
fn requests() {
    let inputs: Vec<String> = cases("")
        .map(|(operation, body)| format!("{operation} {body}"))
        .collect();
    feed(&inputs, &|text| endpoint::request(text.as_bytes()));
}

/// Operations and bodies of the files whose names begin so.
fn cases(prefix: &str) -> impl Iterator<Item = (String, String)> {
    let files = case::files().into_iter().filter(move |file| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    });
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    texts.flat_map(|text| {
        let cases = case::parse(&text).into_iter();
        cases.map(|case| (case.operation, case.body))
    })
}

fn feed(inputs: &[String], target: &dyn Fn(&str)) {
    assert!(inputs.len() > 20, "there are only {} inputs", inputs.len());
    inputs.iter().for_each(|input| target(input));
    let mut random = Rng::with_seed(1);
    for _ in 0..changed_inputs() {
        let changed = changed(&mut random, inputs);
        target(&changed);
    }
}

/// One input with a piece of another in place of one of its own.
fn changed(random: &mut Rng, inputs: &[String]) -> String {
    let mut pick = || inputs[random.usize(..inputs.len())].as_str();
    let (one, two) = (pick(), pick());
    let (start, end) = piece(random, one);
    let (from, to) = piece(random, two);
    format!("{}{}{}", &one[..start], &two[from..to], &one[end..])
}

/// The bounds of up to sixteen characters.
fn piece(random: &mut Rng, text: &str) -> (usize, usize) {
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if bounds.is_empty() {
        return (0, 0);
    }
    let start = random.usize(..bounds.len());
    let end = start + random.usize(..=16);
    let end = bounds.get(end).copied().unwrap_or(text.len());
    (bounds[start], end)
}
