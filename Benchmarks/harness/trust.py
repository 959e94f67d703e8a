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
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18


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
    name = _openssl("x509", "-noout", "-hash", "-in", certificates.authority).strip() + ".0"
    try:
        shutil.copytree(STORE, copy, symlinks=True)
        bundle = copy / "ca-certificates.crt"
        bundle.write_text(bundle.read_text() + certificates.authority.read_text())
        shutil.copy(certificates.authority, copy / name)
        _enter_mount_namespace()
        _mount(None, "/", MS_REC | MS_PRIVATE)
        _mount(copy, STORE, MS_BIND)
    except (OSError, shutil.Error) as error:
        print(f"the rows that need the system store are left out: {error}", file=sys.stderr)
        return False
    return True


def _enter_mount_namespace():
    user, group = os.getuid(), os.getgid()
    _call("unshare", CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER)
    if user != 0:
        # The user stays the same: as root of the new namespace, nginx would try to become nobody, who isn't in it.
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _mount(source, target, flags):
    """In this process: a program that it starts doesn't get the rights that it has in its own namespace."""
    _call("mount", source and os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None)


def _call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _openssl(*arguments):
    result = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr + "Benchmarks/run: openssl failed")
    return result.stdout
