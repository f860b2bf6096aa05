//! DynamoDB's number: an exact decimal of at most 38 significant digits.
//!
//! [`Number`] is kept normalised, so `1`, `1.0` and `1e0` are one value, one key and one set
//! element. What is here, in order:
//!
//! - text: [`FromStr`] reads what Java's `BigDecimal` reads, and [`Display`](fmt::Display) writes
//!   plain decimals, as DynamoDB answers;
//! - arithmetic: [`Number::checked_add`] and [`Number::checked_sub`] are exact or they fail;
//! - order: [`Ord`] is numeric, and [`Number::write_ordered`] gives bytes that sort the same way;
//! - size: [`Number::size_bytes`] is what a number adds to the size of its item.
//!
//! There are no floats anywhere, and nothing is ever rounded.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;
use std::str::FromStr;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Significant digits a number may have.
const DIGITS_MAX: usize = 38;
/// The power of ten of the leading digit of the smallest number, 1E-130.
const MAGNITUDE_MIN: i64 = -130;
/// The power of ten of the leading digit of the largest number, 9.9…9E+125.
const MAGNITUDE_MAX: i64 = 125;
/// The powers of ten that a `u128` holds, by exponent.
const POWERS: [u128; DIGITS_MAX + 1] = powers_of_ten();

/// An exact decimal of up to 38 significant digits, from 1E-130 to 9.9…9E+125 in magnitude, or
/// zero.
// INVARIANT: `coefficient` is below 10^38 and has no trailing zero; zero is `false, 0, 0`. The
// derived equality and hash rest on it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// The upper and the lower half. A `u128` would make numbers, and so all values, half as large
    /// again, because it is aligned to 16 bytes.
    coefficient: [u64; 2],
    exponent: i16,
}

/// Why a text or a result is not a number that DynamoDB stores; the messages are DynamoDB's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The text does not have the form of a decimal number.
    #[error("The parameter cannot be converted to a numeric value{}", after_colon(.text))]
    Invalid {
        /// The text as given; a long one is cut and ends in `…`.
        text: String,
    },
    /// More than 38 significant digits, leading and trailing zeros not counted.
    #[error("Attempting to store more than 38 significant digits in a Number")]
    TooManyDigits,
    /// A magnitude of 1E+126 or more.
    #[error(
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    )]
    Overflow,
    /// A magnitude below 1E-130 that is not zero.
    #[error(
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    )]
    Underflow,
}

impl Number {
    /// Zero, which is also the default.
    pub const ZERO: Number = Number {
        negative: false,
        coefficient: [0, 0],
        exponent: 0,
    };

    const fn coefficient(self) -> u128 {
        (self.coefficient[0] as u128) << 64 | self.coefficient[1] as u128
    }

