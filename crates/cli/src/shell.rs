//! `completions` and `man`: the command line for shells and manuals.

use crate::arguments::Arguments;
use crate::report::{Failure, Report};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

const NAME: &str = "http-retry";
/// Print the completions for a shell
///
/// For bash: http-retry completions bash > ~/.local/share/bash-completion/completions/http-retry
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, of the program or of a command
///
/// To read it: http-retry man storm | man -l -
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The command; without one, the page of the program
    command: Option<String>,
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Report {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), NAME, &mut text);
    Report::own(String::from_utf8_lossy(&text).into_owned())
}

pub(crate) fn man(arguments: &ManArguments) -> Result<Report, Failure> {
    let mut program = Arguments::command();
    // Each command learns its whole name, such as `http-retry storm`.
    program.build();
    let page = match &arguments.command {
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
                let cause = format!("{name:?} is no command: known are {}", known.join(", "));
                return Err(Failure::of_input("man", cause));
            }
        },
        None => program,
    };
    let mut text = Vec::new();
    let rendered = Man::new(page).render(&mut text);
    rendered.map_err(|error| Failure::of_input("man", error))?;
    Ok(Report::own(String::from_utf8_lossy(&text).into_owned()))
}
