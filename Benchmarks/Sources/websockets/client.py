"""The rows of WebSockets with Python's `websockets`: the same arguments and the same report as the other clients."""

import argparse
import asyncio
import json
import resource
import time

from websockets.asyncio.client import connect


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=("echo", "sockets"), required=True)
    parser.add_argument("--url", required=True)
    for name in ("--bytes", "--count", "--warmup", "--in-flight"):
        parser.add_argument(name, type=int, required=True)
    return parser.parse_args()


def cpu_us():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e6)


def status_kib(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":"))


class Measures:
    def __init__(self):
        self.base_kib = status_kib("VmRSS")
        self.wakeups = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        self.cpu_us = cpu_us()
        self.wall_ns = time.monotonic_ns()

    def report(self, requests):
        answered_ns = time.monotonic_ns()
        return {
            "client": "websockets", "requests": requests, "wall_us": (answered_ns - self.wall_ns) // 1000,
            "cpu_us": cpu_us() - self.cpu_us, "base_kib": self.base_kib, "peak_kib": status_kib("VmHWM"),
            "wakeups": resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - self.wakeups, "answered_ns": answered_ns,
        }


async def open_socket(url):
    # As in the other clients: no compression, no automatic pings.
    return await connect(url, compression=None, ping_interval=None, max_size=None, proxy=None)


async def exchange(sockets, message, count):
    """Sends `count` messages over all sockets together, each after the echo of the last one."""
    left = count

    async def use(socket):
        nonlocal left
        while left > 0:
            left -= 1
            await socket.send(message)
            if await socket.recv() != message:
                raise SystemExit("another message came back")

    await asyncio.gather(*(use(socket) for socket in sockets))


async def main():
    arguments = parse_arguments()
    url = arguments.url.replace("http", "ws", 1)
    if arguments.kind == "sockets":
        measures = Measures()
        sockets = [await open_socket(url) for _ in range(arguments.count)]
        report = measures.report(arguments.count)
    else:
        sockets = [await open_socket(url) for _ in range(arguments.in_flight)]
        message = bytes(arguments.bytes)
        await exchange(sockets, message, arguments.warmup)
        measures = Measures()
        await exchange(sockets, message, arguments.count)
        report = measures.report(arguments.count)
    print(json.dumps(report), flush=True)
    # Thousands of close handshakes aren't measured.
    for socket in sockets:
        socket.transport.abort()


asyncio.run(main())
