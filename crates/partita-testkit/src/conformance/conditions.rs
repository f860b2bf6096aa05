//! What conditions say of an item, as filters and as guards of writes.

use partita_core::Item;
use partita_core::expression::{Bindings, Condition};

use super::bench::{Bench, Table};
use super::values::{
    With as _, binaries, bytes, condition, keys, list, map, numbers, row, strings,
};
use super::{expect, topic};
use partita_store::error::{ErrorKind, StoreResult};
use partita_store::request::{PutItem, Query, ReturnValues, TransactAction};

topic! {"conditions":
    comparisons,
    comparisons_across_types,
    what_is_missing,
    what_is_inside,
    functions,
    types,
    sizes,
    connectives,
    what_makes_no_sense_is_refused,
}

/// One attribute of each type, and some to compare them with.
fn specimen() -> Item {
    row("1")
        .with("s", "text")
        .with("empty", "")
        .with("n", 5)
        .with("negative", -1)
        .with("b", bytes([1, 2, 3]))
        .with("t", true)
        .with("z", partita_core::Value::Null)
        .with("l", list(["a".into(), 5.into(), list([1.into()])]))
        .with(
            "m",
            map([("x", 1.into()), ("y", map([("z", "deep".into())]))]),
        )
        .with("ss", strings(["a", "b"]))
        .with("ns", numbers([1, 2]))
        .with("bs", binaries([b"a"]))
        .with(
            "same_m",
            map([("y", map([("z", "deep".into())])), ("x", 1.into())]),
        )
        .with("same_ss", strings(["b", "a"]))
}

async fn comparisons(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "n = 5",
            "n <> 4",
            "n < 6",
            "n <= 5",
            "n > 4",
            "n >= 5",
            "n = 5.0",
            "5 = n",
            // By value and not by text.
            "n < 10",
            "negative < 0",
            "s = 'text'",
            "s < 'texu'",
            "s > 'tex'",
            "s > 'Text'",
            "t = true",
            "t <> false",
            "z = null",
            "m = same_m",
            "ss = same_ss",
            "l <> m",
            "n BETWEEN 5 AND 7",
            "n BETWEEN negative AND 5",
            "s BETWEEN 'a' AND 'z'",
            "n IN (1, 5)",
            "s IN (5, 'text')",
            "n IN (m.x, l[1])",
            "n > negative",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "n = 4",
            "n <> 5",
            "n < 5",
            "n <= 4",
            "n > 5",
            "n >= 6",
            "s = 'Text'",
            "s < 'tex'",
            "t = false",
            "m <> same_m",
            "ss <> same_ss",
            "n BETWEEN 6 AND 7",
            "n BETWEEN 1 AND 4",
            "n IN (1, 2)",
            "s IN ('tex')",
        ],
    )
    .await
}

async fn comparisons_across_types(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "n <> '5'",
            "s <> 5",
            "t <> 'true'",
            "z <> false",
            "ss <> ns",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "n = '5'",
            "n < '6'",
            "n > '4'",
            "s > 1",
            "b > 's'",
            "n BETWEEN '1' AND '9'",
            "n IN ('5')",
            "t = 'true'",
            "z = false",
            "ss = ns",
        ],
    )
    .await
}

async fn what_is_missing(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "missing <> 1",
            "NOT missing = 1",
            "NOT missing < 1",
            "missing <> n",
            "attribute_not_exists(missing)",
            "attribute_not_exists(m.missing)",
            "attribute_not_exists(l[3])",
            "attribute_not_exists(n.x)",
            "attribute_not_exists(m[0])",
            "attribute_exists(z)",
            "attribute_exists(empty)",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "missing = 1",
            "missing < 1",
            "missing >= 1",
            "missing = null",
            "missing = n",
            "missing BETWEEN 1 AND 2",
            "missing IN (1, 2)",
            "begins_with(missing, 'a')",
            "contains(missing, 'a')",
            "attribute_type(missing, 'NULL')",
            "size(missing) = 0",
            "attribute_exists(missing)",
            "attribute_exists(m.missing)",
            "attribute_not_exists(z)",
        ],
    )
    .await
}

async fn what_is_inside(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "m.x = 1",
            "m.y.z = 'deep'",
            "l[0] = 'a'",
            "l[2][0] = 1",
            "m.x = l[2][0]",
            "l[1] = n",
            "m.x < l[1]",
            "attribute_exists(m.y.z)",
            "attribute_exists(l[2][0])",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "m.x = 2",
            "m.y = 'deep'",
            "l[1] = 'a'",
            "l[9] = 'a'",
            "m.x.y = 1",
        ],
    )
    .await
}

async fn functions(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "begins_with(s, 'te')",
            "begins_with(s, 'text')",
            "begins_with(m.y.z, 'd')",
            "contains(s, 'ex')",
            "contains(s, 'text')",
            "contains(ss, 'a')",
            "contains(ns, 2)",
            "contains(l, 'a')",
            "contains(l, 5)",
            "contains(l, n)",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "begins_with(s, 'ext')",
            "begins_with(s, 'texts')",
            "begins_with(n, '5')",
            "begins_with(ss, 'a')",
            "contains(s, 'x y')",
            "contains(s, 5)",
            "contains(ss, 'ab')",
            "contains(ss, 1)",
            "contains(ns, 3)",
            "contains(l, '5')",
            "contains(m, 'x')",
            "contains(n, 5)",
        ],
    )
    .await
}

