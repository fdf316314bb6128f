//! A RETRY block as a document writes it.

use super::{Exhausted, Given, Growth, Limit, Over, Retry, RetryBlock};
use crate::config::block::{Block, Node};
use crate::config::headers::{headers, is_map, name_of};
use crate::config::rule::read_set;
use crate::config::scalar::{decimal, duration, duration_or_none, percent};
use crate::config::value::Value;
use crate::config::when;
use crate::policy::{Cap, Counter, Decimal, Failover, Methods};
use http::{HeaderName, StatusCode};
use std::sync::Arc;

const MOST_PART: u32 = 1_000;
const MOST_ARGS: usize = 256;
const MOST_ARGS_TEXT: usize = 16 * 1024;
const MOST_CREDENTIALS: usize = 100;

impl RetryBlock {
    /// The block, or the name of another one that stands for it.
    pub(in crate::config) fn read(node: Node<'_>) -> Self {
        if let Value::Text(_) = node.value {
            return Self {
                uses: name(&node).and_then(|name| here(&node, name)),
                own: None,
            };
        }
        let Some(mut block) = node.block() else {
            return Self::default();
        };
        let read = Self {
            uses: take(&mut block, "use", name),
            own: read_fields(&mut block).unless_empty(),
        };
        block.end();
        read
    }
}

fn name(node: &Node<'_>) -> Option<Arc<str>> {
    Some(node.name()?.into())
}

fn here<T>(node: &Node<'_>, value: T) -> Option<Given<T>> {
    Some(Given {
        value,
        text: node.value.to_string().trim_matches('"').into(),
        from: node.path.as_str().into(),
    })
}

fn take<'a, T>(
    block: &mut Block<'a>,
    key: &'static str,
    read: impl FnOnce(&Node<'a>) -> Option<T>,
) -> Option<Given<T>> {
    let node = block.take(key)?;
    here(&node, read(&node)?)
}

fn read_fields(block: &mut Block<'_>) -> Retry {
    let mut retry = Retry {
        limit: limit(block),
        base: take(block, "base", duration),
        factor: take(block, "factor", |node| {
            decimal(node, Decimal::ONE, Decimal::from(MOST_PART))
        }),
        first_step: take(block, "first_step", |node| node.count(0, 1)),
        max_delay: take(block, "max_delay", duration_or_none),
        cap: take(block, "cap", |node| {
            node.word(&[
                ("both", Cap::Both),
                ("before", Cap::Before),
                ("after", Cap::After),
            ])
        }),
        retry_on: take(block, "retry_on", when::list),
        stop_on: take(block, "stop_on", when::list),
        methods: take(block, "methods", |node| {
            node.word(&[("idempotent", Methods::Idempotent), ("all", Methods::All)])
        }),
        deadline: take(block, "deadline", duration_or_none),
        attempt_timeout: take(block, "attempt_timeout", duration_or_none),
        counter: take(block, "counter", |node| {
            node.word(&[("request", Counter::Request), ("rule", Counter::Rule)])
        }),
        budget: take(block, "budget", name),
        credentials: take(block, "credentials", header_names).map(in_words),
        ..Retry::default()
    };
    if let Some(node) = block.take("backoff") {
        read_backoff(&mut retry, node);
    }
    if let Some(node) = block.take("jitter") {
        read_jitter(&mut retry, node);
    }
    if let Some(node) = block.take("retry_after") {
        read_retry_after(&mut retry, node);
    }
    if let Some(node) = block.take("on_exhausted") {
        read_on_exhausted(&mut retry, node);
    }
    retry
}

fn header_names(node: &Node<'_>) -> Option<Arc<[HeaderName]>> {
    let items = node.one_or_more();
    if items.len() > MOST_CREDENTIALS {
        node.problems.add(
            &node.path,
            &items.len(),
            format!("has more than {MOST_CREDENTIALS} names"),
        );
        return None;
    }
    let names = items.iter().map(|node| name_of(node.text()?, node));
    // Every name that is none is a problem of its own.
    let names: Vec<Option<HeaderName>> = names.collect();
    names.into_iter().collect()
}

fn in_words(names: Given<Arc<[HeaderName]>>) -> Given<Arc<[HeaderName]>> {
    let words: Vec<&str> = names.value.iter().map(HeaderName::as_str).collect();
    Given {
        text: words.join(", ").into(),
        ..names
    }
}

