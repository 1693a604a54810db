//! Kubernetes quantities as numbers.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// A quantity in billionths, exact: `100m`, `1.5`, `2Gi` and `1e3` are all integers in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

const BILLION: i128 = 1_000_000_000;

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// A whole number of units.
    pub const fn units(units: i64) -> Self {
        Self(units as i128 * BILLION)
    }

    /// A whole number of thousandths.
    pub const fn thousandths(thousandths: i64) -> Self {
        Self(thousandths as i128 * (BILLION / 1000))
    }

    /// Reads a quantity; an API server lets only well-formed ones pass, so anything else counts as nothing.
    pub fn of(quantity: &Quantity) -> Self {
        parse(&quantity.0).map_or(Self::ZERO, Self)
    }

    /// In thousandths, rounded up, as CPU is counted.
    pub fn in_thousandths(self) -> i64 {
        self.in_units_of(BILLION / 1000)
    }

    /// In whole units, rounded up, as bytes and everything but CPU are counted.
    pub fn in_units(self) -> i64 {
        self.in_units_of(BILLION)
    }

    fn in_units_of(self, size: i128) -> i64 {
        let rounded = self.0.div_euclid(size) + i128::from(self.0.rem_euclid(size) > 0);
        i64::try_from(rounded).unwrap_or(if rounded > 0 { i64::MAX } else { i64::MIN })
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

fn parse(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = mantissa.checked_mul(factor(suffix)?)?;
    let divisor = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    // Finer than a billionth does not exist; like the API server, round away from zero.
    let value = scaled / divisor + i128::from(scaled % divisor != 0);
    Some(if negative { -value } else { value })
}

/// How many billionths a suffix stands for.
fn factor(suffix: &str) -> Option<i128> {
    let binary = |power: u32| Some(BILLION << (10 * power));
    match suffix {
        "" => Some(BILLION),
        "n" => Some(1),
        "u" => Some(1_000),
        "m" => Some(1_000_000),
        "k" => Some(BILLION * 1_000),
        "M" => Some(BILLION * 1_000_000),
        "G" => Some(BILLION * BILLION),
        "T" => Some(BILLION * BILLION * 1_000),
        "P" => Some(BILLION * BILLION * 1_000_000),
        "E" => Some(BILLION * BILLION * BILLION),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = u32::try_from(power + 9).ok()?;
            10i128.checked_pow(power)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::of(&Quantity(text.to_owned()))
    }

    #[test]
    fn quantities_read_as_the_api_server_reads_them() {
        for (text, units) in [
            ("0", 0),
            ("1", 1),
            ("1k", 1000),
            ("1Ki", 1024),
            ("1.5Gi", 1_610_612_736),
            ("1e3", 1000),
            ("2E", 2_000_000_000_000_000_000),
        ] {
            assert_eq!(amount(text).in_units(), units, "{text}");
        }
        for (text, thousandths) in [("100m", 100), ("0.1", 100), ("1", 1000), ("1.0005", 1001), ("5n", 1), ("1e-2", 10)] {
            assert_eq!(amount(text).in_thousandths(), thousandths, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_unit_counts_as_a_unit() {
        assert_eq!(amount("100m").in_units(), 1);
        assert_eq!(amount("1001m").in_units(), 2);
    }

    #[test]
    fn nonsense_counts_as_nothing() {
        for text in ["", "many", "1x", "--1", "1ee3"] {
            assert_eq!(amount(text), Amount::ZERO, "{text}");
        }
    }
}
