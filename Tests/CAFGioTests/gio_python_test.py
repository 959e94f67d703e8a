"""gio_python_test.py EXAMPLE GUIDE: libafcore-gio by its introspection data, the example EXAMPLE, and the first program in the
page GUIDE, against servers on loopback."""
import base64
import contextlib
import hashlib
import http.server
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import gi

gi.require_version("Afgio", "1.0")
from gi.repository import Afgio, Gio, GLib

EXAMPLE = GUIDE = None
BODY = bytes(range(256)) * 2048
BROKEN_AT = 200000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with self.server.lock:
            self.server.count += 1
        if self.path == "/hello":
            self.reply(200, b"hello", X_Name="caf\xe9", Cache_Control="max-age=1000")
        elif self.path == "/stalled":
            self.server.reached.set()
            self.server.stopped.wait()
            self.close_connection = True
        elif self.path == "/file":
            self.send_file()
        else:
            self.reply(404, b"none")

    def send_file(self):
        """Without Range only the beginning, as if the connection broke."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked:
            first = int(asked[1])
            self.reply(206, BODY[first:], ETag='"1"', Content_Range=f"bytes {first}-{len(BODY) - 1}/{len(BODY)}")
            return
        self.send_response(200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[:BROKEN_AT])
        self.wfile.flush()
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, self.headers["X"].encode() + b" " + body, Content_Type=self.headers["Content-Type"])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.count = threading.Lock(), 0
        self.reached, self.stopped = threading.Event(), threading.Event()
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, *arguments):
        pass  # A client that left.


@contextlib.contextmanager
def serving(certificate=None):
    server = Server(certificate)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()


def make_certificate(folder):
    """Returns a file with a key and its certificate for localhost, a file with the certificate, and its pin."""
    both, certificate = folder / "both.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", both,
                    "-out", certificate], check=True, capture_output=True)
    both.write_bytes(both.read_bytes() + certificate.read_bytes())
    public = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True).stdout
    key = base64.b64decode(b"".join(public.splitlines()[1:-1]))
    return both, certificate, "sha256//" + base64.b64encode(hashlib.sha256(key).digest()).decode()


class GioTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.server = self.stack.enter_context(serving())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def serve_securely(self):
        both, self.certificate, self.pin = make_certificate(self.folder)
        server = self.stack.enter_context(serving(both))
        return f"https://localhost:{server.server_address[1]}/hello"

    def send_async(self, session, request, cancellable=None, when_sent=lambda: None):
        """Returns the response, or the error, that a callback in the main loop was given."""
        loop, ended, threads = GLib.MainLoop(), [], []

        def on_sent(source, result):
            threads.append(threading.current_thread())
            try:
                ended.append(source.send_finish(result))
            except GLib.Error as error:
                ended.append(error)
            loop.quit()

        session.send_async(request, cancellable, on_sent)
        when_sent()
        loop.run()
        self.assertEqual(len(ended), 1)
        self.assertEqual(threads, [threading.main_thread()])
        return ended[0]

    def check_fails(self, code, session, request):
        with self.assertRaises(GLib.Error) as caught:
            session.send(request)
        self.assertTrue(caught.exception.matches(Afgio.error_quark(), code), caught.exception)

    # What is sent and received

    def test_returns_status_fields_and_body(self):
        response = Afgio.Session().send(Afgio.Request.new("GET", f"{self.url}/hello"))
        self.assertEqual(response.get_status(), 200)
        self.assertEqual(response.props.reason, "OK")
        self.assertEqual(response.get_url(), f"{self.url}/hello")
        self.assertEqual(response.get_body().get_data(), b"hello")
        self.assertEqual(response.get_header("x-name"), "café")
        self.assertIsNone(response.get_header("x-other"))
        names = [response.get_nth_header(i)[1] for i in range(response.get_n_headers())]
        self.assertIn("Cache-Control", names)
        self.assertEqual(tuple(response.get_nth_header(len(names))), (False, None, None))

    def test_sends_fields_and_body(self):
        session = Afgio.Session(base_url=f"{self.url}/")
        request = Afgio.Request(method="POST", url="echo")
        request.set_body("text/plain", GLib.Bytes.new(b"body"))
        request.set_header("X", "1")
        response = session.send(request)
        self.assertEqual(response.get_body().get_data(), b"1 body")
        self.assertEqual(response.get_header("Content-Type"), "text/plain")

    def test_calls_back_in_main_loop_after_progress(self):
        request = Afgio.Request.new("GET", f"{self.url}/hello")
        reports = []
        request.connect("progress", lambda _, *numbers: reports.append(numbers))
        response = self.send_async(Afgio.Session(), request)
        self.assertEqual(response.get_status(), 200)
        self.assertEqual(reports[-1][2:], (5, 5))

    def test_sends_on_several_threads(self):
        session, statuses = Afgio.Session(), []

        def send():
            statuses.append(session.send(Afgio.Request.new("GET", f"{self.url}/missing")).get_status())

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [404] * 8)

    # Errors

    def test_maps_failures_to_errors(self):
        session = Afgio.Session()
        self.check_fails(Afgio.Error.INVALID_INPUT, session, Afgio.Request.new("GET", "nothing"))
        self.check_fails(Afgio.Error.TRUNCATED, session, Afgio.Request.new("GET", f"{self.url}/file"))

    def test_cancels(self):
        cancellable = Gio.Cancellable()

        def cancel():
            self.server.reached.wait()
            cancellable.cancel()

        error = self.send_async(Afgio.Session(), Afgio.Request.new("GET", f"{self.url}/stalled"), cancellable, cancel)
        self.assertTrue(error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))

    # Pins, downloads, the cache

    def test_accepts_pinned_key_only(self):
        url = self.serve_securely()
        for pin, accepted in ((self.pin, True), ("sha256//" + "A" * 43 + "=", False)):
            session = Afgio.Session(ca_file=str(self.certificate))
            session.pin_host("localhost", False, [pin])
            request = Afgio.Request.new("GET", url)
            if accepted:
                self.assertEqual(session.send(request).get_status(), 200)
            else:
                self.check_fails(Afgio.Error.UNTRUSTED, session, request)

    def test_resumes_a_download(self):
        session, path = Afgio.Session(), self.folder / "file"
        request = Afgio.Request.new("GET", f"{self.url}/file")
        request.set_destination(Gio.File.new_for_path(str(path)), True)
        self.check_fails(Afgio.Error.TRUNCATED, session, request)
        self.assertFalse(path.exists())
        response = session.send(request)
        self.assertEqual(response.get_resumption(), Afgio.Resumption.RESUMED)
        self.assertEqual(response.get_file().get_path(), str(path))
        self.assertEqual(path.read_bytes(), BODY)

    def test_uses_stored_response_in_next_session(self):
        for expected in (Afgio.CacheUse.UNUSED, Afgio.CacheUse.HIT):
            session = Afgio.Session(cache_folder=str(self.folder / "cache"))
            response = session.send(Afgio.Request.new("GET", f"{self.url}/hello"))
            self.assertEqual(response.get_cache_use(), expected)
            session.flush_cache()
        request = Afgio.Request(url=f"{self.url}/other", cache_policy=Afgio.CachePolicy.ONLY)
        self.assertEqual(session.send(request).get_status(), 504)
        self.assertEqual(self.server.count, 1)

    # The program in the guide

    def run_guide(self, download):
        """Returns what its main loop prints, when it downloads from another path."""
        program = re.search(r"```python\n(.*?)```", pathlib.Path(GUIDE).read_text(), re.DOTALL)[1]
        for ours, theirs in (("/home/me/.cache/example", str(self.folder / "cache")), ('"large.iso"', f'"{self.folder}/large.iso"'),
                             ("https://example.org/large.iso", self.url + download), ("https://example.org/", f"{self.url}/hello")):
            self.assertEqual(program.count(ours), 1)
            program = program.replace(ours, theirs)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_guide_saves_a_file(self):
        lines = self.run_guide("/hello")
        self.assertEqual((lines[0], lines[-1]), ("200 None 5", f"saved {self.folder}/large.iso"))

    def test_guide_ends_after_a_404(self):
        self.assertEqual(self.run_guide("/missing")[-1], "not saved: 404 Not Found")

    # The example

    def run_example(self, *arguments, code=0):
        done = subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_example_fetches_with_cache(self):
        url = f"{self.url}/hello"
        arguments = (url, "--cache", self.folder / "cache")
        self.assertEqual(self.run_example(*arguments), f"{url} 200 unused none 5\n")
        self.assertEqual(self.run_example(*arguments), f"{url} 200 hit none 5\n")

    def test_example_fetches_with_pin(self):
        url = self.serve_securely()
        trusted = (url, "--ca-file", self.certificate)
        self.assertEqual(self.run_example(*trusted, "--pin", self.pin), f"{url} 200 unused none 5\n")
        self.assertEqual(self.run_example(*trusted, "--pin", "sha256//" + "A" * 43 + "=", code=1), "")

    def test_example_resumes(self):
        url, path = f"{self.url}/file", self.folder / "file"
        self.run_example(url, "--output", path, code=1)
        self.assertEqual(self.run_example(url, "--output", path), f"{url} 206 unused resumed 0\n")
        self.assertEqual(path.read_bytes(), BODY)


if __name__ == "__main__":
    EXAMPLE, GUIDE = sys.argv.pop(1), sys.argv.pop(1)
    for variable in list(os.environ):
        if variable.lower().endswith("_proxy"):
            del os.environ[variable]
    unittest.main()
