//! The suite, on AWS's own implementation.

use partita_remote::{RemoteStore, Timeouts};
use partita_testkit::conformance::{ConformanceCase, cases, run_cases};
use partita_testkit::dynamodb_local::DynamoDbLocal;

/// Where DynamoDB Local differs from what Amazon documents of DynamoDB. All else must agree.
const DIFFERENCES: [(&str, &str); 27] = [
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
    (
        "schemas::an_index_includes_twenty_names",
        "an index may include more names",
    ),
    (
        "returns::only_the_nested_parts_are_answered",
        "the whole attribute around a path is answered",
    ),
    (
        "returns::paths_into_lists_are_taken_at_their_word",
        "the whole list around an element is answered",
    ),
    (
        "index_pages::a_scans_filter_sees_the_entry",
        "a scan's filter sees the item behind an index's entry",
    ),
    (
        "local_indexes::a_key_that_does_not_fit_refuses_the_update",
        "an update may give a local index's key any type",
    ),
    (
        "capacity::a_missing_item_of_a_batch_counts",
        "a missing item of a batch costs nothing",
    ),
    (
        "capacity::a_batch_deletes_a_missing_item_for_one_unit",
        "a batch pays twice for deleting a missing item",
    ),
    (
        "capacity::each_action_of_a_transaction_counts",
        "actions of equal cost are charged once",
    ),
    (
        "capacity::a_transaction_pays_for_a_missing_item",
        "a transaction pays once for deleting a missing item",
    ),
    (
        "capacity::a_check_costs_as_much_as_a_write",
        "a check is charged as a read",
    ),
    (
        "index_capacity::a_transaction_costs_twice_for_the_table",
        "a transaction pays twice for indexes too",
    ),
    (
        "index_capacity::what_the_index_holds_is_not_fetched",
        "a local index reads the table for any projection",
    ),
    (
        "table_updates::what_does_not_fit_a_new_index_is_left_out",
        "empty and long keys are taken into a new index",
    ),
    (
        "table_updates::totals_are_counted",
        "an index's bytes are those of whole items",
    ),
    (
        "streams::larger_numbers_are_refused",
        "reading may begin at a number that is yet to come",
    ),
    ("removals::a_removal_creates_nothing", CREATES),
    (
        "removals::a_removal_in_a_transaction_creates_nothing",
        CREATES,
    ),
    ("removals::a_condition_is_asked_all_the_same", CREATES),
    (
        "removals::a_removal_of_nothing_is_not_in_the_stream",
        CREATES,
    ),
    ("tags::a_table_is_created_with_its_tags", NO_TAGS),
    ("tags::tags_are_added_and_replaced", NO_TAGS),
    ("tags::tags_are_taken_off", NO_TAGS),
    ("tags::tags_are_checked", NO_TAGS),
    ("tags::there_are_fifty_at_most", NO_TAGS),
];

const CREATES: &str = "an update that only removes creates the item that it does not find";
const NO_TAGS: &str = "there are no tags";

/// Where DynamoDB Local differs at times: it answers writes with status 500 while an index is
/// built, and on a fast machine the index may be there before the first of them.
const BY_CHANCE: &str = "table_updates::writes_go_on_while_an_index_is_built";

#[tokio::test]
async fn dynamodb_local_conforms() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store = RemoteStore::local(&local.endpoint(), Timeouts::default());
    let reason = |case: &ConformanceCase| {
        let name = case.name();
        let mut differences = DIFFERENCES.iter();
        differences.find(|(different, _)| *different == name)
    };
    let (chance, certain): (Vec<_>, Vec<_>) = cases()
        .into_iter()
        .partition(|case| case.name() == BY_CHANCE);
    assert_eq!(chance.len(), 1);
    let (different, same): (Vec<_>, Vec<_>) =
        certain.into_iter().partition(|case| reason(case).is_some());
    run_cases(&store, "remote", &same).await;

    // What is listed and does not differ any more is to be struck from the list.
    assert_eq!(different.len(), DIFFERENCES.len());
    for case in different {
        let result = case.run(&store, "remote").await;
        assert!(result.is_err(), "{case} passes now: {:?}", reason(&case));
    }
}
