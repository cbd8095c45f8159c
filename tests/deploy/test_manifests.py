"""The files under deploy/ are what their programs accept, and agree with each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hotseat.config import Config, load_config
from hotseat.config.layer import Layer
from tests.deploy.manifests import (
    DEPLOY,
    ROOT,
    SCHEMAS,
    environment,
    faults,
    read,
    unit,
)

COMPOSE = ("--builtin-schema", "vendor.compose-spec")
KUBERNETES = ("--schemafile", str(SCHEMAS / "kubernetes-1.33.json"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
USER = 10001
UNITS = (
    "hotseat.service",
    "hotseat@.service",
    "hotseat-gateway@.service",
    "hotseat-bots@.service",
)

MANIFESTS = sorted(
    path
    for path in (DEPLOY / "kubernetes").rglob("*.yaml")
    if path.name != "kustomization.yaml"
)


@pytest.fixture(scope="module")
def compose() -> Any:
    return read("compose.yaml")


@pytest.fixture(scope="module")
def pods() -> Any:
    return read("kubernetes/statefulset.yaml")


def test_the_compose_file_is_one() -> None:
    """As its specification says; a file that is none is found out."""
    assert faults(COMPOSE, DEPLOY / "compose.yaml") == ""


def test_the_manifests_are_what_kubernetes_accepts() -> None:
    """All of them, with no field that it does not know."""
    assert len(MANIFESTS) == 9
    assert faults(KUBERNETES, *MANIFESTS) == ""


def test_the_schemas_find_faults(tmp_path: Path) -> None:
    """A misspelt field and a wrong type are refused in both kinds of file."""
    text = (DEPLOY / "kubernetes" / "statefulset.yaml").read_text()
    pods = tmp_path / "statefulset.yaml"
    pods.write_text(text.replace("replicas: 3", "replica: 3"))
    assert "replica" in faults(KUBERNETES, pods)
    pods.write_text(text.replace("replicas: 3", "replicas: three"))
    assert "three" in faults(KUBERNETES, pods)
    services = tmp_path / "compose.yaml"
    text = (DEPLOY / "compose.yaml").read_text()
    services.write_text(text.replace("stop_grace_period:", "stop_grace:"))
    assert "stop_grace" in faults(COMPOSE, services)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/etcd"])
def test_kustomize_takes_the_folder(folder: str) -> None:
    """Every manifest of it is named there, and comes out."""
    made = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY / folder)],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    named = set(read(f"{folder}/kustomization.yaml")["resources"])
    assert named == {path.name for path in MANIFESTS if path.parent == DEPLOY / folder}
    assert made.stdout.count("\nkind: ") >= len(named)


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd here"
)
@pytest.mark.parametrize("name", UNITS)
def test_the_units_are_what_systemd_accepts(name: str, tmp_path: Path) -> None:
    """Without a warning; only the program stands elsewhere here."""
    text = (DEPLOY / "systemd" / name).read_text()
    file = tmp_path / name.replace("@", "@n1")
    file.write_text(text.replace("/opt/hotseat/bin/hotseat", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(file)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    said = [line for line in checked.stderr.splitlines() if "hotseat" in line]
    assert (checked.returncode, said) == (0, [])


@pytest.mark.skipif(
    shutil.which("systemd-sysusers") is None, reason="there is no systemd here"
)
def test_the_units_user_and_folders_can_be_made(tmp_path: Path) -> None:
    """sysusers makes the user that the unit names, tmpfiles the folders."""
    file = DEPLOY / "systemd" / "hotseat.sysusers"
    made = subprocess.run(
        ["systemd-sysusers", "--dry-run", f"--root={tmp_path}", "-"],
        input=file.read_text(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert "'hotseat'" in made.stdout + made.stderr
    node = unit("hotseat@.service")
    assert node["User"] == node["Group"] == ["hotseat"]
    folders = (DEPLOY / "systemd" / "hotseat.tmpfiles").read_text()
    assert re.search(r"^d /var/lib/hotseat +0700 hotseat hotseat", folders, re.M)
    assert re.search(r"^z /etc/hotseat/secret +0400 root +root", folders, re.M)


def _gateways() -> dict[str, dict[str, str]]:
    """Every set of variables that a gateway is given under deploy/."""
    pods = read("kubernetes/statefulset.yaml")["spec"]["template"]["spec"]
    lines = (DEPLOY / "systemd" / "gateway.env").read_text().splitlines()
    lines += unit("hotseat-gateway@.service")["Environment"]
    pairs = [line.partition("=") for line in lines if line[:1] not in ("", "#")]
    return {
        "compose": read("compose.yaml")["services"]["gateway"]["environment"],
        "kubernetes": environment(pods["containers"][1]),
        "units": {name: value for name, _, value in pairs},
    }


def _bots() -> dict[str, dict[str, str]]:
    """Every set of variables that bots are given under deploy/."""
    pods = read("kubernetes/statefulset.yaml")["spec"]["template"]["spec"]
    lines = (DEPLOY / "systemd" / "bots.env").read_text().splitlines()
    lines += unit("hotseat-bots@.service")["Environment"]
    pairs = [line.partition("=") for line in lines if line[:1] not in ("", "#")]
    return {
        "compose": read("compose.yaml")["services"]["bots"]["environment"],
        "kubernetes": environment(pods["containers"][2]),
        "units": {name: value for name, _, value in pairs},
    }


def _environments() -> dict[str, dict[str, str]]:
    """Every set of variables that a node is given under deploy/."""
    found: dict[str, dict[str, str]] = {}
    for name, service in read("compose.yaml")["services"].items():
        if "HOTSEAT_NODE_ID" in service["environment"]:
            found[f"compose {name}"] = service["environment"]
    spec = read("kubernetes/statefulset.yaml")["spec"]["template"]["spec"]
    found["kubernetes"] = environment(spec["containers"][0])
    lines = (DEPLOY / "systemd" / "node.env").read_text().splitlines()
    lines += [
        line.replace("%i", "n1") for line in unit("hotseat@.service")["Environment"]
    ]
    text = (DEPLOY / "Containerfile").read_text()
    lines += re.findall(r"^ +(HOTSEAT_\w+=\S+)", text, re.M)
    pairs = [line.partition("=") for line in lines if line[:1] not in ("", "#")]
    found["units and image"] = {name: value for name, _, value in pairs}
    return found


@pytest.mark.parametrize(("place", "variables"), _environments().items())
def test_every_variable_is_an_option(place: str, variables: dict[str, str]) -> None:
    """A misspelt one would keep every node from starting."""
    layer = Layer.from_environment(variables, Config)
    assert layer.faults == ()
    assert "HOTSEAT_NODE_ID" in variables
    assert "HOTSEAT_NODE_ADVERTISE" in variables
    assert "HOTSEAT_NODE_SECRET_FILE" in variables


@pytest.mark.parametrize(("place", "variables"), _gateways().items())
def test_every_variable_of_a_gateway_is_an_option(
    place: str, variables: dict[str, str]
) -> None:
    """Keys are the same at all of them, and none takes its node's port."""
    assert Layer.from_environment(variables, Config).faults == ()
    for name in ("LISTEN", "PUBLIC_URL", "TOKEN_KEYS_FILE"):
        assert f"HOTSEAT_GATEWAY_{name}" in variables
    assert "HOTSEAT_NODE_SECRET_FILE" in variables
    assert variables["HOTSEAT_METRICS_LISTEN"].endswith(":8081")