fn limit(block: &mut Block<'_>) -> Option<Given<Limit>> {
    let unlimited = |node: &Node<'_>| *node.value == Value::Text("unlimited".into());
    let retries = take(block, "max_retries", |node| {
        if unlimited(node) {
            return Some(Limit::Unlimited);
        }
        count(node, 0).map(Limit::Retries)
    });
    let attempts = take(block, "max_attempts", |node| {
        if unlimited(node) {
            return Some(Limit::Unlimited);
        }
        count(node, 1)?.checked_sub(1).map(Limit::Retries)
    });
    if let (Some(retries), Some(attempts)) = (&retries, &attempts) {
        let cause = format!(
            "max_retries is set too, to {}: give one of the two",
            retries.text
        );
        block.key("max_attempts").wrong(&attempts.text, cause);
    }
    retries.or(attempts.map(in_retries))
}

/// An explanation calls the field `max_retries`, so that is what it must show.
fn in_retries(attempts: Given<Limit>) -> Given<Limit> {
    let text = match attempts.value {
        Limit::Retries(retries) => retries.to_string().into(),
        Limit::Never | Limit::Unlimited => attempts.text,
    };
    Given { text, ..attempts }
}

fn count(node: &Node<'_>, least: u32) -> Option<u32> {
    match node.value {
        Value::Integer(_) => node.count(least, u32::MAX - 1),
        _ => {
            node.not("a whole number or unlimited");
            None
        }
    }
}

fn read_backoff(retry: &mut Retry, node: Node<'_>) {
    let growth = match node.value {
        Value::List(_) => {
            let delays = node.items();
            let read: Vec<_> = delays.iter().filter_map(duration).collect();
            (!read.is_empty()).then(|| Growth::Schedule(read.into()))
        }
        Value::Map(_) => return read_custom(retry, node),
        _ => {
            let words = [
                ("none", Growth::None),
                ("fixed", Growth::Fixed),
                ("linear", Growth::Linear),
                ("exponential", Growth::Exponential),
            ];
            let others = [("schedule", "[1s, 5s]"), ("custom", "{custom: NAME}")];
            node.word_or(&words, &others)
        }
    };
    retry.growth = growth.and_then(|growth| match &growth {
        Growth::Schedule(delays) => {
            let words: Vec<String> = delays.iter().map(|d| format!("{d:?}")).collect();
            let text = format!("[{}]", words.join(", ")).into();
            here(&node, growth).map(|given| Given { text, ..given })
        }
        _ => here(&node, growth),
    });
}

fn read_custom(retry: &mut Retry, node: Node<'_>) {
    let Some(mut block) = node.block() else {
        return;
    };
    let name = take(&mut block, "custom", name);
    retry.args = take(&mut block, "args", args);
    let nothing = name.is_none() && retry.args.is_none();
    retry.growth = name.map(|name| Given {
        text: format!("custom {}", name.value).into(),
        value: Growth::Custom(name.value),
        from: name.from,
    });
    block.end_or(nothing.then_some("names no custom backoff: write {custom: NAME}"));
}

/// They are handed to the program at every place where the backoff holds.
fn args(node: &Node<'_>) -> Option<Arc<Value>> {
    if node.value.is_larger_than(MOST_ARGS, MOST_ARGS_TEXT) {
        let cause = format!("holds more than {MOST_ARGS} values or {MOST_ARGS_TEXT} bytes of text");
        node.problems.add(&node.path, &"", cause);
        return None;
    }
    Some(Arc::new(node.value.clone()))
}

fn read_jitter(retry: &mut Retry, node: Node<'_>) {
    let half = Decimal::from_micros(500_000);
    let (zero, one) = (Decimal::ZERO, Decimal::ONE);
    if let Value::Map(_) = node.value {
        retry.decorrelated = here(&node, false).map(|given| Given {
            text: "between min and max".into(),
            ..given
        });
        let Some(mut block) = node.block() else {
            return;
        };
        let most = Decimal::from(MOST_PART);
        retry.jitter_min = take(&mut block, "min", |node| decimal(node, zero, most));
        retry.jitter_max = take(&mut block, "max", |node| decimal(node, zero, most));
        block.end();
        return;
    }
    let around = match node.value {
        Value::Text(text) => percent(text).map(|part| {
            let (part, one) = (part.micros(), one.micros());
            let least = Decimal::from_micros(one.saturating_sub(part));
            (least, Decimal::from_micros(one.saturating_add(part)), false)
        }),
        _ => None,
    };
    let words = [
        ("none", (one, one, false)),
        ("full", (zero, one, false)),
        ("equal", (half, one, false)),
        ("decorrelated", (zero, one, true)),
    ];
    let word = around.or_else(|| match node.value {
        Value::Text(text) if text.ends_with('%') => {
            node.wrong(format!(
                "{} is not allowed: must be \"0%\" to \"100%\", in whole numbers",
                node.value
            ));
            None
        }
        _ => node.word_or(&words, &[("", "\"20%\""), ("", "{min: 0.5, max: 1}")]),
    });
    if let Some((min, max, decorrelated)) = word {
        let text = |given: Given<Decimal>| Given {
            text: given.value.to_string().into(),
            ..given
        };
        retry.decorrelated = here(&node, decorrelated);
        retry.jitter_min = here(&node, min).map(text);
        retry.jitter_max = here(&node, max).map(text);
    }
}

