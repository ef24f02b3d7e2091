//! Numbers for people.

/// A duration with three significant digits.
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A size in bytes.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A share. 100 % is printed only for the whole.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1} %", share * 100.0);
    if text == "100.0 %" && share < 1.0 { "99.9 %".into() } else { text }
}

/// A size such as `64MiB`, `1GiB`, `500k` or `4096`, in bytes.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1_000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        _ => return Err(format!("`{text}`: the unit `{unit}` is unknown; use KiB, MiB or GiB")),
    };
    let value: f64 = number.parse().map_err(|_| format!("`{text}`: expected a size such as 64MiB"))?;
    let bytes = value * factor as f64;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(format!("`{text}`: out of range")) }
}

/// A time such as `60s`, `5m`, `1h`, `250ms` or `10`, seconds if there is no unit.
///
/// # Errors
/// A sentence that says what is expected.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(format!("`{text}`: the unit `{unit}` is unknown; use ms, s, m, h or d")),
    };
    let value: f64 = number.parse().map_err(|_| format!("`{text}`: expected a time such as 60s or 5m"))?;
    let seconds = value * factor;
    if seconds > 0.0 && seconds < 1e9 {
        Ok(std::time::Duration::from_secs_f64(seconds))
    } else {
        Err(format!("`{text}`: expected more than 0 and less than 30 years"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_949, "1000 µs"),
            (1_234_567, "1.23 ms"),
            (1_500_000_000, "1.50 s"),
            (123_456_000_000, "123 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn sizes_and_times_are_read_or_refused() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5k"), Ok(1536));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        for bad in ["", "MiB", "-1", "1 parsec", "1e99", "0", "9999999999999999999999GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_duration("250ms").map(|d| d.as_millis()), Ok(250));
        assert_eq!(parse_duration("5m").map(|d| d.as_secs()), Ok(300));
        for bad in ["", "s", "-5s", "0", "5 fortnights", "99999999999d"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert_eq!(percent(0.9999), "99.9 %");
        assert_eq!(percent(1.0), "100.0 %");
        assert_eq!((bytes(1023), bytes(1536)), ("1023 B".into(), "1.5 KiB".into()));
    }
}
