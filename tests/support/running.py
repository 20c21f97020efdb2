"""Servers on loopback, each a process of its own that ends with the test session, and how fsspec reaches them."""

from __future__ import annotations

import base64
import getpass
import os
import posixpath
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec

HOST = "127.0.0.1"
START_SECONDS = 60
# Azurite's account, the same everywhere: its documentation names it.
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True, slots=True)
class Place:
    """Where files are served.

    Parameters
    ----------
    root
        URL of a folder.
    protocol, options
        What fsspec is to be given for it.
    served
        The local folder that is served where files cannot be written through the server.
    """

    root: str
    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)
    served: Path | None = None

    @property
    def filesystem(self) -> fsspec.AbstractFileSystem:
        """The filesystem, as fsspec keeps one for these options."""
        return fsspec.filesystem(self.protocol, **self.options)

    def path(self, name: str) -> str:
        """Path of a file, as the filesystem has it."""
        return str(self.filesystem._strip_protocol(f"{self.root}/{name}"))

    def put(self, local: Path, name: str) -> str:
        """Make a local file or folder a served one; returns its URL."""
        if self.served is None:
            # One file at a time: not all filesystems put folders.
            for file in sorted(local.rglob("*")) if local.is_dir() else [local]:
                if file.is_file():
                    target = self.path(posixpath.join(name, *file.relative_to(local).parts))
                    self.filesystem.makedirs(posixpath.dirname(target), exist_ok=True)
                    self.filesystem.put_file(str(file), target)
        elif local.is_dir():
            shutil.copytree(local, self.served / name)
        else:
            shutil.copy(local, self.served / name)
        return f"{self.root}/{name}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _tool(*parts: str) -> Path:
    found = Path(os.environ["LANCE_ARROW_SERVERS"]).joinpath(*parts)
    if not found.exists():
        raise FileNotFoundError(f"{found}: nox -s servers puts it there")
    return found


@contextmanager
def _process(
    command: Sequence[object], port: int, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends; a server that does not listen within a minute is a failure with its output."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(one) for one in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
        try:
            _wait(process, port, folder)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((HOST, port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    said = (folder / "server.log").read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{process.args!r} does not listen on port {port}; it said: {said}")


@contextmanager
def _s3(folder: Path) -> Iterator[Place]:
    port = _free_port()
    with _process([sys.executable, Path(__file__).with_name("s3_server.py"), "-H", HOST, "-p", port], port, folder):
        options = {"key": "test", "secret": "test", "endpoint_url": f"http://{HOST}:{port}"}
        place = Place("s3://bucket", "s3", options)
        place.filesystem.mkdir("bucket")
        yield place


@contextmanager
def _azure(folder: Path) -> Iterator[Place]:
    port = _free_port()
    script = _tool("node_modules", "azurite", "dist", "src", "blob", "main.js")
    command = ["node", script, "--blobHost", HOST, "--blobPort", port, "--location", folder, "--skipApiVersionCheck"]
    with _process([*command, "--disableTelemetry"], port, folder):
        said = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": AZURITE_ACCOUNT,
            "AccountKey": AZURITE_KEY,
            "BlobEndpoint": f"http://{HOST}:{port}/{AZURITE_ACCOUNT}",
        }
        options = {"connection_string": ";".join(f"{name}={value}" for name, value in said.items())}
        place = Place("az://container", "az", options)
        place.filesystem.mkdir("container")
        yield place


@contextmanager
def _gcs(folder: Path) -> Iterator[Place]:
    port = _free_port()
    # The emulator speaks JSON over HTTP, not the newer protocol that buckets are asked by first.
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--host", HOST, "--port", port]
    with _process([*command, "--in-memory", "--default-bucket", "bucket"], port, folder):
        options = {"endpoint_url": f"http://{HOST}:{port}", "token": "anon", "project": "test"}
        yield Place("gs://bucket", "gs", options)


@contextmanager
def _sftp(folder: Path) -> Iterator[Place]:
    import paramiko  # noqa: PLC0415 - of the session that starts servers

    port, user = _free_port(), getpass.getuser()
    served = folder / "served"
    served.mkdir()
    for name in ("host_key", "user_key"):
        key = paramiko.RSAKey.generate(3072)
        key.write_private_key_file(str(folder / name))
    (folder / "authorized_keys").write_text(f"ssh-rsa {base64.b64encode(key.asbytes()).decode()}\n")
    config = {
        "Port": port,
        "ListenAddress": HOST,
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PidFile": "none",
        "Subsystem": "sftp internal-sftp",
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in config.items()))
    if os.getuid() == 0:
        # What the package's own installation does.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        try:
            pwd.getpwnam("sshd")
        except KeyError:
            subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/false", "sshd"], check=True)
    libraries = {"LD_LIBRARY_PATH": str(_tool("root", "usr", "lib", "x86_64-linux-gnu"))}
    command = [_tool("root", "usr", "sbin", "sshd"), "-D", "-e", "-f", folder / "sshd_config"]
    with _process(command, port, folder, libraries):
        options = {"host": HOST, "port": port, "username": user, "key_filename": str(folder / "user_key")}
        yield Place(f"sftp://{user}@{HOST}:{port}{served}", "sftp", options)


@contextmanager
def _ftp(folder: Path) -> Iterator[Place]:
    port = _free_port()
    served = folder / "served"
    served.mkdir()
    command = [
        sys.executable,
        "-m",
        "pyftpdlib",
        "-i",
        HOST,
        "-p",
        port,
        "-w",
        "-d",
        served,
        "-u",
        "user",
        "-P",
        "word",
    ]
    with _process(command, port, folder):
        options = {"host": HOST, "port": port, "username": "user", "password": "word"}
        yield Place(f"ftp://user:word@{HOST}:{port}", "ftp", options)


@contextmanager
def _http(folder: Path) -> Iterator[Place]:
    port = _free_port()
    served = folder / "served"
    served.mkdir(mode=0o755)
    temporary = "".join(f"{one}_temp_path {folder};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen {HOST}:{port}; root {served}; autoindex on; }} }}\n"
    )
    with _process([_tool("root", "usr", "sbin", "nginx"), "-p", folder, "-c", folder / "nginx.conf"], port, folder):
        yield Place(f"http://{HOST}:{port}", "http", {}, served)


@contextmanager
def _webdav(folder: Path) -> Iterator[Place]:
    port = _free_port()
    served = folder / "served"
    served.mkdir()
    command = [sys.executable, "-m", "wsgidav.server.server_cli", "--host", HOST, "--port", port]
    with _process([*command, "--root", served, "--auth", "anonymous", "--server", "cheroot"], port, folder):
        yield Place("webdav://", "webdav", {"base_url": f"http://{HOST}:{port}"})


SERVERS: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "s3": _s3,
    "azure": _azure,
    "gcs": _gcs,
    "sftp": _sftp,
    "ftp": _ftp,
    "http": _http,
    "webdav": _webdav,
}
