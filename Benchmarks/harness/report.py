"""The least disturbed rounds, ratios to the floor, and the table."""

import os
import pathlib
import platform
import statistics
import subprocess

from .measure import FLOOR, OTHER_FLOORS
from .rows import CLIENTS


def summarise(plan, results):
    """One entry per row: for each client its figures, its ratios to the floor and every sample."""
    summary = []
    for row in plan:
        of_row = {result.variant: _figures(row, result) for result in results if result.row == row.name}
        floor = FLOOR if of_row[FLOOR]["state"] == "measured" else None
        entry = {"name": row.name, "title": row.title, "floor": floor, "measures": [], "clients": {}}
        entry["measures"] = [measure.name for measure in row.measures]
        entry["digits"] = {measure.name: measure.digits for measure in row.measures}
        for variant, figures in of_row.items():
            figures["ratios"] = _ratios(row, figures, of_row.get(floor))
            figures["median_ratios"] = _median_ratios(figures, of_row.get(floor))
            entry["clients"][variant] = figures
        summary.append(entry)
    return summary


def _figures(row, result):
    state = "failed" if result.failed else "left out" if result.left_out else "measured"
    samples = {measure.name: [measure.of(run) for run in result.runs] for measure in row.measures}
    figures = {}
    if state == "measured":
        # What else runs on a machine only ever adds: the round that cost least was disturbed least.
        first = row.measures[0]
        best = (max if first.rate else min)(range(len(result.runs)), key=samples[first.name].__getitem__)
        figures = {name: values[best] for name, values in samples.items()}
    return {"state": state, "figures": figures, "samples": samples}


def _ratios(row, figures, floor):
    if floor is None:
        return {}
    return {measure.name: figures["figures"][measure.name] / floor["figures"][measure.name]
            for measure in row.measures
            if measure.compared and measure.name in figures["figures"] and floor["figures"][measure.name] > 0}


def _median_ratios(figures, floor):
    """Of each round's ratio. What disturbs a whole round changes both of its figures."""
    return {name: statistics.median(mine / its for mine, its in zip(figures["samples"][name], floor["samples"][name]))
            for name in figures["ratios"] if all(floor["samples"][name])}


# ---- The table --------------------------------------------------------------------------------------------


def table(summary):
    """Markdown, aligned so that it can be read as it is."""
    clients = [client for client in CLIENTS if any(_variant(entry, client) in entry["clients"] for entry in summary)]
    lines = [["", "", *clients]]
    for entry in summary:
        for index, measure in enumerate(entry["measures"]):
            title = entry["title"] if index == 0 else ""
            lines.append([title, measure, *(_cell(entry, client, measure) for client in clients)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width if column < 2 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    text = [_aligned(line, widths) for line in lines]
    return "\n".join([text[0], _aligned(rule, widths), *text[1:]])


def _aligned(cells, widths):
    padded = [cell.ljust(width) if column < 2 else cell.rjust(width)
              for column, (cell, width) in enumerate(zip(cells, widths))]
    return "| " + " | ".join(padded) + " |"


def _variant(entry, client):
    return FLOOR if client == "floor" else client


def _cell(entry, client, measure):
    figures = entry["clients"].get(_variant(entry, client))
    if figures is None:
        return ""
    if figures["state"] != "measured":
        return figures["state"]
    value = f"{figures['figures'][measure]:,.{entry['digits'][measure]}f}"
    if client == "floor":
        if measure != entry["measures"][0]:
            return value
        others = [f"{label} {entry['clients'][variant]['figures'][measure]:,.{entry['digits'][measure]}f}"
                  for label, variant in OTHER_FLOORS.items() if entry["clients"][variant]["state"] == "measured"]
        return f"{value} ({', '.join(others)})" if others else value
    ratio = figures["ratios"].get(measure)
    if ratio is None:
        return value
    median = figures["median_ratios"].get(measure)
    return f"{value} × {ratio:.2f}" + ("" if median is None else f" ({median:.2f})")


# ---- The machine ------------------------------------------------------------------------------------------


def machine():
    """What the figures depend on, for the JSON file."""
    names = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "libcurl": _first_line("curl-config", "--version"),
        "openssl": _first_line("openssl", "version"),
        "nginx": _first_line("nginx", "-v"),
        "cc": _first_line("cc", "--version"),
        "swift": _first_line("swift", "--version"),
    }


def description(machine):
    """A line under the table: the versions that the figures depend on most."""
    return ", ".join(machine[name] for name in ("cpu", "libcurl", "openssl", "nginx", "cc", "swift"))


def _first_line(*command):
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return "not found"
    return (result.stdout.splitlines() or ["unknown"])[0]
