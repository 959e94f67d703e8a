"""Runs every client of every row, in rounds, so that a noisy moment hits all of them alike."""

import dataclasses
import json
import subprocess
import sys
import time

# What ratios are to: curl_multi_socket_action, the interface for event loops. The others are shown beside it.
FLOOR = "floor-epoll"
OTHER_FLOORS = {"poll": "floor-poll", "fresh": "floor-fresh"}
FLOORS = {
    "floor-poll": ["--loop", "poll"],
    "floor-epoll": ["--loop", "epoll"],
    "floor-fresh": ["--loop", "epoll", "--handles", "fresh"],
}

# Far beyond what the slowest client needs for the longest row.
TIME_LIMIT_S = 120


@dataclasses.dataclass
class Result:
    """What one variant (a client, or one of the floors) reported in each round of a row."""

    row: str
    variant: str
    runs: list = dataclasses.field(default_factory=list)
    failed: bool = False
    left_out: bool = False


def variants(programs):
    """The program of each variant, and the arguments that only this variant gets."""
    found = {name: (programs["floor"], extra) for name, extra in FLOORS.items()}
    if "external" in programs:
        found["external"] = (programs["external"], ["--loop", "external"])
    for client in ("core", "swift", "urlsession"):
        if client in programs:
            found[client] = (programs[client], [])
    if "swift-loop" in programs:
        found["swift-loop"] = (programs["swift-loop"], ["--executor", "loop"])
    if "websockets" in programs:
        python, script = programs["websockets"]
        found["websockets"] = (python, [script])
    return found


def run(plan, programs, site, trusted):
    results = []
    for row in plan:
        print(f"measuring: {row.title}", file=sys.stderr)
        of_row = {variant: Result(row.name, variant) for variant in variants(programs)}
        for result in of_row.values():
            result.left_out = row.needs_system_store(result.variant) and not trusted
            result.left_out |= not row.is_about(result.variant)
        order = list(variants(programs).items())
        for number in range(row.rounds):
            # Each round begins with another client: none always follows the same one.
            first = number % len(order)
            for variant, (program, extra) in order[first:] + order[:first]:
                result = of_row[variant]
                if not result.left_out and not result.failed:
                    _one(result, row, [program, *extra], site)
        results.extend(of_row.values())
    return results


def _one(result, row, program, site):
    arguments = _arguments(row, result.variant, site)
    accepted = site.accepted()
    started_ns = time.monotonic_ns()
    try:
        done = subprocess.run(program + arguments, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT_S)
        problem = None if done.returncode == 0 else f"exit status {done.returncode}"
    except subprocess.TimeoutExpired:
        problem = f"no end after {TIME_LIMIT_S} s"
    problem = problem or _check_received(row, site)
    if problem is not None:
        result.failed = True
        print(f"FAILED: {result.variant}, {row.title}: {problem}", file=sys.stderr)
        return
    report = json.loads(done.stdout)
    report["moved"] = row.moved
    report["start_us"] = (report["answered_ns"] - started_ns) / 1e3
    report["connections"] = site.accepted() - accepted
    result.runs.append(report)


def _arguments(row, variant, site):
    count, warmup = row.size_for(variant)
    arguments = ["--kind", row.kind, "--url", getattr(site, row.server) + row.target, "--bytes", str(row.bytes),
                 "--count", str(count), "--warmup", str(warmup), "--in-flight", str(row.in_flight)]
    if row.server in ("https", "http2") and not row.needs_system_store(variant):
        arguments += ["--ca", site.authority]
    if row.connections:
        arguments += ["--connections", str(row.connections)]
    if row.kind == "file":
        arguments += ["--path", site.download]
    if row.kind == "upload":
        arguments += ["--path", site.upload]
    return arguments


def _check_received(row, site):
    """Checks the size of a received file, so that no client checks its own, and removes it."""
    if row.kind != "file":
        return None
    size = site.download.stat().st_size if site.download.exists() else 0
    site.download.unlink(missing_ok=True)
    return None if size == row.bytes else f"the file received has {size} bytes instead of {row.bytes}"
