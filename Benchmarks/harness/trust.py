"""A certificate authority of our own, and a system store that knows it.

URLSession trusts the store under /etc/ssl/certs and nothing else, and the rows "start" are about reading
that store. So this process, and with it every client, gets a mount namespace of its own in which the folder
is a copy with our authority added. Nothing outside of this process sees that.
"""

import ctypes
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

STORE = pathlib.Path("/etc/ssl/certs")
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000


@dataclasses.dataclass
class Certificates:
    authority: pathlib.Path
    chain: pathlib.Path
    key: pathlib.Path


def make_certificates(scratch):
    """An EC authority, and a certificate of its for 127.0.0.1."""
    authority, authority_key = scratch / "ca.pem", scratch / "ca.key"
    made = Certificates(authority, scratch / "server.pem", scratch / "server.key")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    _openssl("req", "-x509", *new_key, "-keyout", authority_key, "-out", authority, "-subj", "/CN=Benchmark authority",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl("req", "-x509", *new_key, "-keyout", made.key, "-out", made.chain, "-subj", "/CN=127.0.0.1",
             "-CA", authority, "-CAkey", authority_key, "-addext", "subjectAltName=IP:127.0.0.1",
             "-addext", "basicConstraints=critical,CA:FALSE")
    return made


def extend_system_store(scratch, certificates):
    """Whether the clients will find the authority in the system store."""
    copy = scratch / "certs"
    shutil.copytree(STORE, copy, symlinks=True)
    bundle = copy / "ca-certificates.crt"
    bundle.write_text(bundle.read_text() + certificates.authority.read_text())
    name = _openssl("x509", "-noout", "-hash", "-in", certificates.authority).strip() + ".0"
    shutil.copy(certificates.authority, copy / name)
    try:
        _enter_mount_namespace()
        subprocess.run(["mount", "--make-rprivate", "/"], check=True, capture_output=True)
        subprocess.run(["mount", "--bind", copy, STORE], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no mount namespace, the rows that need the system store are left out: {error}", file=sys.stderr)
        return False
    return True


def _enter_mount_namespace():
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if user != 0:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _openssl(*arguments):
    result = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr + "Benchmarks/run: openssl failed")
    return result.stdout
