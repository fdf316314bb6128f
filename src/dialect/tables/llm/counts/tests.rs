use super::*;

fn counts(text: &str) -> (Option<u64>, Option<u64>, Option<u64>) {
    let counts = context_counts(text);
    (counts.input, counts.output, counts.limit)
}

#[test]
fn every_provider_has_a_sentence_of_its_own() {
    for (text, input, output, limit) in [
        (
            "prompt is too long: 213462 tokens > 200000 maximum",
            213_462,
            0,
            200_000,
        ),
        (
            "input length exceeds context limit: 213462 > 200000",
            213_462,
            0,
            200_000,
        ),
        (
            "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
            1_091_639,
            0,
            1_048_576,
        ),
        (
            "The input token count is 1091639 but model only supports up to 1048575",
            1_091_639,
            0,
            1_048_575,
        ),
        (
            "prompt token count of 140000 exceeds the limit of 128000",
            140_000,
            0,
            128_000,
        ),
        (
            "This model's maximum context length is 4097 tokens, however you requested 4100 tokens (100 in your prompt; 4000 for the completion).",
            100,
            4_000,
            4_097,
        ),
        (
            "This model's maximum context length is 16384 tokens, however you requested 17000 tokens.",
            17_000,
            0,
            16_384,
        ),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output).",
            130_000,
            10_000,
            131_072,
        ),
        (
            "'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
            100,
            5_000,
            4_096,
        ),
        (
            "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
            5_000,
            0,
            4_096,
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            5_000,
            0,
            4_096,
        ),
        (
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            5_000,
            0,
            4_096,
        ),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 2000 `max_new_tokens`",
            7_000,
            2_000,
            8_193,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            40_000,
            0,
            32_768,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            537_812,
            0,
            131_072,
        ),
        (
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            5_000,
            0,
            4_096,
        ),
        (
            "The prompt is too long: 140000, model maximum context length: 131071",
            140_000,
            0,
            131_071,
        ),
        (
            "Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300,000 tokens.",
            300_000,
            0,
            272_000,
        ),
        (
            "Too many input tokens. Max input tokens: 8192, request input token count: 11530",
            11_530,
            0,
            8_192,
        ),
        (
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            5_000,
            0,
            4_096,
        ),
        (
            "Your request exceeded model token limit: 8192 (requested: 9000)",
            9_000,
            0,
            8_192,
        ),
        (
            "the model is loaded with context length of only 4096 tokens",
            0,
            0,
            4_096,
        ),
        (
            "too many tokens: size limit exceeded by 3000 tokens. The limit for this model is 4081 tokens.",
            0,
            0,
            4_081,
        ),
        (
            "This model supports at most 16384 completion tokens",
            0,
            0,
            0,
        ),
        (
            "The maximum is exceeded. Your prompt: 9000 tokens",
            9000,
            0,
            0,
        ),
        (
            "The maximum context length of gpt-4-32k-0613 v1.5 is 32768 tokens",
            0,
            0,
            32_768,
        ),
    ] {
        let some = |count| Some(count).filter(|count| *count > 0);
        let wanted = (some(input), some(output), some(limit));
        assert_eq!(counts(text), wanted, "{text}");
    }
}

#[test]
fn a_limit_and_a_request_stand_behind_their_words() {
    assert_eq!(
        limit_and_requested("Limit: 7,000, Used 0, Requested ~12903."),
        Some((7_000, 12_903))
    );
    assert_eq!(
        limit_and_requested("Limit 20 / day, Requested 1"),
        Some((20, 1))
    );
    assert_eq!(
        limit_and_requested("rate limit of 40,000 tokens, requested"),
        None
    );
    assert_eq!(limit_and_requested("Limit gpt-4 9, Requested 10"), None);
}

#[test]
fn a_limit_of_zero_is_a_whole_zero() {
    assert!(has_zero_limit(
        "metric: a, limit: 20\nmetric: b, limit: 0, model: c"
    ));
    assert!(has_zero_limit("Limit 0, Used 0"));
    for text in [
        "the limit, 0 of 5",
        "limit: 0.5",
        "limit: 05x",
        "limit: 20",
        "limit: -",
        "0 limit",
        "limit reached: 0",
    ] {
        assert!(!has_zero_limit(text), "{text}");
    }
}

#[test]
fn long_texts_and_numbers_are_bounded() {
    let text = format!("maximum {} {}", "9".repeat(300), "1 > ".repeat(100_000));
    assert_eq!(context_counts(&text).limit, Some(1));
    assert_eq!(counts("maximum 99999999999999999999999").2, Some(u64::MAX));
}