@pytest.mark.parametrize(("place", "variables"), _bots().items())
def test_every_variable_of_bots_is_an_option(
    place: str, variables: dict[str, str]
) -> None:
    """They have the cluster's secret, and a port of their own for their pages."""
    assert Layer.from_environment(variables, Config).faults == ()
    assert "HOTSEAT_NODE_SECRET_FILE" in variables
    assert variables["HOTSEAT_METRICS_LISTEN"].endswith(":8082")


def test_the_bots_of_one_pod_play_and_the_others_wait(
    pods: Any, tmp_path: Path
) -> None:
    """By the pod's name."""
    container = pods["spec"]["template"]["spec"]["containers"][2]
    program = tmp_path / "hotseat"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    for number, said in enumerate(["bots", "bots --spare", "bots --spare"]):
        environ = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "HOSTNAME": f"{pods['metadata']['name']}-{number}",
        }
        started = subprocess.run(
            [*container["command"], *container["args"]],
            env=environ,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        assert started.stdout.strip() == said


def test_players_are_led_to_the_gateways(pods: Any) -> None:
    """The service's port is one of the pod's, and only those of ready pods count."""
    service = read("kubernetes/players.yaml")["spec"]
    gateway = pods["spec"]["template"]["spec"]["containers"][1]
    ports = {port["name"]: port["containerPort"] for port in gateway["ports"]}
    assert [port["targetPort"] for port in service["ports"]] == ["players"]
    listen = environment(gateway)["HOTSEAT_GATEWAY_LISTEN"]
    assert listen == f"0.0.0.0:{ports['players']}"
    assert not service.get("publishNotReadyAddresses")
    labels = pods["spec"]["template"]["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()
    allowed = read("kubernetes/networkpolicy.yaml")["spec"]["ingress"]
    assert {"ports": [{"port": "players"}]} in allowed


def test_the_compose_files_nodes_have_a_sound_configuration(compose: Any) -> None:
    """Its file and its variables together, for each of the nodes that it names."""
    nodes = read("cluster.toml")["cluster"]["nodes"]
    for name in nodes:
        service = compose["services"][name]
        variables = service["environment"] | {"HOTSEAT_NODE_DIR": "/var/lib/hotseat"}
        config = load_config(files=[DEPLOY / "cluster.toml"], environ=variables)
        assert config.node.id == service["hostname"] == name
        assert config.node.advertise == f"tcp://{name}:7000"
        assert service["volumes"] == [f"{name}:/var/lib/hotseat"]
    etcds = ",".join(f"{name}:2379" for name in ("etcd1", "etcd2", "etcd3"))
    assert read("cluster.toml")["cluster"]["coordinator"] == f"etcd://{etcds}"


def test_the_pods_have_a_sound_configuration(pods: Any) -> None:
    """Names, places and ports are those of the services and of etcd."""
    spec = pods["spec"]["template"]["spec"]
    container = spec["containers"][0]
    service = read("kubernetes/service.yaml")
    name = pods["metadata"]["name"]
    nodes = [f"{name}-{number}" for number in range(pods["spec"]["replicas"])]
    variables = environment(container) | {
        "HOTSEAT_NODE_ID": nodes[0],
        "HOTSEAT_NODE_DIR": "/var/lib/hotseat",
    }
    file = DEPLOY / "kubernetes" / "cluster.toml"
    config = load_config(files=[file], environ=variables)
    assert list(config.cluster.nodes) == nodes
    at = f"$(HOTSEAT_NODE_ID).{service['metadata']['name']}:7000"
    assert config.node.advertise == f"tcp://{at}"
    assert pods["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"]
    etcd = read("kubernetes/etcd/statefulset.yaml")
    members = [f"etcd-{n}.etcd:2379" for n in range(etcd["spec"]["replicas"])]
    assert config.cluster.coordinator == "etcd://" + ",".join(members)
    assert not spec["enableServiceLinks"]
    assert config.node.secret_file == Path("/etc/hotseat-secret/secret")


def test_one_image_is_meant_everywhere(compose: Any, pods: Any) -> None:
    """Of this version; and one etcd."""
    container = pods["spec"]["template"]["spec"]["containers"][0]
    etcd = read("kubernetes/etcd/statefulset.yaml")["spec"]["template"]["spec"]
    images = {service["image"] for service in compose["services"].values()}
    assert images == {container["image"], etcd["containers"][0]["image"]}
    assert container["image"] == f"hotseat:{VERSION}"


def test_nobody_is_root_and_nothing_else_is_writable(compose: Any, pods: Any) -> None:
    """The image's user is a number that Kubernetes can check; the root is read-only."""
    image = (DEPLOY / "Containerfile").read_text()
    assert f"USER {USER}:{USER}" in image
    spec = pods["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["runAsUser"] == USER
    assert spec["securityContext"]["fsGroup"] == USER
    for kind in (pods, read("kubernetes/etcd/statefulset.yaml")):
        for container in kind["spec"]["template"]["spec"]["containers"]:
            held = container["securityContext"]
            assert held["readOnlyRootFilesystem"]
            assert not held["allowPrivilegeEscalation"]
            assert held["capabilities"] == {"drop": ["ALL"]}
    for name in ("n1", "n2", "n3"):
        assert compose["services"][name]["read_only"]
        assert compose["services"][name]["cap_drop"] == ["ALL"]
    published = {n: s["ports"] for n, s in compose["services"].items() if "ports" in s}
    assert published == {"gateway": ["8080:8080"]}


def test_what_root_keeps_for_the_pods_group_is_not_open_to_others(pods: Any) -> None:
    """0440: root's and the pod's group's. Others, and writing, are refused."""
    secrets = [
        volume["secret"]
        for volume in pods["spec"]["template"]["spec"]["volumes"]
        if "secret" in volume
    ]
    assert [one["defaultMode"] for one in secrets] == [0o440]


def test_a_stop_is_never_cut_short(compose: Any, pods: Any) -> None:
    """Whoever stops a node waits longer than the node takes, at most, by default."""
    config = load_config(
        files=[DEPLOY / "cluster.toml"],
        flags={"": ("node.dir", "/x"), "--node": ("node.id", "n1")},
    )
    needed_s = config.node.stop_drain_s + config.node.stop_grace_s
    pod = pods["spec"]["template"]["spec"]
    waits = [pod["terminationGracePeriodSeconds"]]
    for name in ("n1", "n2", "n3"):
        waits.append(int(compose["services"][name]["stop_grace_period"][:-1]))
    for name in UNITS[:2]:
        waits += map(int, unit(name)["TimeoutStopSec"])
        assert unit(name)["KillSignal"] == ["SIGTERM"]
    gateway_s = int(unit(UNITS[2])["TimeoutStopSec"][0])
    assert gateway_s >= 2 * config.gateway.stop_grace_s
    bots_s = int(unit(UNITS[3])["TimeoutStopSec"][0])
    assert bots_s >= 2 * config.bots.stop_grace_s
    assert "STOPSIGNAL SIGTERM" in (DEPLOY / "Containerfile").read_text()
    assert all(wait_s >= 2 * needed_s for wait_s in waits), waits


def test_ready_and_alive_mean_what_the_pages_say(pods: Any) -> None:
    """Ended when it hangs, passed over while it is not ready; never the other way."""
    container = pods["spec"]["template"]["spec"]["containers"][0]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    text = (DEPLOY / "Containerfile").read_text()
    assert f"HOTSEAT_METRICS_LISTEN=0.0.0.0:{ports['pages']}" in text
    assert f"HOTSEAT_NODE_LISTEN=tcp://0.0.0.0:{ports['inbox']}" in text


def test_one_node_at_a_time_may_be_away(pods: Any) -> None:
    """Machines are drained one by one, and two nodes are never on one machine."""
    budget = read("kubernetes/poddisruptionbudget.yaml")["spec"]
    assert budget["maxUnavailable"] == 1
    labels = pods["spec"]["template"]["metadata"]["labels"]
    assert budget["selector"]["matchLabels"].items() <= labels.items()
    cluster = read("kubernetes/cluster.toml")["cluster"]
    assert cluster["copies"] - 1 >= cluster["min_isr"]
    spread = pods["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (rule,) = spread["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"


def test_the_image_is_made_of_what_is_shipped() -> None:
    """Each of the four folders is copied, and passes the list of what is let in."""
    text = (DEPLOY / "Containerfile").read_text()
    let_in = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    for folder in ("engine", "runtime", "config", "nodes"):
        assert f"COPY {folder} {folder}\n" in text
        assert f"!{folder}" in let_in


def test_the_guide_tells_of_every_file() -> None:
    """What lies there and is not explained is not used, or used wrongly."""
    guide = (DEPLOY / "README.md").read_text()
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    names = {path.name for path in files} - {"README.md", "Containerfile.dockerignore"}
    told = {name for name in names if name in guide}
    inside = {"service.yaml", "statefulset.yaml", "poddisruptionbudget.yaml"}
    inside |= {"networkpolicy.yaml", "kustomization.yaml"}
    assert names - told <= inside