fn read_retry_after(retry: &mut Retry, node: Node<'_>) {
    if let Value::Map(_) = node.value {
        retry.ignores_server = here(&node, false).map(|given| Given {
            text: "respect".into(),
            ..given
        });
        let Some(mut block) = node.block() else {
            return;
        };
        retry.max_server_delay = take(&mut block, "max", duration_or_none);
        retry.over = take(&mut block, "over", |node| {
            node.word(&[("stop", Over::Stop), ("clamp", Over::Clamp)])
        });
        block.end();
        return;
    }
    let words = [("respect", false), ("ignore", true)];
    let clamp = "{max: 30s, over: clamp}";
    let word = node.word_or(&words, &[("clamp", clamp)]);
    retry.ignores_server = word.and_then(|ignores| here(&node, ignores));
}

fn read_on_exhausted(retry: &mut Retry, node: Node<'_>) {
    if let Value::Map(_) = node.value {
        let from: Arc<str> = node.path.as_str().into();
        let Some(mut block) = node.block() else {
            return;
        };
        let failover = read_failover(&mut block);
        let dead_letter = take(&mut block, "dead_letter", name).map(|given| {
            (
                format!("dead_letter {}", given.value),
                Exhausted::DeadLetter(given.value),
            )
        });
        let respond = block.take("respond").map(|node| {
            read_respond(retry, node);
            ("respond".to_owned(), Exhausted::Respond)
        });
        let all = [failover, dead_letter, respond];
        let mut found: Vec<_> = all.into_iter().flatten().collect();
        let one = "must hold exactly one of respond, failover and dead_letter";
        let several = found.len() != 1;
        retry.exhausted = found.pop().map(|(text, value)| Given {
            value,
            text: text.into(),
            from,
        });
        block.end_or(several.then_some(one));
        return;
    }
    let words = [("last", Exhausted::Last), ("fail", Exhausted::Fail)];
    let others = [
        ("respond", "{respond: {status: 503}}"),
        ("failover", "{failover: SERVICE}"),
        ("dead_letter", "{dead_letter: NAME}"),
    ];
    let word = node.word_or(&words, &others);
    retry.exhausted = word.and_then(|word| here(&node, word));
}

/// What the explanation calls it, and what it is. The headers may be secret.
fn read_failover(block: &mut Block<'_>) -> Option<(String, Exhausted)> {
    let service = block.take("failover").map(|node| node.name());
    let same_keys = block.take("same_keys").map(|node| node.truth());
    let set = block.take("set").map(read_set);
    for (key, given) in [("same_keys", same_keys.is_some()), ("set", set.is_some())] {
        if given && service.is_none() {
            let cause = format!("{key} has no effect without failover");
            block.key(key).wrong(&"", cause);
        }
    }
    let same_keys = same_keys.flatten().unwrap_or_default();
    let to = Failover {
        service: service??.into(),
        same_keys,
    };
    let more = if same_keys { ", same keys" } else { "" };
    let text = format!("failover {}{more}", to.service);
    Some((text, Exhausted::Failover(to, set.flatten())))
}

fn read_respond(retry: &mut Retry, node: Node<'_>) {
    if !is_map(&node) {
        return;
    }
    let Some(mut block) = node.block() else {
        return;
    };
    retry.respond_status = take(&mut block, "status", |node| {
        let number = node.count(200, 599)?;
        StatusCode::from_u16(u16::try_from(number).ok()?).ok()
    });
    retry.respond_headers =
        take(&mut block, "headers", |node| headers(node).map(Arc::new)).map(untold);
    retry.respond_body = take(&mut block, "body", body).map(untold);
    block.end();
}

/// An explanation says that it is given, and no more.
fn untold<T>(given: Given<T>) -> Given<T> {
    Given {
        text: "given".into(),
        ..given
    }
}

fn body(node: &Node<'_>) -> Option<Arc<str>> {
    match node.value {
        Value::Text(text) => Some(text.as_str().into()),
        other => {
            let cause = format!("{} is not a text", other.kind());
            node.problems.add(&node.path, &"", cause);
            None
        }
    }
}
