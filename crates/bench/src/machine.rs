//! Description of the machine that the figures were measured on.

use std::fs;
use std::path::Path;
use std::process::Command;

use pia_kernel::{Clock, SystemClock};

/// Returns the facts of the report, with their names.
pub(crate) fn describe(dir: &Path) -> Vec<(&'static str, String)> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = value_of("/proc/cpuinfo", "model name");
    vec![
        ("Date", today()),
        ("CPU", format!("{cpu}, {cores} cores to run on")),
        ("Memory", memory()),
        ("Kernel", first_line("/proc/sys/kernel/osrelease")),
        ("Disks", disks()),
        ("Folder of the databases", file_system(dir)),
        ("Compiler", output_of("rustc", &["--version"])),
        ("Build", build().to_owned()),
    ]
}

fn today() -> String {
    let now = SystemClock.now().to_string();
    now.split('T').next().unwrap_or(&now).to_owned()
}

fn build() -> &'static str {
    if cfg!(debug_assertions) {
        "debug: these figures say nothing about a release"
    } else {
        "release"
    }
}

fn memory() -> String {
    let text = value_of("/proc/meminfo", "MemTotal");
    let kibibytes = text.strip_suffix(" kB").and_then(|it| it.parse::<u64>().ok());
    kibibytes.map_or(text, |it| format!("{} GiB", it.div_ceil(1024 * 1024)))
}

/// Returns name, size, rotation and model of each disk.
fn disks() -> String {
    let output = output_of("lsblk", &["-dno", "NAME,SIZE,ROTA,MODEL"]);
    let disks: Vec<String> = output
        .lines()
        .filter(|line| !line.starts_with("loop") && !line.starts_with("zram"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    if disks.is_empty() { "unknown".to_owned() } else { disks.join("; ") }
}

/// Returns the file system of `dir`: that of the deepest mount point above it.
fn file_system(dir: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mount_of(&mounts, dir).unwrap_or_else(|| "unknown".to_owned())
}

fn mount_of(mounts: &str, dir: &Path) -> Option<String> {
    let mut deepest_mount: Option<(usize, String)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (Some(device), Some(point), Some(kind)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };

        let depth = Path::new(point).components().count();
        let deeper = deepest_mount.as_ref().is_none_or(|(deepest, _)| depth >= *deepest);
        if dir.starts_with(point) && deeper {
            deepest_mount = Some((depth, format!("{kind} on {device}")));
        }
    }

    deepest_mount.map(|(_, text)| text)
}

/// Returns the value of the first line `name : value`.
fn value_of(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let value = pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    value.unwrap_or("unknown").to_owned()
}

fn first_line(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

/// Returns the output of a program, if it is installed and succeeds.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let stdout = output.ok().filter(|it| it.status.success()).map(|it| it.stdout);
    let text = stdout.map(|it| String::from_utf8_lossy(&it).trim().to_owned());
    text.filter(|it| !it.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_the_deepest_mount_above_it() {
        let mounts = "overlay / overlay rw 0 0\n/dev/sda1 /tmp ext4 rw 0 0\n\
            tmpfs /tmp/other tmpfs rw 0 0\nbroken\n";

        assert_eq!(mount_of(mounts, Path::new("/tmp/x")).unwrap(), "ext4 on /dev/sda1");
        assert_eq!(mount_of(mounts, Path::new("/tmpx")).unwrap(), "overlay on overlay");
        assert_eq!(mount_of("", Path::new("/tmp")), None);
    }

    #[test]
    fn facts_that_cannot_be_read_are_unknown() {
        assert_eq!(value_of("/no/such/file", "x"), "unknown");
        assert_eq!(first_line("/no/such/file"), "unknown");
        assert_eq!(output_of("/no/such/program", &[]), "unknown");
    }
}
