//! Services and routes that no request could find, and what must not be repeated in a message.

use super::{Case, check};

#[test]
fn a_service_says_what_it_is_for() {
    check(SERVICES);
}

#[test]
fn what_may_be_a_secret_is_not_in_the_message() {
    check(SECRETS);
}

const SERVICES: &[Case] = &[
    (
        "services: {a: {match: {}}}",
        &[
            "services.a.match: matches nothing in particular: give at least one of host, scheme, path, method",
        ],
    ),
    (
        "services: {a: {match: h}}",
        &[r#"services.a.match: "h" is not a map"#],
    ),
    (
        r#"services: {a: {match: {host: "http://h"}}}"#,
        &[
            r#"services.a.match.host: "http://h" is not a host: write api.example.com or *.example.com"#,
        ],
    ),
    (
        r#"services: {a: {match: {host: "a*.com"}}}"#,
        &[
            r#"services.a.match.host: "a*.com" is not a host: write api.example.com or *.example.com"#,
        ],
    ),
    (
        "services: {a: {match: {host: []}}}",
        &["services.a.match.host: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "services: {a: {match: {host: [a, 5]}}}",
        &["services.a.match.host[1]: 5 is not a text"],
    ),
    (
        r#"services: {a: {match: {host: ""}}}"#,
        &[r#"services.a.match.host: "" is not a host: write api.example.com or *.example.com"#],
    ),
    (
        "services: {a: {match: {scheme: ftp}}}",
        &[r#"services.a.match.scheme: "ftp" is not a scheme: write http or https"#],
    ),
    (
        "services: {a: {match: {path: v1}}}",
        &[r#"services.a.match.path: "v1" is not a path: write /v1/*"#],
    ),
    (
        r#"services: {a: {match: {method: "G T"}}}"#,
        &[r#"services.a.match.method: "G T" is not a method: write GET or POST"#],
    ),
    (
        "services: {a: {base_url: ftp://h}}",
        &[
            "services.a.base_url: is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment",
        ],
    ),
    (
        "services: {a: {base_url: h.example.com}}",
        &[
            "services.a.base_url: is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment",
        ],
    ),
    (
        "services: {a: {base_url: /path}}",
        &[
            "services.a.base_url: is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment",
        ],
    ),
    (
        "services: {a: {base_url: 5}}",
        &["services.a.base_url: 5 is not a text"],
    ),
    (
        "services: {a: {match: {host: h}, routes: []}}",
        &["services.a.routes: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "services: {a: {match: {host: h}, routes: {name: r}}}",
        &["services.a.routes: a map is not a list"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [r]}}",
        &[r#"services.a.routes[0]: "r" is not a map"#],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{match: {path: /a}}]}}",
        &["services.a.routes[0].name: is missing: write name: NAME"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r}]}}",
        &[
            r#"services.a.routes[0].match: is missing: write match: {method: METHOD, path: "/PATH"}"#,
        ],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {}}]}}",
        &[
            "services.a.routes[0].match: matches nothing in particular: give at least one of path, method",
        ],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {path: /a}}, {name: r, match: {path: /b}}]}}",
        &["services.a.routes[1].name: r is a duplicate"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: 5, match: {path: /a}}]}}",
        &["services.a.routes[0].name: 5 is not a text"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: 5}]}}",
        &["services.a.routes[0].match: 5 is not a map"],
    ),
];

