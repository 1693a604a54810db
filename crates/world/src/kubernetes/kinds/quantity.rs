//! Amounts, as the API writes them back: `1` is `"1"`, `1000m` is `"1"`, `1024Mi` is `"1Gi"`.

use serde_json::{Number, Value};

/// Writes every amount below `requests` and `limits` in its canonical form.
pub(super) fn canonical(resources: &mut Value) {
    for list in ["requests", "limits"] {
        for amount in resources.get_mut(list).and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut()) {
            if let Some(text) = canonical_text(amount) {
                *amount = text.into();
            }
        }
    }
}

/// The canonical form of an amount; none if it is not one.
pub(crate) fn canonical_text(amount: &Value) -> Option<String> {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => Number::to_string(number),
        _ => return None,
    };
    let split = text.find(|character: char| !(character.is_ascii_digit() || "+-.".contains(character))).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    if let Some(power) = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|one| *one == suffix).filter(|power| *power > 0)
    {
        let mut whole: i128 = match digits.parse() {
            Ok(whole) => whole,
            Err(_) => return Some(text),
        };
        let mut power = power;
        while whole != 0 && whole % 1024 == 0 && power < 6 {
            whole /= 1024;
            power += 1;
        }
        return Some(format!("{whole}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]));
    }
    let exponent: i32 = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        other => other.strip_prefix(['e', 'E'])?.parse().ok()?,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent = exponent - i32::try_from(fraction.len()).ok()?;
    while number != 0 && number % 10 == 0 {
        number /= 10;
        exponent += 1;
    }
    if number == 0 {
        return Some("0".to_owned());
    }
    while exponent % 3 != 0 {
        number *= 10;
        exponent -= 1;
    }
    let suffix = match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        0 => "",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => return Some(text),
    };
    Some(format!("{number}{suffix}"))
}

/// How many bytes, cores or pieces an amount stands for, rounded up.
pub(crate) fn bytes(text: &str) -> Option<i128> {
    let split = text.find(|character: char| character.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let factor: i128 = match suffix {
        "" => 1,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "m" => return digits.parse::<i128>().ok().map(|milli| milli.div_euclid(1000) + i128::from(milli % 1000 != 0)),
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some((format!("{whole}{fraction}").parse::<i128>().ok()? * factor + scale - 1) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_are_written_as_the_api_writes_them() {
        for (given, expected) in [
            (json!(1), "1"),
            (json!("1000m"), "1"),
            (json!("0.5"), "500m"),
            (json!("1024Mi"), "1Gi"),
            (json!("1500Mi"), "1500Mi"),
            (json!(1000), "1k"),
            (json!("100"), "100"),
            (json!("1e3"), "1k"),
            (json!("0"), "0"),
            (json!("1.5"), "1500m"),
        ] {
            assert_eq!(canonical_text(&given).as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn amounts_are_compared_by_size() {
        assert_eq!(bytes("1Gi"), Some(1 << 30));
        assert_eq!(bytes("1.5k"), Some(1500));
        assert_eq!(bytes("1500m"), Some(2));
    }
}
