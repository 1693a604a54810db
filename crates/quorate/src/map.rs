//! `quorate map`: where the process groups of a cluster are, drawn in the terminal or as a picture.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::ProcessGroupId;
use quorate_foundationdb::forecast::{Zones, zones};
use quorate_operator::recorded_status;
use serde_json::{Map, Value, json};

use crate::clusters::Which;
use crate::explain::full_name;
use crate::set_aside::{SetAside, set_aside};

/// Which clusters are drawn, and how.
#[derive(Debug, Args)]
pub(crate) struct Draw {
    #[command(flatten)]
    which: Which,
    /// Draw one cluster as SVG into this file.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Draw {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let clusters = self.which.find()?;
        let places: Vec<Places> = clusters.iter().map(Places::of).collect();
        match (&self.svg, places.as_slice()) {
            (Some(file), [Places { name, zones, .. }]) => {
                std::fs::write(file, svg(name, zones)).with_context(|| format!("writing {}", file.display()))?;
                println!("{name} is drawn in {}", file.display());
            }
            (Some(_), _) => bail!("--svg draws one cluster; say which one"),
            (None, places) if self.which.json => {
                let all: Map<_, _> = places.iter().map(|places| (places.name.clone(), places.as_json())).collect();
                println!("{}", Value::Object(all));
            }
            (None, places) => places.iter().for_each(|places| print!("{}", places.text())),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where the process groups of a cluster are.
struct Places {
    name: String,
    zones: Zones,
    /// Those that are on their way out, with their zones as far as they are known: they have their places until they are empty, and
    /// count nowhere.
    leaving: Vec<(ProcessGroupId, Option<String>)>,
    set_aside: Vec<SetAside>,
}

impl Places {
    fn of(cluster: &FoundationDBCluster) -> Self {
        let groups = recorded_status(cluster.status.as_ref()).groups;
        let leaving = groups.iter().filter(|(_, group)| group.removal.is_some());
        let mut leaving: Vec<_> = leaving.map(|(id, group)| (id.clone(), group.fault_domain.clone())).collect();
        leaving.sort_by_key(|(id, _)| by_number(&id.0));
        Self { name: full_name(cluster), zones: zones(&groups), leaving, set_aside: set_aside(cluster) }
    }

    fn text(&self) -> String {
        let at = |(id, zone): &(ProcessGroupId, Option<String>)| {
            zone.as_ref().map_or_else(|| id.to_string(), |zone| format!("{id} in {zone}"))
        };
        let mut text = text(&self.name, &self.zones);
        if !self.leaving.is_empty() {
            let leaving: Vec<String> = self.leaving.iter().map(at).collect();
            writeln!(text, "  on their way out: {}", leaving.join(", ")).ok();
        }
        self.set_aside.iter().for_each(|aside| text.push_str(&aside.to_string()));
        text
    }

    fn as_json(&self) -> Value {
        let zones = |zones| -> Map<_, _> { in_order(zones).map(|(zone, ids)| (zone.to_owned(), json!(ids))).collect() };
        let classes: Map<_, _> = self.zones.iter().map(|(class, of)| (class.to_string(), Value::Object(zones(of)))).collect();
        let leaving = self.leaving.iter().map(|(id, zone)| json!({"processGroup": id, "zone": zone}));
        json!({"zones": classes, "leaving": leaving.collect::<Vec<_>>(), "setAside": self.set_aside})
    }
}

/// How names are sorted that end in numbers: `storage-2` before `storage-10`.
pub(crate) fn by_number(name: &str) -> (String, Option<u64>, String) {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().ok(), name.to_owned())
}

/// Zones by number, with the process groups in each by number as well.
fn in_order(zones: &BTreeMap<String, Vec<ProcessGroupId>>) -> impl Iterator<Item = (&str, Vec<&ProcessGroupId>)> {
    let mut zones: Vec<_> = zones.iter().collect();
    zones.sort_by_cached_key(|(zone, _)| by_number(zone));
    zones.into_iter().map(|(zone, ids)| {
        let mut ids: Vec<_> = ids.iter().collect();
        ids.sort_by_cached_key(|id| by_number(&id.0));
        (zone.as_str(), ids)
    })
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
        for (zone, ids) in in_order(zones) {
            let numbers: Vec<String> = ids.iter().map(|id| number(id)).collect();
            writeln!(text, "    {zone:width$}  {} {}", "■".repeat(ids.len()), numbers.join(" ")).ok();
        }
    }
    text
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
        for (column, (zone, ids)) in in_order(zones).enumerate() {
            let left = GAP + column * (BOX.0 + GAP);
            width = width.max(left + BOX.0 + GAP);
            draw_zone(&mut body, (left, top), rows, zone, &ids, COLOURS[at % COLOURS.len()]);
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

fn draw_zone(body: &mut String, (left, top): (usize, usize), rows: usize, zone: &str, ids: &[&ProcessGroupId], colour: &str) {
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
