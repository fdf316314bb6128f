use super::*;

fn header(text: &str) -> Option<u128> {
    header_duration(text).map(|delay| delay.as_millis())
}

#[test]
fn a_header_holds_a_go_duration_or_seconds() {
    for (text, ms) in [
        ("1h2m3.5s", 3_723_500),
        ("6m0s", 360_000),
        ("0s", 0),
        (".5s", 500),
        (" 8.64s ", 8_640),
        ("1000ns", 1),
        ("1.0000000000000000000001s", 1_001),
        ("1.0000000000000000000000s", 1_000),
        ("12.25", 12_250),
        ("24h0m0s", 86_400_000),
    ] {
        assert_eq!(header(text), Some(ms), "{text}");
    }
    for text in [
        "-1s", "+1s", "1s2", "1 s", "1e3s", "1.s", ".", "..", "1,000", "1S", "0x1s", "٣s", "1s,",
        "-0",
    ] {
        assert_eq!(header(text), None, "{text}");
    }
}

#[test]
fn a_number_of_too_many_digits_saturates() {
    let long = "9".repeat(500);
    for text in [long.clone(), format!("{long}s"), format!("{long}h{long}h")] {
        assert!(header_duration(&text) > Some(Duration::from_secs(1 << 60)));
    }
}