const SECRETS: &[Case] = &[
    (
        r#"services: {a: {base_url: "http://user:hunter2@h"}}"#,
        &[
            "services.a.base_url: is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment",
        ],
    ),
    (
        r#"services: {a: {base_url: "http://h/?key=hunter2"}}"#,
        &[
            "services.a.base_url: is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment",
        ],
    ),
    (
        r#"services: {a: {match: {host: "user:hunter2@h"}}}"#,
        &["services.a.match.host: this text is not a host: write api.example.com or *.example.com"],
    ),
    (
        r#"services: {a: {match: {host: "http://user:hunter2@h/"}}}"#,
        &["services.a.match.host: this text is not a host: write api.example.com or *.example.com"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {a: \"hunter2\\nx\"}}}]",
        &[
            "rules[0].set.headers.a: is no header value: it holds a line break or another control character",
        ],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {authorization: \"hun\\u0000ter2\"}}}]",
        &[
            "rules[0].set.headers.authorization: is no header value: it holds a line break or another control character",
        ],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {Content-Length: \"3\"}}}]",
        &[
            "rules[0].set.headers: content-length is not allowed: only the client sets headers that frame a message or belong to its connection",
        ],
    ),
    (
        "services: {a: {base_url: 'http://a', retry: {on_exhausted: {failover: b, set: {headers: {transfer-encoding: chunked}}}}}, b: {base_url: 'http://b'}}",
        &[
            "services.a.retry.on_exhausted.set.headers: transfer-encoding is not allowed: only the client sets headers that frame a message or belong to its connection",
        ],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, body: later, headers: {content-length: hunter2}}}}",
        &[
            "retry.on_exhausted.respond.headers: this content-length is not allowed: must be 5 once, the length of the body, or be left out",
        ],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, headers: {connection: close}}}}",
        &[
            "retry.on_exhausted.respond.headers: connection is not allowed: only the client sets headers that frame a message or belong to its connection",
        ],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 204, body: hunter2}}}",
        &[
            "retry.on_exhausted.respond.body: a body is not allowed: a response with status 204 has none",
        ],
    ),
    (
        "dialects: {a: {key_header: Content-Length}}",
        &[
            "dialects.a.key_header: content-length is not allowed: only the client sets headers that frame a message or belong to its connection",
        ],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {x-api-key: 1234567}}}]",
        &["rules[0].set.headers.x-api-key: a number is not a text: put it in quotes"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {x-api-key: [a, 12345.5]}}}]",
        &["rules[0].set.headers.x-api-key[1]: a number is not a text: put it in quotes"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {x-api-key: {hunter2: a}}}}]",
        &["rules[0].set.headers.x-api-key: a map is not a text"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {headers: {x-api-key: true}}}]",
        &["rules[0].set.headers.x-api-key: a truth value is not a text: put it in quotes"],
    ),
    (
        r#"rules: [{when: {status: 500}, do: retry, set: {headers: "authorization: hunter2"}}]"#,
        &["rules[0].set.headers: a text is not a map"],
    ),
    (
        r#"rules: [{when: {status: 500}, do: retry, set: {headers: ["authorization: hunter2"]}}]"#,
        &["rules[0].set.headers: a list is not a map"],
    ),
    (
        r#"rules: [{when: {status: 500}, do: retry, set: "authorization: hunter2"}]"#,
        &["rules[0].set: a text is not a map"],
    ),
    (
        r#"rules: [{when: {status: 500}, do: retry, set: {headers: {"a: hunter2": b}}}]"#,
        &[
            "rules[0].set.headers: holds a header name with a colon: write the value as the value of the key",
        ],
    ),
    (
        r#"rules: [{when: {status: 500}, failover: "http://user:hunter2@h/"}]"#,
        &[
            r#"rules[0].failover: is no name: a name holds no @, ?, =, "://" or ": ", no control character and no credentials"#,
        ],
    ),
    (
        r#"services: {a: {match: {host: h}, "X-Api-Key:hunter2": 1}}"#,
        &[
            "services.a.<hidden>: is not a known key: known are retry, rules, otherwise, dialect, header_rules, hedge, inspect_success, budget, gate, fleet, match, base_url, request_overrides, routes",
        ],
    ),
    (
        r#"rules: [{when: {status: 500}, do: retry, set: {headers: {"a b": hunter2}}}]"#,
        &["rules[0].set.headers: holds what is no header name: write letters, digits and hyphens"],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, headers: {a: \"hun\\rter2\"}}}}",
        &[
            "retry.on_exhausted.respond.headers.a: is no header value: it holds a line break or another control character",
        ],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, headers: {a: 1234567}}}}",
        &["retry.on_exhausted.respond.headers.a: a number is not a text: put it in quotes"],
    ),
];
