"""What is measured: every row with its sizes, and what its figures mean."""

import dataclasses

from .servers import SMALL_SIZE, json_document

CLIENTS = ("floor", "core", "external", "swift", "swift-loop", "urlsession", "websockets")

GIB = 1 << 30

# They cost several times as much: with fewer requests the whole stays a matter of minutes.
SLOW_CLIENTS = ("urlsession", "websockets")

# Clients of only the rows that name them.
SPECIAL_CLIENTS = ("websockets",)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of one run: `of` takes the client's report. Less is better, unless it is a rate."""

    name: str
    of: object
    digits: int = 1
    rate: bool = False
    compared: bool = True


CPU_US = Measure("CPU µs per request", lambda run: run["cpu_us"] / run["requests"])
CPU_MS = Measure("CPU ms per request", lambda run: run["cpu_us"] / run["requests"] / 1e3, digits=3)
WAKEUPS = Measure("wake-ups per request", lambda run: run["wakeups"] / run["requests"], digits=3)
RATE = Measure("requests/s", lambda run: run["requests"] / run["wall_us"] * 1e6, digits=0, rate=True)
CPU_GIB = Measure("CPU s per GiB", lambda run: run["cpu_us"] / 1e6 * GIB / run["moved"], digits=3)
THROUGHPUT = Measure("MiB/s", lambda run: run["moved"] / (1 << 20) / run["wall_us"] * 1e6, digits=0, rate=True)
PEAK = Measure("peak RSS, MiB", lambda run: run["peak_kib"] / 1024)
GROWTH = Measure("KiB per request", lambda run: (run["peak_kib"] - run["base_kib"]) / run["requests"])
MESSAGE_US = Measure("CPU µs per message", lambda run: run["cpu_us"] / run["requests"])
MESSAGE_RATE = Measure("messages/s", lambda run: run["requests"] / run["wall_us"] * 1e6, digits=0, rate=True)
SOCKET_KIB = Measure("KiB per socket", lambda run: (run["peak_kib"] - run["base_kib"]) / run["requests"])
CONNECTIONS = Measure("connections", lambda run: run["connections"], digits=0, compared=False)
ANSWERED = Measure("ms to the first answer", lambda run: run["start_us"] / 1e3)


@dataclasses.dataclass(frozen=True)
class Row:
    """`count` and `warmup` are requests of a fast client and of a slow one."""

    name: str
    title: str
    server: str
    target: str
    measures: tuple
    count: tuple
    rounds: int
    warmup: tuple = (0, 0)
    in_flight: int = 1
    kind: str = "memory"
    bytes: int = SMALL_SIZE
    moved: int = 0
    system_store: bool = False
    connections: int = 0  # To one host at most; 0: no limit.
    only: tuple = ()  # The clients that the row is about; empty: all.

    def size_for(self, client):
        """Requests, requests of warm-up."""
        index = 1 if client in SLOW_CLIENTS else 0
        return self.count[index], self.warmup[index]

    def is_about(self, variant):
        return variant in self.only if self.only else variant not in SPECIAL_CLIENTS

    def needs_system_store(self, client):
        return self.server != "http" and self.server != "other" and (self.system_store or client == "urlsession")


def bulk_size(quick, gib):
    return GIB // 4 if quick else gib * GIB


def plan(names, bulk, quick, rounds):
    """The rows of these names, in their order."""
    rounds = rounds or (1 if quick else 3)
    every = (_small(quick, rounds) + _small_values(quick, rounds) + _bulk(bulk, rounds)
             + _connections(quick, rounds) + _queued(quick, rounds) + _cached(quick, rounds) + _sockets(quick, rounds))
    return [row for row in every if row.name in names]


def _small(quick, rounds):
    cases = [("small_1", "http", 1), ("small_16", "http", 16), ("small_64", "http", 64), ("small_256", "http", 256),
             ("tls_64", "https", 64), ("http2_64", "http2", 64)]
    protocols = {"http": "HTTP/1.1", "https": "HTTP/1.1, TLS", "http2": "HTTP/2, TLS"}
    return [
        Row(name, f"GET 1 KiB, {width} in flight, {protocols[server]}", server, "/small",
            (CPU_US, RATE, WAKEUPS, PEAK, CONNECTIONS), in_flight=width, warmup=(2 * width, 2 * width),
            count=(4000, 300) if quick else (20000, 1500), rounds=3 * rounds)
        for name, server, width in cases
    ]