async fn types(bench: &Bench<'_>) -> StoreResult<()> {
    let all = [
        ("s", "S"),
        ("n", "N"),
        ("b", "B"),
        ("t", "BOOL"),
        ("z", "NULL"),
        ("l", "L"),
        ("m", "M"),
        ("ss", "SS"),
        ("ns", "NS"),
        ("bs", "BS"),
    ];
    let texts = all.map(|(name, letters)| format!("attribute_type({name}, '{letters}')"));
    hold(bench, &texts).await?;
    let texts = all.map(|(name, letters)| {
        let other = if letters == "S" { "SS" } else { "S" };
        format!("attribute_type({name}, '{other}')")
    });
    fail(bench, &texts).await
}

async fn sizes(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "size(s) = 4",
            "size(empty) = 0",
            "size(b) = 3",
            "size(l) = 3",
            "size(m) = 2",
            "size(ss) = 2",
            "size(ns) = 2",
            "size(bs) = 1",
            "size(s) < n",
            "size(m.y) = 1",
            "size(s) BETWEEN 1 AND 4",
            "size(s) IN (3, 4)",
            "size(s) > size(l)",
        ],
    )
    .await?;
    // Numbers, truth values and nulls have no size.
    fail(
        bench,
        &["size(n) = 1", "size(t) = 1", "size(z) = 0", "size(s) = 5"],
    )
    .await
}

async fn connectives(bench: &Bench<'_>) -> StoreResult<()> {
    hold(
        bench,
        &[
            "n = 5 AND s = 'text'",
            "n = 4 OR s = 'text'",
            "NOT n = 4",
            "NOT (n = 4 OR n = 3)",
            "n = 5 OR n = 4 AND n = 3",
            "NOT n = 4 AND n = 5",
            "NOT NOT n = 5",
            "(n = 5 OR n = 4) AND (s = 'text' OR s = '')",
        ],
    )
    .await?;
    fail(
        bench,
        &[
            "n = 5 AND s = ''",
            "n = 4 OR s = ''",
            "NOT n = 5",
            "(n = 5 OR n = 4) AND n = 3",
            "NOT (n = 5 AND s = 'text')",
        ],
    )
    .await
}

async fn what_makes_no_sense_is_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = specimen_table(bench).await?;
    for text in [
        "n BETWEEN 7 AND 5",
        "s BETWEEN 'b' AND 'a'",
        "n BETWEEN 1 AND 'a'",
        "n < true",
        "n >= null",
        "n = n",
        "begins_with(s, 5)",
        "begins_with(s, s)",
        "contains(l, l)",
        "n IN (1, n)",
    ] {
        let request = PutItem {
            condition: Some(condition(text)),
            ..table.putting(row("1"))
        };
        let result = bench.store.put_item(request, ReturnValues::None).await;
        let kind = result.as_ref().err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::FixRequest), "{text}: {result:?}");
        let query = Query {
            filter: Some(condition(text)),
            ..Query::new(table.name.clone(), keys("PK = 'p'"))
        };
        expect::invalid(bench.store.query(query).await);
    }
    assert_eq!(table.get(row("1")).await?, Some(specimen()));
    Ok(())
}

async fn hold(bench: &Bench<'_>, texts: &[impl AsRef<str>]) -> StoreResult<()> {
    check(bench, texts, true).await
}

async fn fail(bench: &Bench<'_>, texts: &[impl AsRef<str>]) -> StoreResult<()> {
    check(bench, texts, false).await
}

/// Asks each condition as a filter and as a check, and reports all that come out wrong.
async fn check(bench: &Bench<'_>, texts: &[impl AsRef<str>], expected: bool) -> StoreResult<()> {
    let table = specimen_table(bench).await?;
    let mut wrong = Vec::new();
    for text in texts.iter().map(AsRef::as_ref) {
        let condition = Condition::parse(text, &Bindings::Literals)
            .unwrap_or_else(|error| panic!("`{text}`: {error}"));
        let query = Query {
            filter: Some(condition.clone()),
            ..Query::new(table.name.clone(), keys("PK = 'p'"))
        };
        let passed = bench
            .store
            .query(query)
            .await
            .map(|page| !page.items.is_empty());
        let check = table.checking(row("1"), condition);
        let met = match table.transact(vec![TransactAction::Check(check)]).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::ConditionFailed => Ok(false),
            Err(error) => Err(error),
        };
        if (&passed, &met) != (&Ok(expected), &Ok(expected)) {
            wrong.push(format!(
                "`{text}` as a filter {passed:?}, as a check {met:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "expected {expected}:\n{}",
        wrong.join("\n")
    );
    Ok(())
}

async fn specimen_table<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    table.put(specimen()).await?;
    Ok(table)
}
