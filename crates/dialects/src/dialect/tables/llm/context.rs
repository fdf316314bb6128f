//! Prose that reports a request as too long for the model.

/// Returns `true` if a sentence reports that the prompt is too long for the model.
///
/// Not every provider has a code for this, so a sentence counts if it names both the measure (the context length, the
/// input tokens) and that it is exceeded. The length of a field, or of the output alone, does not count.
pub(super) fn overflows(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut sentences = text.split(['\n', ';']).flat_map(|line| line.split(". "));
    sentences.any(|sentence| {
        let has = |words: &str| words.split('|').any(|words| sentence.contains(words));
        has(PLAIN) || (has(MEASURED) && has(CONTEXT_EXCEEDED))
    })
}

const PLAIN: &str = "prompt is too long|prompt too long|input is too long|input too long|too many tokens|\
     too many input tokens|prompt exceeds max|input exceeds max";

const MEASURED: &str = "context length|context limit|context size|context window|decoder prompt|input length|\
     input token|input tokens|`inputs`|model length|number of tokens|prompt contains|prompt length|\
     prompt token|model token limit|token count|tokens in the prompt|total tokens";

const CONTEXT_EXCEEDED: &str = "at most|beyond|exceed|greater than|larger than|less than|longer than|maximum|must be <=|\
     only supports|overflow|too large|too long|too many";

#[cfg(test)]
mod tests {
    use super::overflows;

    #[test]
    fn a_prompt_that_does_not_fit_is_told_in_many_words() {
        for text in [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "Your input exceeds the context window of this model.",
            "prompt is too long: 213462 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "Input is too long for requested model.",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
            "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
            "the request exceeds the available context size. try increasing the context size",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            "Prompt exceeds max length",
            "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        ] {
            assert!(overflows(text), "{text}");
        }
    }

    #[test]
    fn a_field_or_an_answer_that_is_too_long_is_something_else() {
        for text in [
            "Invalid 'user': string too long. Expected a string with maximum length 64, but got 80 instead.",
            "max_tokens is too large: 20000. This model supports at most 16384 completion tokens.",
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for the model",
            "The context window beta is not enabled. A maximum of 3 betas is allowed.",
            "Invalid token ids: [15, 429, 88].",
            "Request too large",
            "",
        ] {
            assert!(!overflows(text), "{text}");
        }
    }
}
