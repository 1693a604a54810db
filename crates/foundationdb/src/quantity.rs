//! Kubernetes quantities, as far as volumes need them.

/// Whether one quantity is less than another. What can't be read is not less than anything.
pub(crate) fn is_less(one: &str, other: &str) -> bool {
    matches!((bytes(one), bytes(other)), (Some(one), Some(other)) if one < other)
}

/// A quantity in thousandths of a byte, so that every suffix is a whole number.
fn bytes(quantity: &str) -> Option<u128> {
    let quantity = quantity.trim();
    let end = quantity.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(quantity.len());
    let (number, suffix) = quantity.split_at(end);
    let scale: u128 = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "M" => 1000 * 1000_u128.pow(2),
        "G" => 1000 * 1000_u128.pow(3),
        "T" => 1000 * 1000_u128.pow(4),
        "P" => 1000 * 1000_u128.pow(5),
        "E" => 1000 * 1000_u128.pow(6),
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000 << 40,
        "Pi" => 1000 << 50,
        "Ei" => 1000 << 60,
        _ => 1000 * 10_u128.checked_pow(suffix.strip_prefix(['e', 'E'])?.parse().ok()?)?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let part = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
    let denominator = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole = part(whole)?.checked_mul(scale)?;
    whole.checked_add(part(fraction)?.checked_mul(scale)? / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_whatever_they_are_written_in() {
        assert!(is_less("128G", "128Gi") && is_less("1.5Gi", "2Gi") && is_less("1e3", "1001") && is_less("500m", "1"));
        assert!(!is_less("1Ti", "1024Gi") && !is_less("much", "1Gi") && !is_less("1Gi", "1Zi"));
        assert!(!is_less("1e99999999", "1"));
    }
}
