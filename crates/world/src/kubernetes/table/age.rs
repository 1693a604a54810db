//! How long ago, in the words of kubectl.

use jiff::Timestamp;
use serde_json::Value;

/// The age of something with this timestamp.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    let Some(then) = time.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return "<unknown>".to_owned() };
    duration(now.as_second() - then.as_second())
}

/// Two units at most, and only one where the second no longer matters.
pub(super) fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |first: i64, unit: &str, rest: i64, small: &str| {
        if rest == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{rest}{small}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 | 0 => "0s".to_owned(),
        1..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ages_lose_precision_as_they_grow() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (10800, "3h"),
            (10860, "3h1m"),
            (86400, "24h"),
            (200_000, "2d7h"),
            (700_000, "8d"),
        ] {
            assert_eq!(super::duration(seconds), text, "{seconds}");
        }
    }
}
