//! Tables of a Markdown text.

/// The cells of a table's rows, without its head: the n-th table (from 0) below a heading that starts with these words.
pub(super) fn table(text: &str, heading: &str, nth: usize) -> Vec<Vec<String>> {
    let mut below = prose(text).skip_while(|line| !line.starts_with(heading));
    assert!(below.next().is_some(), "there is no {heading}");
    let section: Vec<&str> = below.take_while(|line| !line.starts_with('#')).collect();
    let tables = section.split(|line| !line.starts_with('|'));
    let found = tables.filter(|table| !table.is_empty()).nth(nth);
    let found = found.unwrap_or_else(|| panic!("no table {nth} below {heading}"));
    found.iter().skip(2).map(|row| cells(row)).collect()
}

/// The lines outside of code, where a `#` begins a heading.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The first block of code below a heading that starts with these words.
pub(super) fn code<'a>(text: &'a str, heading: &str) -> &'a str {
    let below = text.split_once(&format!("\n{heading}")).unwrap().1;
    let opened = below.split_once("\n```").unwrap().1;
    let (_, code) = opened.split_once('\n').unwrap();
    code.split_once("\n```").unwrap().0
}

/// Returns the parts in backticks.
pub(super) fn words(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect()
}
