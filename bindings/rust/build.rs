//! Finds libsepal: in SEPAL_LIB_DIR, by pkg-config, or else in the linker's own directories.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=SEPAL_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Some(directory) = env::var("SEPAL_LIB_DIR").ok().or_else(from_pkg_config) {
        println!("cargo:rustc-link-search=native={directory}");
    }
    println!("cargo:rustc-link-lib=dylib=sepal");
}

fn from_pkg_config() -> Option<String> {
    let output = Command::new("pkg-config").args(["--variable=libdir", "sepal"]).output().ok()?;
    let directory = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !directory.is_empty()).then_some(directory)
}
