//! The progress of a storm.

use http_retry_lab::storm::Storm;
use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on stderr, if that is a terminal: the simulated seconds of all three contenders, and an estimate of the
/// time left.
pub(super) fn progress(storm: &Storm) -> ProgressBar {
    let bar = ProgressBar::new(storm.end().as_secs() * 3);
    let style = ProgressStyle::with_template("{bar:20} {percent}% {msg}, about {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
