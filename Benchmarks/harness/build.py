"""Builds the clients and the extra server, optimised."""

import os
import subprocess
import sys


def build(here, build_dir, clients):
    """The path of each program by its name; ends the run with the log if a build fails."""
    core = "core" in clients or "external" in clients
    c_dir = build_dir / "c"
    _run(["cmake", "-S", here, "-B", c_dir, "-DCMAKE_BUILD_TYPE=Release", f"-DBENCH_CORE={'ON' if core else 'OFF'}"])
    _run(["cmake", "--build", c_dir, "-j", str(os.cpu_count())])
    programs = {"floor": c_dir / "bench-floor", "server": c_dir / "bench-server"}
    if core:
        programs.update({name: c_dir / "bench-core" for name in ("core", "external") if name in clients})
    for client in ("swift", "urlsession"):
        if client in clients:
            programs[client] = _swift(here, build_dir / "swift", f"bench-{client}")
    return programs


def _swift(here, scratch_path, product):
    _run(["swift", "build", "-c", "release", "--package-path", here, "--scratch-path", scratch_path,
          "--product", product])
    return scratch_path / "release" / product


def _run(command):
    print("build:", " ".join(map(str, command)), file=sys.stderr)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + "Benchmarks/run: the build failed")