def _small_values(quick, rounds):
    cases = [("json_64", "/json", "json", len(json_document()), "of JSON, in Swift decoded as a typed value"),
             ("closures_64", "/small", "closures", SMALL_SIZE, "1 KiB, in Swift with closures")]
    return [
        Row(name, f"GET {what}, 64 in flight", "http", target, (CPU_US, RATE), in_flight=64, warmup=(128, 128), kind=kind,
            bytes=size, count=(4000, 300) if quick else (20000, 1500), rounds=3 * rounds,
            only=("floor-epoll", "core", "swift", "swift-loop"))
        for name, target, kind, size, what in cases
    ]


def _bulk(size, rounds):
    words = "256 MiB" if size < GIB else f"{size // GIB} GiB"
    common = {"measures": (CPU_GIB, THROUGHPUT, PEAK), "count": (1, 1), "rounds": rounds, "moved": size}
    return [
        Row("memory", f"{words} download into memory", "http", "/big", kind="memory", bytes=size, **common),
        Row("file", f"{words} download to a file", "http", "/big", kind="file", bytes=size, **common),
        Row("events", f"{words} download, counted", "http", "/big", kind="events", bytes=size, **common),
        Row("upload", f"{words} upload from a file", "other", "/upload", kind="upload", bytes=2, **common),
    ]


def _queued(quick, rounds):
    count = 10000 if quick else 100000
    common = {"server": "http", "target": "/small", "measures": (CPU_US, RATE, GROWTH), "count": (count, count),
              "warmup": (64, 64), "rounds": rounds, "connections": 32, "only": ("core",)}
    return [
        Row("queued_32", f"{count} GETs of 1 KiB, 32 started at a time, 32 connections", in_flight=32, **common),
        Row("queued_all", f"{count} GETs of 1 KiB, all started at once, 32 connections", in_flight=count, **common),
    ]


def _cached(quick, rounds):
    count = 20000 if quick else 100000
    common = {"server": "http", "target": "/cached", "measures": (CPU_US, RATE, WAKEUPS), "in_flight": 16,
              "warmup": (32, 32), "rounds": 3 * rounds, "only": ("floor-epoll", "core")}
    cases = [("cache_none", "no cache", "memory", count // 5),
             ("cache_stored", "stored in a cache in memory", "stored", count // 5),
             ("cache_hit", "answered from a cache in memory", "cached", count)]
    return [Row(name, f"GET 1 KiB, {words}, 16 in flight", kind=kind, count=(count,) * 2, **common)
            for name, words, kind, count in cases]


def _sockets(quick, rounds):
    # Each client and the server have a descriptor for each socket.
    idle = 1000 if quick else 10000
    common = {"server": "echo", "target": "", "only": ("floor-epoll", "core", "swift", "swift-loop", "websockets")}
    cases = [("echo_32_1", "32 bytes", 32, 1, 40000), ("echo_32_64", "32 bytes", 32, 64, 100000),
             ("echo_64k_1", "64 KiB", 65536, 1, 5000), ("echo_64k_64", "64 KiB", 65536, 64, 20000)]
    echoes = [
        Row(name, f"WebSocket echo of {words}, {width} sockets" if width > 1 else f"WebSocket echo of {words}, 1 socket",
            measures=(MESSAGE_US, MESSAGE_RATE, WAKEUPS), kind="echo", bytes=size, in_flight=width,
            count=(count // 10 if quick else count, count // 10), warmup=(10 * width,) * 2, rounds=3 * rounds,
            **common)
        for name, words, size, width, count in cases
    ]
    return echoes + [
        Row("sockets_idle", f"{idle} idle WebSockets", measures=(SOCKET_KIB,), kind="sockets", bytes=0,
            count=(idle, idle), in_flight=idle, rounds=rounds, **common)
    ]


def _connections(quick, rounds):
    waiting = 500 if quick else 2000
    starts = 5 if quick else 20
    return [
        Row("tls_fresh", "GET 1 KiB, fresh TLS connection each", "https", "/fresh/small", (CPU_MS, RATE, CONNECTIONS),
            count=(100, 20) if quick else (500, 50), warmup=(5, 1), rounds=rounds),
        Row("waiting", f"{waiting} requests at once, each held for 1 s", "other", "/held", (CPU_MS, GROWTH),
            count=(waiting, waiting), in_flight=waiting, bytes=2, rounds=rounds),
        Row("start_http", "process start to the first answer, HTTP", "http", "/small", (ANSWERED,),
            count=(1, 1), rounds=starts),
        Row("start_https", "process start to the first answer, HTTPS with the system store", "https", "/small",
            (ANSWERED,), count=(1, 1), rounds=starts, system_store=True),
    ]


NAMES = tuple(row.name for row in _small(False, 1) + _small_values(False, 1) + _bulk(GIB, 1) + _connections(False, 1)
              + _queued(False, 1) + _cached(False, 1) + _sockets(False, 1))
