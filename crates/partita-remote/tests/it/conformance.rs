//! The suite, on AWS's own implementation.

use partita_remote::{RemoteStore, Timeouts};
use partita_store::conformance::{Case, cases, run_cases};
use partita_store::dynamodb_local::DynamoDbLocal;

/// Where DynamoDB Local differs from what Amazon documents of DynamoDB. All else must agree.
const DIFFERENCES: [(&str, &str); 3] = [
    (
        "pages::the_megabyte_counts_before_the_filter",
        "a query's megabyte is counted after the filter",
    ),
    (
        "transactions::an_item_may_not_be_checked_and_written",
        "a check behind a write of its item is not refused",
    ),
    (
        "names::a_name_may_be_long",
        "the longest names are answered with status 500",
    ),
];

#[tokio::test]
async fn dynamodb_local_conforms() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store = RemoteStore::local(&local.endpoint(), Timeouts::default());
    let reason = |case: &Case| {
        let name = case.name();
        let mut differences = DIFFERENCES.iter();
        differences.find(|(different, _)| *different == name)
    };
    let (different, same): (Vec<_>, Vec<_>) =
        cases().into_iter().partition(|case| reason(case).is_some());
    run_cases(&store, "remote", &same).await;

    // What is listed and does not differ any more is to be struck from the list.
    assert_eq!(different.len(), DIFFERENCES.len());
    for case in different {
        let result = case.run(&store, "remote").await;
        assert!(result.is_err(), "{case} passes now: {:?}", reason(&case));
    }
}
