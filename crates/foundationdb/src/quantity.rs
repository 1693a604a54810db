//! Kubernetes quantities.

/// Whether one quantity is less than another. What can't be read is not less than anything.
pub(crate) fn is_less(one: &str, other: &str) -> bool {
    one != other && matches!((amount(one), amount(other)), (Some(one), Some(other)) if one < other)
}

/// The number behind a quantity such as `500m` or `8Gi`.
pub(crate) fn amount(quantity: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let text = quantity.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (suffix, factor) = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix))?;
    text.strip_suffix(suffix)?.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers() {
        assert_eq!(amount("8Gi"), Some(8_589_934_592.0));
        assert_eq!(amount("500m"), Some(0.5));
        assert_eq!((amount("2"), amount("1.5"), amount("1e3")), (Some(2.0), Some(1.5), Some(1000.0)));
        assert_eq!(amount("much"), None);
    }

    #[test]
    fn quantities_are_compared_whatever_they_are_written_in() {
        assert!(is_less("128G", "128Gi") && is_less("1.5Gi", "2Gi") && is_less("1e3", "1001") && is_less("500m", "1"));
        assert!(!is_less("1Ti", "1024Gi") && !is_less("much", "1Gi") && !is_less("1Gi", "1Zi"));
    }
}
