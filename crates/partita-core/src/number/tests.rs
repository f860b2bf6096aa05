use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// A table: what is read, and the text it prints as or `!` and the variant of its error.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (input, expected) in cases {
        assert_eq!(outcome(input.parse()), *expected, "reading `{input}`");
    }
}

fn outcome(result: Result<Number, NumberError>) -> String {
    match result {
        Ok(number) => number.to_string(),
        Err(NumberError::Invalid { .. }) => "!Invalid".to_owned(),
        Err(error) => format!("!{error:?}"),
    }
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

const NINES_38: &str = "99999999999999999999999999999999999999";

#[test]
fn reads_and_normalises() {
    check(&[
        ("0", "0"),
        ("-0", "0"),
        ("+0.00", "0"),
        ("-0e5", "0"),
        ("1", "1"),
        ("1.0", "1"),
        ("1e0", "1"),
        ("+7", "7"),
        ("00042", "42"),
        ("-00042.5000", "-42.5"),
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("1.5E2", "150"),
        ("1.50", "1.5"),
        ("-1e-3", "-0.001"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5e1", "-5"),
        ("5.e1", "50"),
        ("12.34e1", "123.4"),
        ("12.34e2", "1234"),
        ("100e-2", "1"),
        ("1e00000000000000000000003", "1000"),
        ("12345678901234567890", "12345678901234567890"),
        (
            "10000000000000000000000000000000000001",
            "10000000000000000000000000000000000001",
        ),
    ]);
}

#[test]
fn refuses_what_is_not_a_number() {
    let inputs = [
        "",
        " ",
        " 1",
        "1 ",
        "1 2",
        "+",
        "-",
        ".",
        "-.",
        "e",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1e-",
        "1e5.0",
        "1e 5",
        "--1",
        "+-1",
        "1-",
        "1.2.3",
        "1..2",
        "1e5e5",
        "1_000",
        "1,000",
        "0x10",
        "NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "abc",
        "1f",
        "1d",
        "١",
        "１",
        "−1",
        "1\0",
        "1\n",
    ];
    for input in inputs {
        check(&[(input, "!Invalid")]);
    }
}

#[test]
fn counts_significant_digits_only() {
    check(&[
        (
            &format!("1{}", "0".repeat(50)),
            &format!("1{}", "0".repeat(50)),
        ),
        (&format!("{}1.0", "0".repeat(5000)), "1"),
        (&format!("1.{}", "0".repeat(5000)), "1"),
        (&format!("0.{}1e200", "0".repeat(199)), "1"),
        (&format!("1{}e-200", "0".repeat(200)), "1"),
        (NINES_38, NINES_38),
        (&format!("{NINES_38}0"), &format!("{NINES_38}0")),
        (&format!("{NINES_38}1"), "!TooManyDigits"),
        (&format!("{NINES_38}.1"), "!TooManyDigits"),
        (&format!("0.{NINES_38}1"), "!TooManyDigits"),
        (&format!("1{}1", "0".repeat(37)), "!TooManyDigits"),
        (&format!("1{}1", "0".repeat(5000)), "!TooManyDigits"),
        // Of two broken rules the digits are named.
        (&format!("{NINES_38}1e200"), "!TooManyDigits"),
        // The form is judged first.
        (&format!("{NINES_38}1x"), "!Invalid"),
    ]);
}

#[test]
fn bounds_the_magnitude() {
    let largest = format!("{NINES_38}{}", "0".repeat(88));
    let smallest = format!("0.{}1", "0".repeat(129));
    let longest = format!("-0.{}{NINES_38}", "0".repeat(129));
    let huge = "9".repeat(10_000);
    check(&[
        ("9.9999999999999999999999999999999999999e125", &largest),
        (&format!("-{NINES_38}e88"), &format!("-{largest}")),
        ("1e126", "!Overflow"),
        ("-1e126", "!Overflow"),
        ("0.1e127", "!Overflow"),
        ("10e124", &format!("1{}", "0".repeat(125))),
        ("1e-130", &smallest),
        ("-1e-130", &format!("-{smallest}")),
        ("9.9999999999999999999999999999999999999e-131", "!Underflow"),
        ("-9.9999999999999999999999999999999999999e-130", &longest),
        ("1e-131", "!Underflow"),
        ("0.1e-129", &smallest),
        ("1e999999999", "!Overflow"),
        ("1e-999999999", "!Underflow"),
        ("1e9223372036854775807", "!Overflow"),
        ("1.5e-9223372036854775808", "!Underflow"),
        (&format!("1e{huge}"), "!Overflow"),
        (&format!("-0.001e-{huge}"), "!Underflow"),
        ("0e999999999", "0"),
        ("-0.0e-999999999", "0"),
        (&format!("0e{huge}"), "0"),
        (&format!("1e{huge}x"), "!Invalid"),
    ]);
}

#[test]
fn speaks_as_dynamodb_does() {
    let message = |text: &str| text.parse::<Number>().unwrap_err().to_string();
    let invalid = "The parameter cannot be converted to a numeric value";
    assert_eq!(message("a b"), format!("{invalid}: a b"));
    assert_eq!(message(""), invalid);
    let long = message(&"é".repeat(1000));
    assert_eq!(long, format!("{invalid}: {}…", "é".repeat(64)));
    assert_eq!(
        message("1e126"),
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    );
    assert_eq!(
        message("1e-131"),
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    );
    assert_eq!(
        message(&"1".repeat(39)),
        "Attempting to store more than 38 significant digits in a Number"
    );
}

#[test]
fn prints_with_the_formatters_width() {
    assert_eq!(
        format!("{:>6}|{:<5}|", number("-1.5"), number("0")),
        "  -1.5|0    |"
    );
    assert_eq!(format!("{:?}", number("-1.50")), "Number(-1.5)");
}

#[test]
fn one_value_is_one_key() {
    let spellings = ["1", "1.0", "1e0", "+1", "0.1e1", "10e-1"];
    let values: HashSet<Number> = spellings.into_iter().map(number).collect();
    assert_eq!(values.len(), 1);
    assert_eq!(number("-0"), Number::ZERO);
    assert_eq!(-Number::ZERO, Number::default());
}

/// From the smallest to the largest, for both orders.
const ASCENDING: &[&str] = &[
    "-9.9999999999999999999999999999999999999e125",
    "-1e125",
    "-1001",
    "-1000",
    "-999",
    "-10.1",
    "-10.01",
    "-10",
    "-9.99",
    "-1.01",
    "-1",
    "-0.1",
    "-0.09",
    "-1.1e-130",
    "-1e-130",
    "0",
    "1e-130",
    "1.0000000000000000000000000000000000001e-130",
    "0.001",
    "0.01",
    "0.0100001",
    "0.011",
    "0.1",
    "1",
    "1.00000001",
    "1.01",
    "9",
    "10",
    "10.0001",
    "99",
    "100",
    "101",
    "99999999999999999999999999999999999999",
    "1e38",
    "1e125",
    "9.9999999999999999999999999999999999999e125",
];

#[test]
fn orders_values_and_bytes() {
    let numbers: Vec<Number> = ASCENDING.iter().copied().map(number).collect();
    for (i, a) in numbers.iter().enumerate() {
        for (j, b) in numbers.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
            assert_eq!(
                ordered(*a).cmp(&ordered(*b)),
                i.cmp(&j),
                "bytes of {a} and {b}"
            );
        }
    }
}

fn ordered(number: Number) -> Vec<u8> {
    let mut out = Vec::new();
    number.write_ordered(&mut out);
    out
}

#[test]
fn ordered_bytes_have_this_layout() {
    // Stored on disk, so a change here is a change of format.
    assert_eq!(ordered(number("0")), [2]);
    assert_eq!(ordered(number("1")), [3, 130, 11, 0]);
    assert_eq!(ordered(number("-1")), [1, 125, 244, 255]);
    assert_eq!(ordered(number("1005")), [3, 133, 11, 6, 0]);
    assert_eq!(ordered(number("9e125"))[1], 255);
    assert_eq!(ordered(number("-9e-130"))[1], 255);
    assert_eq!(ordered(number(NINES_38)).len(), 22);
}

#[test]
fn refuses_bytes_it_did_not_write() {
    let twenty_pairs = [&[3, 255][..], &[11; 20], &[0]].concat();
    let cases: &[&[u8]] = &[
        &[],
        &[0],
        &[4],
        &[3],
        &[3, 130],
        &[3, 130, 0],
        &[3, 130, 11],
        &[3, 130, 101, 102, 0],
        &[3, 130, 10, 0],
        &[3, 130, 1, 11, 0],
        &[3, 130, 11, 1, 0],
        &[1, 125, 244],
        &[1, 125, 255],
        &twenty_pairs,
    ];
    for bytes in cases {
        assert_eq!(Number::read_ordered(bytes), None, "{bytes:?}");
    }
}

#[test]
fn adds_exactly_or_fails() {
    let small = "0.00000000000000000000000000000000000001";
    let cases = [
        ("1", "2", "3"),
        ("0", "1e-130", &format!("0.{}1", "0".repeat(129))),
        ("1e125", "0", &format!("1{}", "0".repeat(125))),
        ("0.1", "0.2", "0.3"),
        ("-5", "5", "0"),
        ("99.5", "0.5", "100"),
        ("1e3", "-1", "999"),
        ("-1e3", "1", "-999"),
        ("1", "-1e3", "-999"),
        ("1e50", "1", "!TooManyDigits"),
        ("1e125", "1e-130", "!TooManyDigits"),
        ("1e125", "-1e-130", "!TooManyDigits"),
        // 39 digits that come back to 38 or fewer, and some that do not.
        (NINES_38, "1", &format!("1{}", "0".repeat(38))),
        (NINES_38, NINES_38, "!TooManyDigits"),
        (NINES_38, "11", &format!("1{}10", "0".repeat(36))),
        (NINES_38, "2", "!TooManyDigits"),
        ("5e37", "5e37", &format!("1{}", "0".repeat(38))),
        // Aligned to 39 digits, where the subtraction gives one back.
        ("1e38", "1", "!TooManyDigits"),
        ("1e38", "-1", NINES_38),
        ("-1e38", "1", &format!("-{NINES_38}")),
        ("1e37", "1", "10000000000000000000000000000000000001"),
        ("2e38", "-1", "!TooManyDigits"),
        (
            "3.4e38",
            "-99999999999999999999999999999999999999",
            "!TooManyDigits",
        ),
        (
            "1",
            &format!("-{small}"),
            "0.99999999999999999999999999999999999999",
        ),
        ("1", small, "!TooManyDigits"),
        // The edges of the range.
        ("9e125", "1e125", "!Overflow"),
        ("-9e125", "-1e125", "!Overflow"),
        (&format!("{NINES_38}e88"), "1e88", "!Overflow"),
        (&format!("{NINES_38}e88"), "1e87", "!TooManyDigits"),
        ("1.1e-130", "-1e-130", "!Underflow"),
    ];
    for (left, right, expected) in cases {
        let (left, right) = (number(left), number(right));
        assert_eq!(
            outcome(left.checked_add(right)),
            *expected,
            "{left} + {right}"
        );
        assert_eq!(
            outcome(right.checked_add(left)),
            *expected,
            "{right} + {left}"
        );
        assert_eq!(
            outcome(left.checked_sub(-right)),
            *expected,
            "{left} - -{right}"
        );
    }
}

#[test]
fn sizes_count_pairs_of_digits() {
    let cases = [
        ("0", 1),
        ("1", 2),
        ("-1", 3),
        ("12", 2),
        ("123", 3),
        ("-123", 4),
        ("1234", 3),
        ("1.2", 3),
        ("12.3", 3),
        ("1.23", 3),
        ("123.456", 5),
        // Only whole pairs of zeros are trimmed, and only at the ends.
        ("10", 2),
        ("100", 2),
        ("1000", 2),
        ("1230", 3),
        ("12300", 3),
        ("10001", 4),
        ("0.1", 2),
        ("0.01", 2),
        ("0.001", 2),
        ("0.012", 3),
        ("0.0012", 2),
        ("1e125", 2),
        ("-1e-130", 3),
        (NINES_38, 20),
        ("9.9999999999999999999999999999999999999", 21),
        ("-9.9999999999999999999999999999999999999", 22),
    ];
    for (text, expected) in cases {
        assert_eq!(number(text).size_bytes(), expected, "{text}");
    }
}

#[test]
fn converts_integers() {
    for value in [0, 1, -1, 10, -1000, i64::MAX, i64::MIN] {
        assert_eq!(Number::from(value).to_string(), value.to_string());
        assert_eq!(Number::from(value).to_i64(), Some(value));
    }
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
    assert_eq!(Number::from(i32::MIN).to_string(), i32::MIN.to_string());
    for text in [
        "0.5",
        "-1e-130",
        "9223372036854775808",
        "-9223372036854775809",
        "1e19",
        "1e125",
    ] {
        assert_eq!(number(text).to_i64(), None, "{text}");
    }
    assert_eq!(number("1e18").to_i64(), Some(1_000_000_000_000_000_000));
    assert!(number("1.0e3").is_integer() && Number::ZERO.is_integer());
    assert!(!number("0.5").is_integer() && !number("-10.01").is_integer());
}

/// An independent number: a sign and one array of decimal digits wide enough for every value and
/// every sum, with the units digit at `UNITS`.
#[derive(Clone, Debug, PartialEq)]
struct Naive {
    negative: bool,
    digits: Vec<u8>,
}

const WIDTH: usize = 320;
const UNITS: usize = 140;

impl Naive {
    /// From plain decimal text, as `Display` writes it.
    fn from_plain(text: &str) -> Naive {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut digits = vec![0; WIDTH];
        for (place, digit) in integer.bytes().chain(fraction.bytes()).enumerate() {
            digits[UNITS + 1 + place - integer.len()] = digit - b'0';
        }
        Naive {
            negative: text.starts_with('-'),
            digits,
        }
    }

    fn cmp(&self, other: &Naive) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.digits.cmp(&other.digits),
            (true, true) => other.digits.cmp(&self.digits),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    fn is_zero(&self) -> bool {
        self.digits.iter().all(|&digit| digit == 0)
    }

    fn negated(mut self) -> Naive {
        self.negative = !self.is_zero() && !self.negative;
        self
    }

    fn add(&self, other: &Naive) -> Naive {
        let (large, small) = if self.digits >= other.digits {
            (self, other)
        } else {
            (other, self)
        };
        let sign = if self.negative == other.negative {
            1
        } else {
            -1
        };
        let mut digits = vec![0; WIDTH];
        let mut carry = 0;
        for place in (0..WIDTH).rev() {
            let sum = large.digits[place] as i8 + sign * small.digits[place] as i8 + carry;
            digits[place] = sum.rem_euclid(10) as u8;
            carry = sum.div_euclid(10);
        }
        assert_eq!(carry, 0);
        let sum = Naive {
            negative: large.negative,
            digits,
        };
        if sum.is_zero() {
            Naive {
                negative: false,
                ..sum
            }
        } else {
            sum
        }
    }

    /// What DynamoDB's bounds make of this value.
    fn bounded(self) -> Result<Naive, NumberError> {
        let Some(first) = self.digits.iter().position(|&digit| digit != 0) else {
            return Ok(self);
        };
        let last = self.digits.iter().rposition(|&digit| digit != 0).unwrap();
        if last - first >= 38 {
            Err(NumberError::TooManyDigits)
        } else if first < UNITS - 125 {
            Err(NumberError::Overflow)
        } else if first > UNITS + 130 {
            Err(NumberError::Underflow)
        } else {
            Ok(self)
        }
    }
}

/// Any number, with many short ones, round ones and ones of few distinct digits.
fn any_number() -> impl Strategy<Value = Number> {
    (any::<bool>(), digit_text(), magnitudes()).prop_map(|(negative, digits, magnitude)| {
        let sign = if negative { "-" } else { "" };
        let (first, rest) = digits.split_at(1);
        number(&format!("{sign}{first}.{rest}e{magnitude}"))
    })
}

fn digit_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        "[1-9]",
        "[1-9][0-9]{0,5}",
        "[1-9][0-9]{0,37}",
        "[1-9][0-9]{36,37}",
        "[19][09]{0,37}",
    ]
}

