//! The table as it must be; `src/docs/design.md` shows the same one.

/// What happens, on which clients, what the first attempt counts as, and which requests are sent again.
pub(super) const TABLE: &str = "\
| what happens | client | class | reach | error | GET | POST | POST with key | PUT |
|---|---|---|---|---|---|---|---|---|
| 200 | all | success | answered | - | no | no | no | no |
| 301, not followed | all | success | answered | - | no | no | no | no |
| 400 | all | permanent | answered | - | no | no | no | no |
| 404 | all | permanent | answered | - | no | no | no | no |
| 408 | reqwest | transient | refused (POST: answered) | - | yes | no | yes | yes |
| 408 | reqwest (watched), reqwest (no redirects), hyper | transient | refused | - | yes | yes | yes | yes |
| 409 | all | permanent | answered | - | no | no | no | no |
| 413 | all | permanent | answered | - | no | no | no | no |
| 413 with Retry-After | reqwest | throttled | refused (POST: answered) | - | yes | no | yes | yes |
| 413 with Retry-After | reqwest (watched), reqwest (no redirects), hyper | throttled | refused | - | yes | yes | yes | yes |
| 425 | reqwest | transient | refused (POST: answered) | - | yes | no | yes | yes |
| 425 | reqwest (watched), reqwest (no redirects), hyper | transient | refused | - | yes | yes | yes | yes |
| 429 | reqwest | throttled | refused (POST: answered) | - | yes | no | yes | yes |
| 429 | reqwest (watched), reqwest (no redirects), hyper | throttled | refused | - | yes | yes | yes | yes |
| 429 with Retry-After | reqwest | throttled | refused (POST: answered) | - | yes | no | yes | yes |
| 429 with Retry-After | reqwest (watched), reqwest (no redirects), hyper | throttled | refused | - | yes | yes | yes | yes |
| 500 | all | transient | answered | - | yes | no | yes | yes |
| 501 | all | permanent | answered | - | no | no | no | no |
| 502 | all | transient | answered | - | yes | no | yes | yes |
| 503 | all | transient | answered | - | yes | no | yes | yes |
| 503 with Retry-After | all | throttled | answered | - | yes | no | yes | yes |
| 504 | all | transient | answered | - | yes | no | yes | yes |
| 505 | all | permanent | answered | - | no | no | no | no |
| 506 | all | permanent | answered | - | no | no | no | no |
| 507 | all | permanent | answered | - | no | no | no | no |
| 508 | all | permanent | answered | - | no | no | no | no |
| 510 | all | permanent | answered | - | no | no | no | no |
| 511 | all | permanent | answered | - | no | no | no | no |
| 520 | all | transient | answered | - | yes | no | yes | yes |
| 529 | all | throttled | answered | - | yes | no | yes | yes |
| 530 | all | transient | answered | - | yes | no | yes | yes |
| 599 | all | transient | answered | - | yes | no | yes | yes |

