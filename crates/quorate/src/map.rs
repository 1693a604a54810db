//! `quorate map`: where the process groups of a cluster are, drawn in the terminal or as a picture.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use quorate_foundationdb::forecast::{Zones, zones};
use quorate_foundationdb::{ProcessGroup, ProcessGroupId};
use quorate_operator::recorded_status;

use crate::clusters::Which;
use crate::explain::full_name;

/// Which clusters are drawn, and how.
#[derive(Debug, Args)]
pub(crate) struct Map {
    #[command(flatten)]
    which: Which,
    /// Draw one cluster as SVG into this file.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Map {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let clusters = self.which.find()?;
        let drawn: Vec<(String, Zones)> = clusters
            .iter()
            .map(|cluster| (full_name(cluster), zones(&recorded_status(cluster.status.as_ref()).groups)))
            .collect();
        match (&self.svg, drawn.as_slice()) {
            (Some(file), [(name, zones)]) => {
                std::fs::write(file, svg(name, zones)).with_context(|| format!("writing {}", file.display()))?;
                println!("{name} is drawn in {}", file.display());
            }
            (Some(_), _) => bail!("--svg draws one cluster; say which one"),
            (None, drawn) if self.which.json => println!("{}", serde_json::to_string(drawn)?),
            (None, drawn) => {
                for ((name, zones), cluster) in drawn.iter().zip(&clusters) {
                    print!("{}{}", text(name, zones), leaving(&recorded_status(cluster.status.as_ref()).groups));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// One block for each class, one line for each zone, one mark for each process group.
pub(crate) fn text(name: &str, zones: &Zones) -> String {
    let mut text = format!("{name}\n");
    if zones.is_empty() {
        text.push_str("  no process groups yet\n");
    }
    for (class, zones) in zones {
        let (fewest, most) = band(zones.values().map(Vec::len));
        let groups: usize = zones.values().map(Vec::len).sum();
        writeln!(text, "  {class}: {groups} process groups in {} zones, {fewest} to {most} in each", zones.len()).ok();
        let width = zones.keys().map(String::len).max().unwrap_or(0);
        for (zone, ids) in zones {
            let numbers: Vec<String> = ids.iter().map(number).collect();
            writeln!(text, "    {zone:width$}  {} {}", "■".repeat(ids.len()), numbers.join(" ")).ok();
        }
    }
    text
}

/// Those that are on their way out: they have their places until they are empty, and count nowhere.
fn leaving(groups: &BTreeMap<ProcessGroupId, ProcessGroup>) -> String {
    let leaving = groups.iter().filter(|(_, group)| group.removal.is_some());
    let at = |(id, group): (&ProcessGroupId, &ProcessGroup)| {
        group.fault_domain.as_ref().map_or_else(|| id.to_string(), |zone| format!("{id} in {zone}"))
    };
    let leaving: Vec<String> = leaving.map(at).collect();
    if leaving.is_empty() { String::new() } else { format!("  on their way out: {}\n", leaving.join(", ")) }
}

fn band(counts: impl Iterator<Item = usize> + Clone) -> (usize, usize) {
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}

fn number(id: &ProcessGroupId) -> String {
    id.number().map_or_else(|| id.to_string(), |number| number.to_string())
}

const BOX: (usize, usize) = (112, 30);
const GAP: usize = 12;
const HEAD: usize = 28;
const COLOURS: [&str; 6] = ["#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#e2e8f0"];

/// The same as a picture: a column for each zone, a box for each process group, class below class.
pub(crate) fn svg(title: &str, zones: &Zones) -> String {
    let mut body = String::new();
    let (mut top, mut width) = (2 * HEAD, 0);
    for (at, (class, zones)) in zones.iter().enumerate() {
        let rows = zones.values().map(Vec::len).max().unwrap_or(0);
        write!(body, r#"<text x="{GAP}" y="{}" class="head">{class}</text>"#, top - 8).ok();
        for (column, (zone, ids)) in zones.iter().enumerate() {
            let left = GAP + column * (BOX.0 + GAP);
            width = width.max(left + BOX.0 + GAP);
            draw_zone(&mut body, (left, top), rows, zone, ids, COLOURS[at % COLOURS.len()]);
        }
        top += (rows + 1) * (BOX.1 + 6) + HEAD + GAP;
    }
    let (width, height) = (width.max(320), top - HEAD + GAP);
    let style = "text{font:13px sans-serif;fill:#1e293b}.head{font-weight:600}.title{font-size:15px;font-weight:600}";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <style>{style}</style><rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <text x=\"{GAP}\" y=\"22\" class=\"title\">{}</text>{body}</svg>\n",
        escaped(title)
    )
}

fn draw_zone(body: &mut String, (left, top): (usize, usize), rows: usize, zone: &str, ids: &[ProcessGroupId], colour: &str) {
    let height = (rows + 1) * (BOX.1 + 6);
    let (width, one) = BOX;
    write!(
        body,
        r##"<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="#f8fafc" stroke="#94a3b8"/><text x="{}" y="{}" text-anchor="middle">{}</text>"##,
        left + width / 2,
        top + 20,
        escaped(zone)
    )
    .ok();
    for (row, id) in ids.iter().enumerate() {
        let y = top + (row + 1) * (one + 6) - 3;
        write!(
            body,
            r##"<rect x="{}" y="{y}" width="{}" height="{one}" rx="4" fill="{colour}" stroke="#64748b"/><text x="{}" y="{}" text-anchor="middle">{}</text>"##,
            left + 6,
            width - 12,
            left + width / 2,
            y + 20,
            escaped(&id.0)
        )
        .ok();
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
