//! Building blocks for layers that send copies of a request, such as one that hedges.
//!
//! Such a layer stands below a retry layer, and [asks](ask_attempt) the attempt under way for its terms; or it stands
//! [alone](crate::attempt::AttemptHandle::alone). A [`CopyJudge`] knows what may be sent twice, and what the result of a
//! copy means. A [`PaidCopy`] holds the tokens of one copy and its places at the gates. `http-retry-hedge` is built on
//! this module. A layer that sends other requests needs [`attempt`](crate::attempt) alone.

pub use crate::attempt::copies::{CopyEnd, CopyJudge, CopyRefusal, PaidCopy};
pub use crate::attempt::mark::{AskedAttempt, ask_attempt};
pub use crate::attempt::terms::AttemptTerms;
