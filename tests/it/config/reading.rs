//! What a reader hands over is counted while it is handed over.

use allocation_counter::measure;
use http_retry::config::{Document, RetryConfig};
use std::cell::Cell;

const MIB: u64 = 1024 * 1024;

/// Lists of lists, each of ten aliases of the one before.
fn aliases(levels: u32, leaf: &str) -> String {
    let mut text = format!("a0: &a0 {leaf}\n");
    for level in 1..=levels {
        let ten = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{ten}]\n"));
    }
    text
}

#[test]
fn aliases_of_a_yaml_document_end_at_the_most_values() {
    let text = aliases(6, &format!("[{}]", vec!["1"; 1_000].join(", ")));
    assert!(text.len() < 5_000);
    let mut error = String::new();
    let cost = measure(|| {
        let read = serde_yaml_ng::from_str::<Document>(&text);
        error = read.unwrap_err().to_string();
    });
    assert!(error.contains("holds more than 100000 values"), "{error}");
    assert!(cost.bytes_max < 32 * MIB, "{}", cost.bytes_max);
}

#[test]
fn aliases_of_a_long_text_end_at_the_most_text() {
    let text = aliases(4, &"x".repeat(1_000));
    let mut error = String::new();
    let cost = measure(|| {
        let read = serde_yaml_ng::from_str::<Document>(&text);
        error = read.unwrap_err().to_string();
    });
    assert!(
        error.contains("holds more than 1048576 bytes of text"),
        "{error}"
    );
    assert!(cost.bytes_max < 8 * MIB, "{}", cost.bytes_max);
}

#[test]
fn a_document_may_grow_with_each_service_and_no_more() {
    let services = |count: usize, each: &str| {
        let all = (0..count).map(|n| format!("s{n}: {each}"));
        let all: Vec<String> = all.collect();
        format!(
            "version: 1\nx: &x [{}]\nservices: {{{}}}",
            "1, ".repeat(60),
            all.join(", ")
        )
    };
    let read = |text: &str| serde_yaml_ng::from_str::<Document>(text);
    assert!(
        read(&services(
            10_000,
            "{a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}"
        ))
        .is_ok()
    );
    let error = read(&services(10_000, "*x")).unwrap_err().to_string();
    let most = error.split("holds more than ").nth(1).unwrap();
    let most = most.split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!((100_000..=100_000 + 40 * 10_000).contains(&most), "{error}");
    let elsewhere = services(10_000, "*x").replace("services", "others");
    let error = read(&elsewhere).unwrap_err().to_string();
    assert!(error.contains("holds more than 100000 values"), "{error}");
}

#[test]
fn a_document_that_is_too_deep_is_refused_while_it_is_read() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(serde_json::from_str::<Document>(&deep(64)).is_ok());
    let error = serde_json::from_str::<Document>(&deep(65)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("nested more than 64 levels deep"),
        "{error}"
    );
}

#[test]
fn a_byte_order_mark_is_left_out() {
    let json = |text: &str| Document::from_text(text, serde_json::from_str);
    let marked = json("\u{feff}{\"version\": 1}").unwrap();
    assert!(RetryConfig::load(&marked).is_ok());
    assert!(json("{\u{feff}\"version\": 1}").is_err());
}

#[test]
fn a_mistake_that_a_parser_does_not_name_is_named() {
    let yaml = |text: &str| {
        let read = Document::from_text(text, serde_yaml_ng::from_str);
        read.unwrap_err().to_string()
    };
    let tab = yaml("version: 1\nretry:\n\tbase: 2s\n");
    assert!(tab.contains("line 3"), "{tab}");
    assert!(
        tab.ends_with(": indent with spaces, not with tabs"),
        "{tab}"
    );
    let other = yaml("version: 1\nretry: @\n\t\n");
    assert!(!other.contains("tabs"), "{other}");
    for blank in ["", " \n", "\u{feff}"] {
        let read = Document::from_text(blank, serde_json::from_str);
        let error = read.unwrap_err().to_string();
        assert_eq!(error, "the document is empty: write version: 1");
    }
}

#[test]
fn a_text_beyond_its_bounds_does_not_reach_the_reader() {
    let was_asked = Cell::new(false);
    fn yaml(asked: &Cell<bool>, text: &str) -> Result<Document, serde_yaml_ng::Error> {
        asked.set(true);
        serde_yaml_ng::from_str(text)
    }
    let open = "[".repeat(129);
    let too_open = "the text has more than 128 brackets open at once";
    for (text, wanted) in [
        (
            format!("version: 1 #{}", "x".repeat(1024 * 1024)),
            "the text has more than 1048576 bytes",
        ),
        (open.clone(), too_open),
        (open.replace('[', "{a: "), too_open),
    ] {
        let error = Document::from_text(&text, |text| yaml(&was_asked, text)).unwrap_err();
        assert_eq!(error.to_string(), wanted);
        assert!(!was_asked.get());
    }
    let many = vec!["{status: 500}"; 200].join(", ");
    let many = format!("version: 1\nretry: {{retry_on: [{many}]}}");
    let document = Document::from_text(&many, |text| yaml(&was_asked, text)).unwrap();
    assert!(was_asked.get());
    assert!(RetryConfig::load(&document).is_ok());
}
