//! The processes of the client and of the server.

use super::{Run, client, server};
use crate::callgrind;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio::runtime::Builder;

const SERVE: &str = "--serve";
const SEND: &str = "--send";
const SEND_ALONE: &str = "--send-alone";
/// The requests of a client whose instructions are counted.
const COUNTED: usize = 200;

/// Does what the process was started for, if it is a client or a server.
pub(crate) fn is_one() -> bool {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    match *args {
        [SERVE] => runtime().block_on(server::serve()),
        [SEND, sent, layer, port] => {
            runtime().block_on(client::send(sent, layer, port.parse().unwrap()));
        }
        [SEND_ALONE, sent, layer, port, times] => {
            let (port, times) = (port.parse().unwrap(), times.parse().unwrap());
            runtime().block_on(client::send_alone(sent, layer, port, times));
        }
        _ => return false,
    }
    true
}

/// A server that ends with this.
pub(crate) struct Server {
    process: Child,
    port: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut process = on_processor(1, &[SERVE]).spawn().unwrap();
        let mut port = String::new();
        let told = process.stdout.as_mut().unwrap();
        BufReader::new(told).read_line(&mut port).unwrap();
        Self {
            process,
            port: port.trim().to_owned(),
        }
    }

    /// The instructions outside of the kernel of one request, on a client with this layer.
    pub(crate) fn instructions(&self, sent: &str, layer: &str) -> f64 {
        let collected = |times: usize| {
            let times = times.to_string();
            let args = [SEND_ALONE, sent, layer, &self.port, &times];
            callgrind::collected_by(&args).unwrap()
        };
        // What the second half of twice as many adds, so that start and end do not count.
        (collected(2 * COUNTED) - collected(COUNTED)) / COUNTED as f64
    }

    /// What a client measures of runs with this layer and without, pair by pair.
    pub(crate) fn client(&self, sent: &str, layer: &str) -> Vec<(Run, Run)> {
        let run = on_processor(0, &[SEND, sent, layer, &self.port]).output();
        let run = run.unwrap();
        assert!(run.status.success(), "the client has failed");
        let told = String::from_utf8(run.stdout).unwrap();
        told.lines().map(pair).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn pair(line: &str) -> (Run, Run) {
    let mut told = line.split(' ').map(|number| number.parse().unwrap());
    let mut next = || told.next().unwrap();
    let mut run = || Run {
        requests: next(),
        took: next(),
        on_cpu: next(),
    };
    (run(), run())
}

/// This program once more, on a processor of its own where that can be had.
fn on_processor(number: usize, args: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let can_pin = Command::new("taskset").arg("--version").output();
    let can_pin = can_pin.is_ok_and(|told| told.status.success());
    let mut command = if can_pin && number < processors {
        let mut command = Command::new("taskset");
        command.args(["-c", &number.to_string()]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}
