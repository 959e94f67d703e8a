"""Builds the clients and the extra server, optimised as the packages are."""

import os
import pathlib
import subprocess
import sys


def build(here, build_dir, clients, core_build=None):
    """The path of each program by its name; ends the run with the log if a build fails."""
    core = "core" in clients or "external" in clients
    c_dir = build_dir / "c"
    _run(["cmake", "-S", here, "-B", c_dir, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DBENCH_CORE={'ON' if core else 'OFF'}",
          f"-DBENCH_AFCORE_BUILD={core_build.resolve() if core_build else ''}"])
    _run(["cmake", "--build", c_dir, "-j", str(os.cpu_count())])
    programs = {"floor": c_dir / "bench-floor", "server": c_dir / "bench-server"}
    if core:
        programs.update({name: c_dir / "bench-core" for name in ("core", "external") if name in clients})
    if "swift" in clients or "swift-loop" in clients:
        program = _swift(here, build_dir / "swift", "bench-swift")
        programs.update({name: program for name in ("swift", "swift-loop") if name in clients})
    if "urlsession" in clients:
        programs["urlsession"] = _swift(here, build_dir / "swift", "bench-urlsession")
    if "websockets" in clients:
        programs.update(_python(here))
    return programs


def _python(here):
    """An interpreter that has Python's `websockets`, which Scripts/setup installs; nothing without one."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    venv = pathlib.Path(os.environ.get("AF_VENV") or cache / "swiftaf" / "venv")
    for python in (str(venv / "bin" / "python"), "python3"):
        try:
            found = subprocess.run([python, "-c", "import websockets.asyncio.client"], stderr=subprocess.DEVNULL)
        except OSError:
            continue
        if found.returncode == 0:
            return {"websockets": (python, here / "Sources" / "websockets" / "client.py")}
    print("left out: Python's websockets isn't installed; Scripts/setup does", file=sys.stderr)
    return {}


def _swift(here, scratch_path, product):
    # SwiftPM keeps its plan while only a package that it depends on has new files, and doesn't compile them then.
    for plan in scratch_path.glob("*/release/description.json"):
        plan.unlink()
    _run(["swift", "build", "-c", "release", "--package-path", here, "--scratch-path", scratch_path,
          "--product", product])
    return scratch_path / "release" / product


def _run(command):
    print("build:", " ".join(map(str, command)), file=sys.stderr)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + "Benchmarks/run: the build failed")
