"""The image's steps, in a clean folder: installed, started, healthy, stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.deploy.image import DATA, Image, build
from tests.deploy.manifests import DEPLOY, ROOT
from tests.nodes.coordinators.etcd_cluster import (
    EtcdProcesses,
    free_port,
    needs_etcd,
    running_etcd,
)

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 60.0
SECRET = "5e" * 32
SHARDS = 8


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Below it another user may read; pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(prefix="hs-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        yield place


@pytest.fixture(scope="module")
def image() -> Image:
    return Image.read()


@pytest.fixture(scope="module")
def programs(image: Image, place: Path) -> Path:
    return build(image, place)


@dataclass(slots=True)
class Container:
    """A process that is started as the image's would be."""

    image: Image
    programs: Path
    name: str
    data: Path
    variables: dict[str, str]
    pages: str
    command: tuple[str, ...] = ()
    """Other than the image's own."""
    process: subprocess.Popen[bytes] | None = None

    def argv(self, command: list[str]) -> list[str]:
        """Not as root, where we are."""
        user = str(self.image.user)
        other = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
        return [*(other if os.geteuid() == 0 else []), *command]

    def start(self) -> None:
        log = (self.data.parent / f"{self.name}.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                self.argv(
                    [*self.image.entry_point, *(self.command or self.image.command)]
                ),
                cwd=self.data,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """As `docker exec` does."""
        return subprocess.run(
            self.argv(list(command)),
            cwd=self.data,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def page(self, path: str) -> int:
        """The status of a page; 0 if nobody answers."""
        try:
            with urllib.request.urlopen(
                f"http://{self.pages}{path}", timeout=5
            ) as page:
                return int(page.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def stop(self) -> int:
        """As the engine does; the exit status."""
        assert self.process is not None
        self.process.send_signal(self.image.stop)
        return self.process.wait(PATIENCE_S)

    def log(self) -> str:
        return (self.data.parent / f"{self.name}.log").read_text()


def container(
    name: str, etcd: EtcdProcesses, image: Image, programs: Path, place: Path
) -> Container:
    """One of the nodes n1 and n2, told of its cluster as the compose file tells it."""
    config = place / "cluster.toml"
    config.write_text(
        f'[cluster]\nid = "c1"\nshards = {SHARDS}\nnodes = ["n1", "n2"]\n'
        f'copies = 2\nmin_isr = 1\ncoordinator = "{etcd.address}"\n'
    )
    inbox, pages = free_port(), f"127.0.0.1:{free_port()}"
    data, scratch = place / name / "data", place / name / "tmp"
    for folder in (data, scratch):
        folder.mkdir(parents=True)
        shutil.chown(folder, image.user if os.geteuid() == 0 else os.geteuid())
    secret = place / name / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o400)
    shutil.chown(secret, image.user if os.geteuid() == 0 else os.geteuid())
    told = {
        key: value.replace(DATA, str(data)) for key, value in image.environment.items()
    }
    told["PATH"] = f"{programs}:/usr/bin:/bin"
    told |= {
        "HOTSEAT_CONFIG": str(config),
        "HOTSEAT_NODE_SECRET_FILE": str(secret),
        "HOTSEAT_NODE_ID": name,
        "HOTSEAT_NODE_LISTEN": f"tcp://0.0.0.0:{inbox}",
        "HOTSEAT_NODE_ADVERTISE": f"tcp://localhost:{inbox}",
        "HOTSEAT_METRICS_LISTEN": pages,
        "TMPDIR": str(scratch),
    }
    return Container(image, programs, name, data, told, pages)


@pytest.fixture
def containers(image: Image, programs: Path, place: Path) -> Iterator[list[Container]]:
    own = Path(tempfile.mkdtemp(prefix="", dir=place))
    own.chmod(0o755)
    with running_etcd(1) as etcd:
        nodes = [container(n, etcd, image, programs, own) for n in ("n1", "n2")]
        try:
            yield nodes
        finally:
            for node in nodes:
                if node.process is not None and node.process.poll() is None:
                    node.process.kill()
                    node.process.wait()


@needs_etcd
def test_it_starts_is_healthy_hands_over_and_ends(containers: list[Container]) -> None:
    """The entry point, the health check and the stop signal are enough to run it."""
    first, second = containers
    for node in containers:
        node.start()
    wait_until(lambda: all(node.page("/readyz") == 200 for node in containers))
    for node in containers:
        assert node.page("/healthz") == 200
        checked = node.run(*node.image.health)
        assert (checked.returncode, checked.stderr) == (0, "")
    version = first.run("hotseat", "version").stdout
    assert version == first.run(str(first.programs / "hotseat"), "version").stdout

    assert first.stop() == 0
    assert '"event": "node_stopped"' in first.log()
    assert "Traceback" not in first.log()
    assert first.run(*first.image.health).returncode == 3
    # at once, and by itself: nobody waits until the one that went is found missing
    wait_until(lambda: owned(second) == SHARDS)

    first.start()
    wait_until(lambda: first.page("/readyz") == 200)
    assert [node.stop() for node in containers] == [0, 0]


def owned(node: Container) -> int:
    """How many shards it serves."""
    log = node.log()
    return log.count('"event": "shard_served"') - log.count('"event": "shard_released"')


@needs_etcd
def test_a_gateway_runs_beside_its_node(containers: list[Container]) -> None:
    """In the node's folder, and told the same: from then on players come in."""
    node = containers[0]
    node.start()
    wait_until(lambda: node.page("/healthz") == 200)
    players, pages = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    keys = node.data / "token-keys.json"
    told = {
        "HOTSEAT_GATEWAY_LISTEN": players,
        "HOTSEAT_GATEWAY_TOKEN_KEYS_FILE": str(keys),
        "HOTSEAT_METRICS_LISTEN": pages,
    }
    gateway = replace(
        node,
        name="gateway",
        variables=node.variables | told,
        pages=pages,
        command=("gateway",),
        process=None,
    )
    made = gateway.run("hotseat", "token", "rotate", "--keys", str(keys))
    assert made.returncode == 0, made
    gateway.start()
    try:
        wait_until(lambda: gateway.page("/readyz") == 200)
        with urllib.request.urlopen(f"http://{players}/openapi.json") as answer:
            assert answer.status == 200
        assert gateway.stop() == 0
        assert "Traceback" not in gateway.log()
    finally:
        assert gateway.process is not None
        gateway.process.kill()
        gateway.process.wait()
    assert node.stop() == 0


@needs_etcd
def test_it_writes_nowhere_but_in_its_volume(containers: list[Container]) -> None:
    """The root may be read-only, and so may what is beside the volume."""
    node = containers[0]
    node.start()
    wait_until(lambda: node.page("/healthz") == 200)
    assert node.run("hotseat", "status").returncode in (0, 1)
    assert node.stop() == 0
    assert list((node.data.parent / "tmp").rglob("*")) == []
    assert [path.name for path in node.data.iterdir()] == ["cluster"]
    if os.geteuid() == 0:
        assert (node.data / "cluster").stat().st_uid == node.image.user
        assert (node.data / "cluster").stat().st_mode & 0o077 == 0


@needs_etcd
def test_what_it_is_told_wrongly_ends_it_with_status_2(
    containers: list[Container],
) -> None:
    """An engine that starts it again and again is told in one line what is wrong."""
    node = containers[0]
    node.variables["HOTSEAT_NODE_SECRETFILE"] = "/x"
    wrong = node.run(*node.image.entry_point, *node.image.command)
    assert wrong.returncode == 2
    assert "did you mean HOTSEAT_NODE_SECRET_FILE?" in wrong.stderr
    del node.variables["HOTSEAT_NODE_SECRETFILE"]
    Path(node.variables["HOTSEAT_NODE_SECRET_FILE"]).chmod(0o444)
    exposed = node.run(*node.image.entry_point, *node.image.command)
    assert exposed.returncode == 2
    assert "error[secret_exposed]" in exposed.stderr


def _engine() -> str:
    """A program that builds images here, and can."""
    for name in ("podman", "docker"):
        if shutil.which(name):
            asked = subprocess.run(
                [name, "info"], capture_output=True, timeout=30, check=False
            )
            if asked.returncode == 0:
                return name
    return ""


def test_an_engine_builds_the_image() -> None:
    """Where one runs; its own user, and the version of this tree."""
    engine = _engine()
    if not engine:
        pytest.skip("no container engine runs here")
    tag = "hotseat:test"
    file = DEPLOY / "Containerfile"
    subprocess.run([engine, "build", "-f", str(file), "-t", tag, str(ROOT)], check=True)
    flags = ("run", "--rm", "--read-only")
    said = subprocess.run(
        [engine, *flags, tag, "version"], check=True, capture_output=True, text=True
    )
    assert said.stdout.startswith("hotseat ")
