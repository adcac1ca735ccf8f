//! The lines of the table, and the same as JSON.

use std::error::Error;
use std::fmt::Write as _;

use lazuli::Device;

/// What was measured of one workload on one device.
pub struct Row {
    pub workload: String,
    pub median: f64,
    pub least: f64,
    /// GB/s of the least traffic; 0 where the device has next to nothing to do.
    pub rate: f64,
    pub first: f64,
    pub kernels: u64,
    /// Why the answer is wrong, if so.
    pub wrong: Option<String>,
}

/// Prints rows as they come and keeps them.
pub struct Report {
    rows: Vec<(String, Row)>,
    all_right: bool,
}

impl Report {
    /// Prints the heading.
    pub fn new(device: &Device, cpu: bool) -> Self {
        println!("# {device}{}", if cpu { ", sizes of cpu_peers.py" } else { "" });
        println!(
            "{:18} {:8} {:>10} {:>10} {:>8} {:>9} {:>7}",
            "workload", "peer", "median_ms", "min_ms", "GB/s", "first_ms", "kernels"
        );
        Self { rows: Vec::new(), all_right: true }
    }

    /// Prints a row.
    pub fn add(&mut self, peer: &str, row: Row) {
        let Row { workload, median, least, rate, first, kernels, wrong } = &row;
        let mark = if wrong.is_some() { "  WRONG" } else { "" };
        println!("{workload:18} {peer:8} {median:10.4} {least:10.4} {rate:8.0} {first:9.1} {kernels:7}{mark}");
        if let Some(why) = wrong {
            eprintln!("{why}");
            self.all_right = false;
        }
        self.rows.push((peer.to_string(), row));
    }

    /// Prints a row that could not be measured.
    pub fn not_run(&mut self, workload: &str, peer: &str, error: &dyn Error) {
        println!("{workload:18} {peer:8} not run: {}", error.to_string().lines().next().unwrap_or_default());
        self.all_right = false;
    }

    /// True where all was measured and nothing was wrong.
    pub fn all_right(&self) -> bool {
        self.all_right
    }

    /// Writes the rows with the names that `peers.py` gives its own.
    pub fn write_json(&self, path: &str) -> std::io::Result<()> {
        let mut text = String::from("[");
        for (number, (peer, row)) in self.rows.iter().enumerate() {
            let Row { workload, median, least, rate, first, kernels, wrong } = row;
            // Names are plain words, so that nothing needs escaping.
            let _ = write!(
                text,
                "{}\n {{\"workload\": \"{workload}\", \"peer\": \"{peer}\", \"median_ms\": {median:?}, \"min_ms\": {least:?}, \
                 \"gbs\": {rate:?}, \"first_ms\": {first:?}, \"kernels\": {kernels}, \"ok\": {}}}",
                if number == 0 { "" } else { "," },
                wrong.is_none()
            );
        }
        text.push_str("\n]\n");
        std::fs::write(path, text)
    }
}