| what happens | client | class | reach | error | GET | POST | POST with key | PUT |
|---|---|---|---|---|---|---|---|---|
| connection refused | reqwest | transient | unsent (POST: ambiguous) | connect | yes | no | yes | yes |
| connection refused | reqwest (watched), reqwest (no redirects), hyper | transient | unsent | connect | yes | yes | yes | yes |
| DNS failure | reqwest | transient | unsent (POST: ambiguous) | dns | yes | no | yes | yes |
| DNS failure | reqwest (watched), reqwest (no redirects), hyper | transient | unsent | dns | yes | yes | yes | yes |
| a host name that cannot be | all | permanent | ambiguous | request | no | no | no | no |
| no connection in time | reqwest | transient | unsent (POST: ambiguous) | connect_timeout | yes | no | yes | yes |
| no connection in time | reqwest (watched), reqwest (no redirects), hyper | transient | unsent | connect_timeout | yes | yes | yes | yes |
| TLS handshake closed | reqwest | transient | unsent (POST: ambiguous) | tls | yes | no | yes | yes |
| TLS handshake closed | reqwest (watched), reqwest (no redirects), hyper | transient | unsent | tls | yes | yes | yes | yes |
| TLS handshake reset | reqwest | transient | unsent (POST: ambiguous) | connect | yes | no | yes | yes |
| TLS handshake reset | reqwest (watched), reqwest (no redirects), hyper | transient | unsent | connect | yes | yes | yes | yes |
| the server speaks no TLS | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| the server speaks no TLS | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| certificate expired | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| certificate expired | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| certificate of an unknown issuer | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| certificate of an unknown issuer | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| certificate for another name | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| certificate for another name | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| TLS cut after the request | all | transient | ambiguous | incomplete | yes | no | yes | yes |
| client certificate refused, TLS 1.2 | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| client certificate refused, TLS 1.2 | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| client certificate missing, TLS 1.2 | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| client certificate missing, TLS 1.2 | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| client certificate refused, TLS 1.3 | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| client certificate refused, TLS 1.3 | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| client certificate missing, TLS 1.3 | reqwest | permanent | unsent (POST: ambiguous) | certificate | no | no | no | no |
| client certificate missing, TLS 1.3 | reqwest (watched), reqwest (no redirects), hyper | permanent | unsent | certificate | no | no | no | no |
| canceled before it was written | hyper | transient | refused | not_processed | yes | yes | yes | yes |
| no answer in time | all | transient | ambiguous | timeout | yes | no | yes | yes |
| reset with the request unread | all | transient | ambiguous | reset | yes | no | yes | yes |
| reset while the body is written | all | transient | ambiguous | reset | yes | no | yes | yes |
| reset after the request's head | all | transient | ambiguous | reset | yes | no | yes | yes |
| reset after the request | all | transient | ambiguous | reset | yes | no | yes | yes |
| closed after the request | all | transient | ambiguous | incomplete | yes | no | yes | yes |
| reset within the head | all | transient | ambiguous | reset | yes | no | yes | yes |
| closed within the head | all | transient | ambiguous | incomplete | yes | no | yes | yes |
| not HTTP | all | permanent | ambiguous | protocol | no | no | no | no |
| 200, its body cut | all | success | answered | - | no | no | no | no |
| 200, its body reset | all | success | answered | - | no | no | no | no |
| 200, its gzip broken | all | success | answered | - | no | no | no | no |
| GOAWAY NO_ERROR without the request | reqwest | transient | refused (POST: ambiguous) | not_processed | yes | no | yes | yes |
| GOAWAY NO_ERROR without the request | reqwest (watched), reqwest (no redirects), hyper | transient | refused | not_processed | yes | yes | yes | yes |
| GOAWAY NO_ERROR with the request, closed | all | transient | ambiguous | reset | yes | no | yes | yes |
| GOAWAY INTERNAL_ERROR | all | transient | ambiguous | http2 | yes | no | yes | yes |
| RST_STREAM REFUSED_STREAM | reqwest | transient | refused (POST: ambiguous) | not_processed | yes | no | yes | yes |
| RST_STREAM REFUSED_STREAM | reqwest (watched), reqwest (no redirects), hyper | transient | refused | not_processed | yes | yes | yes | yes |
| RST_STREAM INTERNAL_ERROR | all | transient | ambiguous | http2 | yes | no | yes | yes |
| RST_STREAM CANCEL | all | transient | ambiguous | http2 | yes | no | yes | yes |
| HTTP/2 closed after the request | all | transient | ambiguous | reset | yes | no | yes | yes |
| not HTTP/2 | all | permanent | ambiguous | protocol | no | no | no | no |
| HTTP/2 to a server of HTTP/1 | all | permanent | ambiguous | protocol | no | no | no | no |
| a scheme that is not spoken | all | permanent | ambiguous | request | no | no | no | no |
| a URL that is no URI | reqwest, reqwest (watched), reqwest (no redirects) | permanent | ambiguous | request | no | no | no | no |
| the caller's body fails | all | permanent | ambiguous | body | no | no | no | no |
| the caller's body fails, HTTP/2 | all | permanent | ambiguous | body | no | no | no | no |
| redirect loop | reqwest, reqwest (watched) | permanent | ambiguous | redirect | no | no | no | no |
| redirect loop | reqwest (no redirects), hyper | success | answered | - | no | no | no | no |
| 303 to a closed port | reqwest | transient | unsent (POST: ambiguous) | connect | yes | no | yes | yes |
| 303 to a closed port | reqwest (watched) | transient | ambiguous | connect | yes | no | yes | yes |
| 303 to a closed port | reqwest (no redirects), hyper | success | answered | - | no | no | no | no |
| 303 to a 429 | reqwest | throttled | refused (POST: answered) | - | yes | no | yes | yes |
| 303 to a 429 | reqwest (watched) | throttled | answered | - | yes | no | yes | yes |
| 303 to a 429 | reqwest (no redirects), hyper | success | answered | - | no | no | no | no |
";
