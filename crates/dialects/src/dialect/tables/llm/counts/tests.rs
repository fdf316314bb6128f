use super::*;

fn counts(text: &str) -> (Option<u64>, Option<u64>, Option<u64>) {
    let counts = context_counts(text);
    (counts.input, counts.output, counts.limit)
}

/// The tokens of the input, of the output, and the limit, 0 where the sentence does not say.
const SENTENCES: &str = "
 213462 |     0 |  200000 | prompt is too long: 213462 tokens > 200000 maximum
 213462 |     0 |  200000 | input length exceeds context limit: 213462 > 200000
1091639 |     0 | 1048576 | The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).
1091639 |     0 | 1048575 | The input token count is 1091639 but model only supports up to 1048575
 140000 |     0 |  128000 | prompt token count of 140000 exceeds the limit of 128000
    100 |  4000 |    4097 | This model's maximum context length is 4097 tokens, however you requested 4100 tokens (100 in your prompt; 4000 for the completion).
  17000 |     0 |   16384 | This model's maximum context length is 16384 tokens, however you requested 17000 tokens.
 130000 | 10000 |  131072 | This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output).
    100 |  5000 |    4096 | 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).
   5000 |     0 |    4096 | This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.
   5000 |     0 |    4096 | The decoder prompt (length 5000) is longer than the maximum model length of 4096.
   5000 |     0 |    4096 | Input validation error: `inputs` must have less than 4096 tokens. Given: 5000
   7000 |  2000 |    8193 | `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 2000 `max_new_tokens`
  40000 |     0 |   32768 | Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
 537812 |     0 |  131072 | This model's maximum prompt length is 131072 but the request contains 537812 tokens.
   5000 |     0 |    4096 | The input (5000 tokens) is longer than the model's context length (4096 tokens).
 140000 |     0 |  131071 | The prompt is too long: 140000, model maximum context length: 131071
 300000 |     0 |  272000 | Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300,000 tokens.
  11530 |     0 |    8192 | Too many input tokens. Max input tokens: 8192, request input token count: 11530
   5000 |     0 |    4096 | request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it
   9000 |     0 |    8192 | Your request exceeded model token limit: 8192 (requested: 9000)
      0 |     0 |    4096 | the model is loaded with context length of only 4096 tokens
      0 |     0 |    4081 | too many tokens: size limit exceeded by 3000 tokens. The limit for this model is 4081 tokens.
      0 |     0 |       0 | This model supports at most 16384 completion tokens
   9000 |     0 |       0 | The maximum is exceeded. Your prompt: 9000 tokens
      0 |     0 |   32768 | The maximum context length of gpt-4-32k-0613 v1.5 is 32768 tokens
";

#[test]
fn every_provider_has_a_sentence_of_its_own() {
    for row in SENTENCES.trim().lines() {
        let mut cells = row.splitn(4, " | ");
        let mut count = || cells.next().unwrap().trim().parse().unwrap();
        let mut some = || Some(count()).filter(|count: &u64| *count > 0);
        let wanted = (some(), some(), some());
        let text = cells.next().unwrap();
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
