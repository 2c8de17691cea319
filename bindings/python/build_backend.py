"""Builds the wheel of the package `sepal` (PEP 517), with nothing but Python, a C++ compiler and pkg-config.

The extension is linked with an installed libsepal, which pkg-config finds; PKG_CONFIG_PATH names its directory where it
is installed in a place of its own, and the extension then remembers that place. CXX, CXXFLAGS, LDFLAGS and PKG_CONFIG
are heeded.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent
OLDEST_PYTHON = (3, 10)


def fail(message):
    raise SystemExit("sepal: " + message)


def pkg_config(*arguments):
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), *arguments, "sepal"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        fail(f"{command[0]} is not installed (Debian: apt install pkg-config)")
    if done.returncode != 0:
        fail("libsepal is not installed, or pkg-config does not find it. Install it with `cmake --install`, or the package "
             f"libsepal-dev, and let PKG_CONFIG_PATH name the directory of sepal.pc. It said:\n{done.stderr}")
    return shlex.split(done.stdout)


def version():
    return pkg_config("--modversion")[0]


def run(command):
    print(shlex.join(command), flush=True)
    done = subprocess.run(command)
    if done.returncode != 0:
        fail(f"the compiler failed with status {done.returncode}")


def compile_extension(directory):
    if sys.version_info < OLDEST_PYTHON:
        fail(f"Python {'.'.join(map(str, OLDEST_PYTHON))} or later is needed, this is {sys.version.split()[0]}")
    include = sysconfig.get_path("include")
    if not pathlib.Path(include, "Python.h").exists():
        fail(f"Python's headers are not in {include} (Debian: apt install python3-dev)")
    target = pathlib.Path(directory, "_sepal" + sysconfig.get_config_var("EXT_SUFFIX"))
    libraries = pkg_config("--libs")
    # Where the loader does not look by itself.
    for directory_of_library in pkg_config("--variable=libdir"):
        libraries.append(f"-Wl,-rpath,{os.path.normpath(directory_of_library)}")
    run([*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared",
         "-fvisibility=hidden", f"-I{ROOT}", f"-I{include}", *pkg_config("--cflags"),
         *shlex.split(os.environ.get("CXXFLAGS", "")), *sorted(map(str, (ROOT / "src").glob("*.cc"))), "-o", str(target),
         *shlex.split(os.environ.get("LDFLAGS", "")), *libraries])
    return target


def metadata():
    return (f"Metadata-Version: 2.1\nName: sepal\nVersion: {version()}\n"
            "Summary: Embedded ordered key-value store, with plyvel's interface and more\nLicense: Apache-2.0\n"
            f"Requires-Python: >={'.'.join(map(str, OLDEST_PYTHON))}\nDescription-Content-Type: text/markdown\n\n"
            + (ROOT / "README.md").read_text())


def tags():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[^A-Za-z0-9_]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: sepal\nRoot-Is-Purelib: false\nTag: {tags()}\n"


class Wheel:
    def __init__(self, path):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def finish(self, info):
        self.record.append(f"{info}/RECORD,,")
        self.file.writestr(f"{info}/RECORD", "\n".join(self.record) + "\n")
        self.file.close()


def package_files():
    return sorted(p for p in (ROOT / "sepal").iterdir() if p.suffix in (".py", ".pyi") or p.name == "py.typed")


# --- the hooks of PEP 517 ---


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"sepal-{version()}.dist-info"
    directory = pathlib.Path(metadata_directory, info)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "METADATA").write_text(metadata())
    (directory / "WHEEL").write_text(wheel_text())
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"sepal-{version()}.dist-info"
    name = f"sepal-{version()}-{tags()}.whl"
    with tempfile.TemporaryDirectory() as directory:
        extension = compile_extension(directory)
        wheel = Wheel(pathlib.Path(wheel_directory, name))
        for path in [*package_files(), extension]:
            wheel.add(f"sepal/{path.name}", path.read_bytes())
        wheel.add(f"{info}/METADATA", metadata().encode())
        wheel.add(f"{info}/WHEEL", wheel_text().encode())
        wheel.finish(info)
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"sepal-{version()}"
    paths = [ROOT / name for name in ("README.md", "pyproject.toml", "build_backend.py")]
    paths += [*package_files(), *sorted((ROOT / "src").iterdir()), *sorted((ROOT / "tests").glob("*.py"))]
    with tarfile.open(pathlib.Path(sdist_directory, base + ".tar.gz"), "w:gz") as archive:
        for path in paths:
            archive.add(path, f"{base}/{path.relative_to(ROOT)}")
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        data = metadata().encode()
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return base + ".tar.gz"
