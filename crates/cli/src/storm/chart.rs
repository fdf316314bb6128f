//! The attempts per second as a chart for a terminal: one panel for each contender, all on one scale.

use super::numbers::Numbers;

const WIDTH: usize = 80;
const HEIGHT: usize = 4;
const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn chart(all: &[Numbers]) -> String {
    let seconds = all
        .iter()
        .map(|numbers| numbers.series.attempts.len())
        .max();
    let together = seconds.unwrap_or_default().div_ceil(WIDTH).max(1);
    let columns: Vec<Vec<u32>> = all
        .iter()
        .map(|numbers| largest(numbers, together))
        .collect();
    let most = columns
        .iter()
        .flatten()
        .copied()
        .max()
        .unwrap_or_default()
        .max(1);
    let label = most.to_string().len();
    let width = columns.iter().map(Vec::len).max().unwrap_or_default();
    let mut text = String::new();
    for (numbers, columns) in all.iter().zip(&columns) {
        text += &format!("\n{:label$} | {}\n", "", numbers.name);
        for row in (0..HEIGHT).rev() {
            let number = if row + 1 == HEIGHT {
                most.to_string()
            } else {
                String::new()
            };
            let cells: String = columns
                .iter()
                .map(|count| cell(*count, most, row))
                .collect();
            text += format!("{number:>label$} |{cells}").trim_end();
            text.push('\n');
        }
        text += &format!("{:>label$} +{}\n", 0, "-".repeat(width));
    }
    text + &axis(width, together, label)
}

/// The most attempts of each group of seconds, up to the end of the last call.
fn largest(numbers: &Numbers, together: usize) -> Vec<u32> {
    let groups = numbers.series.attempts.chunks(together);
    groups
        .map(|group| group.iter().copied().max().unwrap_or_default())
        .collect()
}

/// The part of a column that is in a row; row 0 is the lowest.
fn cell(count: u32, most: u32, row: usize) -> char {
    let steps = STEPS.len() - 1;
    let filled = u64::from(count) * (HEIGHT * steps) as u64;
    // Something is never shown as nothing.
    let filled = filled.div_ceil(u64::from(most));
    let filled = usize::try_from(filled).unwrap_or(usize::MAX);
    let here = filled.saturating_sub(row * steps).min(steps);
    STEPS.get(here).copied().unwrap_or(' ')
}

/// The seconds below every tenth column.
fn axis(width: usize, together: usize, label: usize) -> String {
    let mut text = " ".repeat(label + 2);
    for column in (0..width).step_by(10) {
        text += &format!("{:<10}", column * together);
    }
    format!("{} s\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_high_as_its_part_of_the_most() {
        let column = |count| -> String { (0..HEIGHT).map(|row| cell(count, 32, row)).collect() };
        assert_eq!(column(32), "████");
        assert_eq!(column(20), "██▄ ");
        assert_eq!(column(1), "▁   ");
        assert_eq!(column(0), "    ");
    }
}
