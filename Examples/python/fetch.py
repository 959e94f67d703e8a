#!/usr/bin/env python3
"""Fetches URLs at the same time with libafcore-gio: with a pinned key, into a file that is resumed, with a cache.

fetch.py https://example.org/ --pin "sha256//…" --pin "sha256//BACKUP…"
fetch.py https://example.org/large.iso --output large.iso    Again after an interruption: it continues.
fetch.py https://example.org/a https://example.org/b --cache ~/.cache/example
"""
import argparse
import sys
from urllib.parse import urlsplit

import gi

gi.require_version("Afgio", "1.0")
from gi.repository import Afgio, Gio, GLib


def make_session(options):
    session = Afgio.Session(user_agent="fetch/1.0", ca_file=options.ca_file, cache_folder=options.cache)
    if options.pin:
        for host in {urlsplit(url).hostname for url in options.urls}:
            session.pin_host(host, False, options.pin)
    return session


def show_progress(_request, _sent, _sent_total, received, total):
    print(f"{received} of {total if total >= 0 else '?'} bytes", file=sys.stderr)


class Fetch:
    """Requests under way. The main loop ends with the last one."""

    def __init__(self, session, options):
        self.session, self.options = session, options
        self.loop = GLib.MainLoop()
        self.left = len(options.urls)
        self.failed = False

    def run(self):
        for url in self.options.urls:
            request = Afgio.Request.new("GET", url)
            request.connect("progress", show_progress)
            if self.options.output:
                request.set_destination(Gio.File.new_for_path(self.options.output), True)
            self.session.send_async(request, None, self.on_sent, url)
        self.loop.run()

    def on_sent(self, session, result, url):
        try:
            response = session.send_finish(result)
            print(url, response.get_status(), response.get_cache_use().value_nick, response.get_resumption().value_nick,
                  len(response.get_body().get_data()))
        except GLib.Error as error:
            print(url, error.message, file=sys.stderr)
            self.failed = True
        self.left -= 1
        if self.left == 0:
            self.loop.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("urls", nargs="+", metavar="URL")
    parser.add_argument("--pin", action="append", help="accept servers with this key only; give backup pins, too")
    parser.add_argument("--ca-file", help="trust these certificates in place of the system's")
    parser.add_argument("--output", help="write the body of one URL to this file")
    parser.add_argument("--cache", help="store responses in this folder")
    options = parser.parse_args()
    if options.output and len(options.urls) > 1:
        parser.error("--output takes one URL")
    session = make_session(options)
    fetch = Fetch(session, options)
    fetch.run()
    session.flush_cache()
    return 1 if fetch.failed else 0


if __name__ == "__main__":
    sys.exit(main())