fn magnitudes() -> impl Strategy<Value = i32> {
    prop_oneof![
        -130..=125i32,
        -40..=40i32,
        -3..=3i32,
        120..=125i32,
        -130..=-125i32
    ]
}

/// A pair whose digits often overlap, touch or just miss each other.
fn any_pair() -> impl Strategy<Value = (Number, Number)> {
    let near = (any_number(), any_number(), -39..=39i32).prop_map(|(left, right, shift)| {
        let moved = i32::try_from(left.magnitude()).unwrap() + shift;
        let exponent = moved - i32::try_from(right.magnitude()).unwrap();
        (left, format!("{right}e{exponent}").parse().unwrap_or(right))
    });
    prop_oneof![(any_number(), any_number()), near]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn printing_then_reading_is_identity(n in any_number()) {
        prop_assert_eq!(number(&n.to_string()), n);
    }

    #[test]
    fn never_panics_on_text(text in "[-+]?[0-9.]{0,60}([eE][-+]?[0-9]{0,25})?|\\PC{0,20}") {
        if let Ok(n) = text.parse::<Number>() {
            prop_assert_eq!(number(&n.to_string()), n);
        }
    }

    #[test]
    fn three_orders_agree((a, b) in any_pair()) {
        let naive = Naive::from_plain(&a.to_string()).cmp(&Naive::from_plain(&b.to_string()));
        prop_assert_eq!(a.cmp(&b), naive);
        prop_assert_eq!(ordered(a).cmp(&ordered(b)), naive);
        prop_assert_eq!(a == b, naive == Ordering::Equal);
    }

    #[test]
    fn bytes_after_a_number_never_matter_to_its_order(
        (a, b) in any_pair(), after_a in any::<Vec<u8>>(), after_b in any::<Vec<u8>>(),
    ) {
        let bytes_a = [ordered(a), after_a.clone()].concat();
        let bytes_b = [ordered(b), after_b.clone()].concat();
        prop_assert_eq!(bytes_a.cmp(&bytes_b), a.cmp(&b).then(after_a.cmp(&after_b)));
    }

    #[test]
    fn reads_back_what_it_wrote(n in any_number(), after in any::<Vec<u8>>()) {
        let written = ordered(n);
        let bytes = [written.clone(), after].concat();
        prop_assert_eq!(Number::read_ordered(&bytes), Some((n, written.len())));
    }

    #[test]
    fn any_bytes_it_reads_are_the_bytes_it_writes(
        class in 0..5u8, rest in proptest::collection::vec(prop_oneof![any::<u8>(), 0..3u8, 253..=255u8], 0..24),
    ) {
        let bytes = [vec![class], rest].concat();
        if let Some((n, len)) = Number::read_ordered(&bytes) {
            prop_assert_eq!(ordered(n), &bytes[..len]);
        }
    }

    #[test]
    fn sums_and_differences_match_digit_by_digit((a, b) in any_pair()) {
        let plain = |n: Number| Naive::from_plain(&n.to_string());
        let sum = plain(a).add(&plain(b)).bounded();
        prop_assert_eq!(a.checked_add(b).map(plain), sum);
        let difference = plain(a).add(&plain(b).negated()).bounded();
        prop_assert_eq!(a.checked_sub(b).map(plain), difference);
    }

    #[test]
    fn addition_commutes_and_is_undone((a, b) in any_pair()) {
        prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        if let Ok(back) = a.checked_add(b).and_then(|sum| sum.checked_sub(b)) {
            prop_assert_eq!(back, a);
        }
    }

    #[test]
    fn size_follows_the_printed_digits(n in any_number()) {
        let text = n.to_string();
        let unsigned = text.trim_start_matches('-');
        let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let padded_integer = if integer.len() % 2 == 1 { format!("0{integer}") } else { integer.to_owned() };
        let padded_fraction = if fraction.len() % 2 == 1 { format!("{fraction}0") } else { fraction.to_owned() };
        let digits = padded_integer + &padded_fraction;
        let pairs: Vec<&[u8]> = digits.as_bytes().chunks(2).collect();
        let first = pairs.iter().position(|pair| *pair != b"00");
        let last = pairs.iter().rposition(|pair| *pair != b"00");
        let count = first.zip(last).map_or(0, |(first, last)| last - first + 1);
        prop_assert_eq!(n.size_bytes(), 1 + count + usize::from(text.starts_with('-')));
    }
}

#[test]
fn the_next_integer_is_not_below() {
    for (text, expected) in [
        ("0", Some(0)),
        ("10", Some(10)),
        ("-10", Some(-10)),
        ("1.5", Some(2)),
        ("-1.5", Some(-1)),
        ("0.0001", Some(1)),
        ("-1E-130", Some(0)),
        ("1E-130", Some(1)),
        ("9223372036854775806.5", Some(i64::MAX)),
        ("9223372036854775807.5", None),
        ("-9223372036854775807.5", Some(i64::MIN + 1)),
        ("9E125", None),
    ] {
        let number: Number = text.parse().unwrap();
        assert_eq!(number.ceil_i64(), expected, "{text}");
    }
}

#[test]
fn digits_on_both_sides_of_the_point_are_bounded() {
    for (text, fits) in [
        ("0", true),
        ("999.99", true),
        ("-999.99", true),
        ("1000", false),
        ("0.01", true),
        ("0.001", false),
        ("999.999", false),
        ("1e-100", false),
        ("1e100", false),
    ] {
        let number: Number = text.parse().unwrap();
        assert_eq!(number.fits(3, 2), fits, "{text}");
    }
}