    /// The exact sum.
    ///
    /// # Errors
    ///
    /// Fails where the sum cannot be stored with all its digits: `1e50 + 1` is
    /// [`NumberError::TooManyDigits`], not a rounded sum.
    pub fn checked_add(self, other: Number) -> Result<Number, NumberError> {
        // A zero has no place value to align with: its exponent is 0 whatever the other number is.
        if self.coefficient() == 0 {
            return Ok(other);
        }
        if other.coefficient() == 0 {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        // If the aligned coefficient overflows a u128, the sum has more than 38 digits: the
        // coefficient is above 3.4·10^38, and `low` is below 10^38. `low` ends in a nonzero digit, so
        // the sum does too, and normalising cannot shorten it.
        let distance = usize::from(high.exponent.abs_diff(low.exponent));
        let aligned = POWERS
            .get(distance)
            .and_then(|&power| high.coefficient().checked_mul(power))
            .ok_or(NumberError::TooManyDigits)?;
        let (negative, coefficient) = if high.negative == low.negative {
            let sum = aligned
                .checked_add(low.coefficient())
                .ok_or(NumberError::TooManyDigits)?;
            (high.negative, sum)
        } else if aligned >= low.coefficient() {
            (high.negative, aligned - low.coefficient())
        } else {
            (low.negative, low.coefficient() - aligned)
        };
        Number::normalised(negative, coefficient, i64::from(low.exponent))
    }

    /// The exact difference.
    ///
    /// # Errors
    ///
    /// As [`Number::checked_add`].
    pub fn checked_sub(self, other: Number) -> Result<Number, NumberError> {
        self.checked_add(-other)
    }

    /// The bytes this number adds to the size of its item: 1, and 1 if negative, and 1 for each
    /// pair of digits.
    ///
    /// Pairs are the digits of base 100, so they are aligned at the decimal point: `12.3` is
    /// `12 30`, two pairs, and `1.23` is `01 23`. Pairs of zeros on either end do not count: `100`
    /// and `0.0001` have one pair each. For a number without such zeros this is
    /// `1 + ceil(integer digits / 2) + ceil(fraction digits / 2)`. Zero has no pairs and takes 1.
    pub fn size_bytes(&self) -> usize {
        if self.coefficient() == 0 {
            return 1;
        }
        let last_pair = i64::from(self.exponent).div_euclid(2);
        let pairs = self.magnitude().div_euclid(2) - last_pair + 1;
        let pairs = usize::try_from(pairs).expect("the leading digit is not below the last one");
        1 + pairs + usize::from(self.negative)
    }

    /// Whether there is nothing after the decimal point.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether it has at most so many digits before the decimal point, and at most so many after it.
    pub fn fits(&self, integer_digits: u8, decimals: u8) -> bool {
        let is_zero = self.coefficient() == 0;
        is_zero
            || (self.exponent >= -i16::from(decimals)
                && self.magnitude() < i64::from(integer_digits))
    }

    /// The same value as an `i64`, if it is an integer in range.
    pub fn to_i64(&self) -> Option<i64> {
        let power = POWERS.get(usize::try_from(self.exponent).ok()?)?;
        let absolute = i128::try_from(self.coefficient().checked_mul(*power)?).ok()?;
        i64::try_from(if self.negative { -absolute } else { absolute }).ok()
    }

    /// The smallest integer that is not below it, if an `i64` holds that.
    pub fn ceil_i64(&self) -> Option<i64> {
        if self.is_integer() {
            return self.to_i64();
        }
        let places = usize::from(self.exponent.unsigned_abs());
        // A coefficient has fewer digits than a power that is not in the table.
        let whole = POWERS
            .get(places)
            .map_or(0, |power| self.coefficient() / power);
        let whole = i64::try_from(whole).ok()?;
        // There is a fraction, because no coefficient ends in a zero.
        if self.negative {
            Some(-whole)
        } else {
            whole.checked_add(1)
        }
    }

    /// Appends bytes that compare as the numbers do, and that end where they say.
    ///
    /// No encoding is a prefix of another, so other bytes may follow in a composite key without
    /// disturbing the order. The layout: a byte for the sign; the power of ten of the leading
    /// digit, biased to a byte; the digits in pairs, each plus one; a zero byte. A negative number
    /// has all but its first byte complemented. Zero is its first byte alone. At most 22 bytes.
    pub fn write_ordered(&self, out: &mut Vec<u8>) {
        if self.coefficient() == 0 {
            out.push(ORDERED_ZERO);
            return;
        }
        out.push(if self.negative {
            ORDERED_NEGATIVE
        } else {
            ORDERED_POSITIVE
        });
        let flip = flip(self.negative);
        let magnitude = u8::try_from(self.magnitude() - MAGNITUDE_MIN)
            .expect("the range from 1E-130 to 9.9E+125 has 256 powers of ten");
        out.push(magnitude ^ flip);
        let (digits, len) = self.digits();
        for pair in digits[..len.next_multiple_of(2)].chunks_exact(2) {
            out.push((pair[0] * 10 + pair[1] + 1) ^ flip);
        }
        // Below every pair, so that a number sorts before those that continue it.
        out.push(ORDERED_END ^ flip);
    }

    /// Reads what [`Number::write_ordered`] wrote at the start of `bytes`, and how many bytes that
    /// was. Anything `write_ordered` would not have written is `None`.
    pub fn read_ordered(bytes: &[u8]) -> Option<(Number, usize)> {
        let negative = match *bytes.first()? {
            ORDERED_ZERO => return Some((Number::ZERO, 1)),
            ORDERED_NEGATIVE => true,
            ORDERED_POSITIVE => false,
            _ => return None,
        };
        let flip = flip(negative);
        let magnitude = i64::from(bytes.get(1)? ^ flip) + MAGNITUDE_MIN;
        let pairs = bytes.get(2..)?;
        let len = pairs
            .iter()
            .take(DIGITS_MAX / 2 + 1)
            .position(|byte| byte ^ flip == ORDERED_END)?;
        let mut coefficient = 0u128;
        for byte in &pairs[..len] {
            let pair = (byte ^ flip) - 1;
            if pair > 99 {
                return None;
            }
            coefficient = coefficient * 100 + u128::from(pair);
        }
        // One value has one encoding: it starts with a nonzero digit and ends with a nonzero pair.
        if digit_count(coefficient) != 2 * len || coefficient.is_multiple_of(100) {
            return None;
        }
        let exponent = magnitude + 1 - i64::try_from(2 * len).ok()?;
        let number = Number::normalised(negative, coefficient, exponent).ok()?;
        Some((number, 2 + len + 1))
    }

    /// Strips trailing zeros, then checks the bounds.
    // The digits are checked before the range, for a text as for a sum: of a number that breaks
    // both rules, we may know only that its digits are too many.
    fn normalised(
        negative: bool,
        mut coefficient: u128,
        mut exponent: i64,
    ) -> Result<Number, NumberError> {
        if coefficient == 0 {
            return Ok(Number::ZERO);
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent = exponent.saturating_add(1);
        }
        if digit_count(coefficient) > DIGITS_MAX {
            return Err(NumberError::TooManyDigits);
        }
        let magnitude = exponent.saturating_add(i64::from(coefficient.ilog10()));
        if magnitude > MAGNITUDE_MAX {
            return Err(NumberError::Overflow);
        }
        if magnitude < MAGNITUDE_MIN {
            return Err(NumberError::Underflow);
        }
        Ok(Number {
            negative,
            coefficient: [(coefficient >> 64) as u64, coefficient as u64],
            exponent: i16::try_from(exponent).expect("the magnitude is bounded"),
        })
    }

    fn from_integer(negative: bool, absolute: u64) -> Number {
        Number::normalised(negative, u128::from(absolute), 0)
            .expect("a u64 has 20 digits at most and no fraction")
    }

    /// -1, 0 or 1.
    fn signum(&self) -> i8 {
        match (self.coefficient(), self.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// The power of ten of the leading digit; 0 for zero.
    fn magnitude(&self) -> i64 {
        i64::from(self.exponent) + i64::from(self.coefficient().checked_ilog10().unwrap_or(0))
    }

    /// The coefficient moved left until it has 38 digits, to compare digits from the first one on.
    fn left_justified(&self) -> u128 {
        self.coefficient() * POWERS[DIGITS_MAX - digit_count(self.coefficient())]
    }

    /// The digits as values from 0 to 9, then zeros; and how many digits there are.
    fn digits(&self) -> ([u8; DIGITS_MAX], usize) {
        // Two u64 halves, because dividing a u128 is a call and dividing a u64 by ten is not.
        const HALF: usize = DIGITS_MAX / 2;
        let justified = self.left_justified();
        let mut digits = [0; DIGITS_MAX];
        let (left, right) = digits.split_at_mut(HALF);
        let halves = [
            (left, justified / POWERS[HALF]),
            (right, justified % POWERS[HALF]),
        ];
        for (half, value) in halves {
            let mut value = u64::try_from(value).expect("10^19 fits a u64");
            for digit in half.iter_mut().rev() {
                *digit = u8::try_from(value % 10).expect("a digit is below ten");
                value /= 10;
            }
        }
        (digits, digit_count(self.coefficient()))
    }
}

const ORDERED_NEGATIVE: u8 = 1;
const ORDERED_ZERO: u8 = 2;
const ORDERED_POSITIVE: u8 = 3;
const ORDERED_END: u8 = 0;

/// The mask that complements a negative number's bytes, so that more sorts as less.
fn flip(negative: bool) -> u8 {
    if negative { 0xff } else { 0 }
}

const fn powers_of_ten() -> [u128; DIGITS_MAX + 1] {
    let mut powers = [1; DIGITS_MAX + 1];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
}

fn digit_count(coefficient: u128) -> usize {
    coefficient
        .checked_ilog10()
        .map_or(0, |log| usize::try_from(log).expect("at most 38") + 1)
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let sizes = |left: &Number, right: &Number| {
            left.magnitude()
                .cmp(&right.magnitude())
                .then_with(|| left.left_justified().cmp(&right.left_justified()))
        };
        self.signum()
            .cmp(&other.signum())
            .then_with(|| match self.signum() {
                -1 => sizes(other, self),
                _ => sizes(self, other),
            })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Neg for Number {
    type Output = Number;

    fn neg(self) -> Number {
        Number {
            // There is no negative zero.
            negative: self.coefficient() != 0 && !self.negative,
            ..self
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::from_integer(value < 0, value.unsigned_abs())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::from_integer(false, value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Number {
        Number::from(i64::from(value))
    }
}

impl fmt::Display for Number {
    /// Writes plain decimal text: no exponent, no zeros that carry nothing, no `-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.coefficient() == 0 {
            return f.pad_integral(true, "", "0");
        }
        let (digits, len) = self.digits();
        let digits = digits.map(|digit| digit + b'0');
        // The longest text is `0.`, 129 zeros and 38 digits.
        let mut text = PlainText {
            bytes: [b'0'; 176],
            len: 0,
        };
        match usize::try_from(self.magnitude() + 1) {
            Ok(integer_digits) if integer_digits >= len => {
                text.push(&digits[..len]);
                text.push_zeros(integer_digits - len);
            }
            Ok(integer_digits @ 1..) => {
                text.push(&digits[..integer_digits]);
                text.push(b".");
                text.push(&digits[integer_digits..len]);
            }
            _ => {
                text.push(b"0.");
                let zeros = usize::try_from(-1 - self.magnitude()).expect("below one");
                text.push_zeros(zeros);
                text.push(&digits[..len]);
            }
        }
        f.pad_integral(!self.negative, "", text.as_str())
    }
}

/// Text under construction on the stack; `bytes` begins as the digit `0` throughout,
/// so that zeros are written by moving on.
struct PlainText {
    bytes: [u8; 176],
    len: usize,
}

impl PlainText {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn push_zeros(&mut self, count: usize) {
        self.len += count;
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("only ASCII was pushed")
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl FromStr for Number {
    type Err = NumberError;

    /// Reads `[+-]digits[.digits][e[+-]digits]`, where digits on one side of the point suffice.
    ///
    /// The work is linear in the length of the text, whatever its exponent says.
    fn from_str(text: &str) -> Result<Number, NumberError> {
        let (negative, rest) = split_sign(text.as_bytes());
        let read = Digits::read(rest).ok_or_else(|| NumberError::Invalid {
            text: shortened(text),
        })?;
        // A zero stays zero under every exponent, so this goes before the bounds.
        if read.significant == 0 {
            return Ok(Number::ZERO);
        }
        if read.significant > DIGITS_MAX {
            return Err(NumberError::TooManyDigits);
        }
        Number::normalised(negative, read.coefficient, read.exponent)
    }
}

/// The digits of a text as they are read, without the zeros on either end.
#[derive(Default)]
struct Digits {
    /// The digits up to the last nonzero one, while they are no more than 38.
    coefficient: u128,
    /// How many digits there are from the first nonzero one to the last.
    significant: usize,
    /// Zeros since the last nonzero digit; significant only if another one follows.
    zeros: usize,
    /// The power of ten of the last nonzero digit.
    exponent: i64,
}

impl Digits {
    fn read(unsigned: &[u8]) -> Option<Digits> {
        let (mantissa, exponent) =
            match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
                Some(at) => (&unsigned[..at], read_exponent(&unsigned[at + 1..])?),
                None => (unsigned, 0),
            };
        let (integer, fraction) = match mantissa.iter().position(|&byte| byte == b'.') {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &[][..]),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut read = Digits::default();
        for &byte in integer.iter().chain(fraction) {
            read.push(digit(byte)?);
        }
        read.exponent = exponent
            .saturating_sub(i64::try_from(fraction.len()).ok()?)
            .saturating_add(i64::try_from(read.zeros).ok()?);
        Some(read)
    }

    fn push(&mut self, digit: u8) {
        if digit == 0 {
            // Zeros before the first nonzero digit say nothing.
            self.zeros += usize::from(self.significant > 0);
            return;
        }
        let added = self.zeros + 1;
        self.significant += added;
        if self.significant <= DIGITS_MAX {
            self.coefficient = self.coefficient * POWERS[added] + u128::from(digit);
        }
        self.zeros = 0;
    }
}

/// The exponent after the `e`, saturated: any that does not fit an `i64` is far out of bounds.
fn read_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut absolute = 0i64;
    for &byte in digits {
        absolute = absolute
            .saturating_mul(10)
            .saturating_add(i64::from(digit(byte)?));
    }
    Some(if negative { -absolute } else { absolute })
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}

/// The text for a message. A number has no reason to be long, and a refused one may be megabytes.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 64;
    match text.char_indices().nth(CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// DynamoDB names the text it could not convert, except that it names no empty text.
fn after_colon(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}
