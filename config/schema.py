"""What can be configured: the types, their defaults and their bounds.

Two scopes that never mix: `ClusterConfig` must be equal at every process of a
cluster (its digest is compared when one joins); all else may differ from node to
node. Options of a component are declared beside its code, as a frozen dataclass of
`runtime`; here they are only composed, one section of the file each.

This folder is the only one that knows pydantic; others see frozen values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ..runtime.coordinator_address import etcd_endpoints
from ..runtime.hosting.options import HostingOptions
from ..runtime.hosting.result_options import ResultOptions
from ..runtime.link_options import LinkOptions
from ..runtime.options import SupervisorOptions
from ..runtime.replication.options import ReplicationOptions

__all__ = [
    "BotsConfig",
    "ClusterConfig",
    "Config",
    "Durability",
    "GatewayConfig",
    "LogConfig",
    "LogFormat",
    "LogLevel",
    "MetricsConfig",
    "Loop",
    "NodeConfig",
    "OptionFaults",
]

Options = TypeVar("Options")

SHARDS_MAX = 4096
"""Above this the shard table no longer fits one message to a router."""

COPIES_MAX = 7
"""More copies than that cost every action, and save nothing."""

Durability = Literal["disk", "memory"]
Loop = Literal["auto", "asyncio", "uvloop", "trio"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]


class OptionFaults(ValueError):
    """What a component's options say is wrong with themselves: all sentences."""

    def __init__(self, sentences: tuple[str, ...]) -> None:
        self.sentences = sentences
        super().__init__("; ".join(sentences))


def _none_of(faults: Callable[[Options], tuple[str, ...]]) -> AfterValidator:
    """Accept a component's options if it finds no fault with them.

    Each sentence of `faults` begins with the option it is about.
    """

    def check(options: Options) -> Options:
        sentences = faults(options)
        if sentences:
            raise OptionFaults(sentences)
        return options

    return AfterValidator(check)


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", text):
        raise ValueError(
            "a name of 1 to 32 characters among a-z, 0-9 and - (not first)"
        )
    return text


def _address(text: str) -> str:
    if not re.fullmatch(r"(tcp|ipc)://.+", text):
        raise ValueError("an address, as tcp://127.0.0.1:7001 or ipc:///run/n1.inbox")
    return text


def _door(text: str) -> str:
    if not re.fullmatch(r"ipc://.+", text):
        raise ValueError(
            "a socket in a folder of yours alone, as ipc:///run/hotseat/n1.door: "
            "whoever reaches it may stop the node and read every match. node.open_door "
            "is for a network"
        )
    return text


def _open_door(text: str) -> str:
    host_port = text.removeprefix("tcp://")
    try:
        port = int(_host_port(host_port).rpartition(":")[2])
    except ValueError:
        port = 0
    if host_port == text or not 0 < port < 2**16:
        raise ValueError(
            "tcp://HOST:PORT, as tcp://10.0.0.7:7001: operators are told that port"
        )
    return text


def _host_port(text: str) -> str:
    if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:/\s\[\]]+):[0-9]{1,5}", text):
        raise ValueError("HOST:PORT, as 127.0.0.1:9100 or [::1]:9100")
    return text


def _web_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s?#]+", text):
        raise ValueError("a place on the web, as https://play.example.org")
    return text.rstrip("/")


def _origin(text: str) -> str:
    if text != "*" and not re.fullmatch(r"https?://[^\s?#/]+", text):
        raise ValueError("where a page is from, as https://play.example.org, or *")
    return text.lower()


def _coordinator(text: str) -> str:
    etcd_endpoints(text)
    return text


Name = Annotated[str, AfterValidator(_name)]
Address = Annotated[str, AfterValidator(_address)]
Door = Annotated[str, AfterValidator(_door)]
OpenDoor = Annotated[str, AfterValidator(_open_door)]
HostPort = Annotated[str, AfterValidator(_host_port)]
WebUrl = Annotated[str, AfterValidator(_web_url)]
Origin = Annotated[str, AfterValidator(_origin)]
CoordinatorAddress = Annotated[str, AfterValidator(_coordinator)]


class Section(BaseModel):
    """A table of the file: frozen, and every key must be known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClusterConfig(Section):
    """Equal at every process of the cluster, fixed when it is created."""

    id: Name
    """Drawn when the cluster is created; processes of another one are refused."""

    shards: Annotated[int, Field(ge=1, le=SHARDS_MAX)] = 256
    """How many sets of matches are owned separately. Never changes."""

    nodes: tuple[Name, ...] = ()
    """The nodes that the shards are first laid out on. Unset: one node alone."""

    coordinator: CoordinatorAddress | None = None
    """etcd://HOST:PORT,... of every etcd member. Unset: a file in the folder."""

    copies: Annotated[int, Field(ge=1, le=COPIES_MAX)] = 2
    """Nodes that hold each match, its owner too. Fewer nodes: as many as there are."""

    min_isr: Annotated[int, Field(ge=1, le=COPIES_MAX)] = 1
    """Copies in sync without which no action is taken: `degraded`. 1: any."""

    durability: Durability = "disk"
    """disk: an answer waits until every copy in sync has written. memory: only until
    it holds it. Cannot be changed."""

    @model_validator(mode="after")
    def _has_copies_enough(self) -> ClusterConfig:
        if self.min_isr > self.copies:
            raise OptionFaults(
                (f"min_isr ({self.min_isr}) must not exceed copies ({self.copies})",)
            )
        return self

    def digest(self) -> str:
        """A short digest of all of it: equal digests, equal configuration."""
        return hashlib.blake2b(
            self.model_dump_json().encode(), digest_size=8
        ).hexdigest()


class NodeConfig(Section):
    """One node process: who it is, where it listens, what it hosts."""

    id: Name
    """Unique in the cluster, and the same after a restart: n1, n2, ..."""

    dir: Path
    """The cluster's folder: secret, coordinator, sockets, logs."""

    secret_file: Path | None = None
    """The cluster's secret: 64 hex digits, the same at every node. Unset: `secret` in
    the folder. None but the node's user, or root and a group, may read it."""

    listen: Address = "tcp://127.0.0.1:0"
    """The inbox for links. Port 0 takes a free one."""

    advertise: Address | None = None
    """The inbox as others reach it, where that is not `listen`: behind a proxy."""

    door: Door | None = None
    """The door for commands. Unset: a socket in the cluster's folder."""

    open_door: OpenDoor | None = None
    """One more, for operators on other machines, who prove that they have the cluster's
    secret: tcp://HOST:PORT. Unset: there is none."""

    loop: Loop = "auto"
    """The event loop. auto: uvloop when it is installed, else asyncio."""

    games: tuple[str, ...] = ()
    """Games hosted beside those installed: `module:attribute` or a name."""

    breadcrumb: bool = True
    """Keep in a file which match's code runs, to set apart one that ends nodes."""

    stop_drain_s: Annotated[float, Field(ge=0, le=240)] = 10.0
    """How long a node that was told to stop may take to hand over what it owns. 0: its
    followers take over when it is gone."""

    stop_grace_s: Annotated[float, Field(gt=0, le=300)] = 15.0
    """How long a node that was told to stop may take before it is killed."""

    memory_mib: Annotated[int, Field(ge=0)] = 0
    """What the process may hold in memory. Near it, the node is given no more copies.
    0: the container's limit, or what the machine has."""


class LogConfig(Section):
    """What is written down, and how."""

    level: LogLevel = "info"
    """Lines below this level are not made. No action is logged above debug."""

    format: LogFormat = "auto"
    """auto: for people on a terminal, JSON lines elsewhere."""

    file: Path | None = None
    """Append to this file. Unset: stderr."""


class MetricsConfig(Section):
    """What a node tells a monitoring system over HTTP."""

    listen: HostPort | None = None
    """HOST:PORT of /metrics, /healthz and /readyz; port 0 takes a free one. Unset: off.
    Whoever reaches it may read it: keep it to loopback or a network of your own."""


class GatewayConfig(Section):
    """One gateway process: where players reach it, and what each of them may cost."""

    listen: HostPort = "127.0.0.1:8080"
    """HOST:PORT for players; port 0 takes a free one."""

    public_url: WebUrl | None = None
    """Where players' links lead, as https://play.example.org. Unset: to `listen`."""

    allowed_origins: tuple[Origin, ...] = ()
    """Pages from where else may use it, as https://games.example.org; `*`: any. Its own
    and those of `public_url` always may."""

    inbox: Address | None = None
    """Where nodes reach it. Unset: at the address that they see this machine at."""

    token_keys_file: Path | None = None
    """The keys of tokens. Unset: token-keys.json in the cluster's folder."""

    token_ttl_s: Annotated[float, Field(gt=0, le=31_536_000)] = 604_800.0
    """How long a token is good that an operator asks for without saying."""

    connections_max: Annotated[int, Field(ge=1, le=100_000)] = 4096
    """WebSockets at once. One more is told to try again later."""

    message_bytes_max: Annotated[int, Field(ge=1024, le=1_048_576)] = 98_304
    """Of one message from a player, or one body: a payload with all around it."""

    messages_per_s: Annotated[float, Field(gt=0, le=10_000)] = 20.0
    """From one player, in the long run; more are refused as `busy`."""

    messages_burst: Annotated[int, Field(ge=1, le=10_000)] = 60
    """That may come at once."""

    token_failures_per_min: Annotated[float, Field(gt=0, le=10_000)] = 30.0
    """From one address; then its tokens are not looked at for a while."""

    heartbeat_s: Annotated[float, Field(gt=0, le=300)] = 15.0
    """Between two signs of life to a player."""

    send_timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """A player who takes nothing for so long is let go."""

    open_lobbies: bool = False
    """Whether anybody may open a lobby, without a token."""

    lobbies_per_min: Annotated[float, Field(gt=0, le=10_000)] = 6.0
    """That one address may open without a token, in the long run."""

    reservation_s: Annotated[float, Field(ge=3, le=3_600)] = 60.0
    """How long a lobby keeps a seat for somebody of whom nothing is heard."""

    lobby_idle_s: Annotated[float, Field(ge=10, le=2_592_000)] = 1_800.0
    """How long a lobby stays open while nobody is there."""

    stop_grace_s: Annotated[float, Field(gt=0, le=300)] = 3.0
    """How long a gateway that was told to stop may take to let its players go."""


class BotsConfig(Section):
    """One bots process: which bots it has, and what they may cost."""

    bots: tuple[str, ...] = ()
    """Bots beside our own: NAME=module:attribute."""

    inbox: Address | None = None
    """Where nodes reach it. Unset: at the address that they see this machine at."""

    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Processes that decide: so many decisions are made at once."""

    worker_mib: Annotated[int, Field(ge=0)] = 512
    """What the data of each of them may take. 0: there is no limit."""

    think_s: Annotated[float, Field(gt=0, le=60)] = 0.5
    """How long a bot is asked to think; less while more bots wait than workers are."""

    limit_s: Annotated[float, Field(gt=0, le=120)] = 5.0
    """A bot that takes longer is ended."""

    tries: Annotated[int, Field(ge=1, le=10)] = 2
    """How often it is asked in one turn before an action is chosen at random."""

    spare: bool = False
    """Whether it plays only where a bot's turn has stood for `spare_after_s`."""

    spare_after_s: Annotated[float, Field(gt=0, le=3_600)] = 10.0
    """How long a turn stands before a spare process plays it."""

    poll_s: Annotated[float, Field(gt=0, le=60)] = 1.0
    """Between two looks for rooms."""

    rooms_max: Annotated[int, Field(ge=1, le=8192)] = 1000
    """Rooms at once; where there are more, one in which nothing happens makes way."""

    seed: str = ""
    """Of all chance in decisions. "": drawn at each start."""

    stop_grace_s: Annotated[float, Field(gt=0, le=300)] = 3.0
    """How long it may take to stop before it is killed."""

    @model_validator(mode="after")
    def _thinks_in_time(self) -> BotsConfig:
        if self.think_s >= self.limit_s:
            raise OptionFaults(
                (
                    f"think_s ({self.think_s:g}) must be less than limit_s "
                    f"({self.limit_s:g})",
                )
            )
        return self


class Config(BaseSettings):
    """Everything a node is told. Read by `load_config`, never built by hand."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    cluster: ClusterConfig
    node: NodeConfig
    log: LogConfig = LogConfig()
    metrics: MetricsConfig = MetricsConfig()
    gateway: GatewayConfig = GatewayConfig()
    bots: BotsConfig = BotsConfig()
    link: Annotated[LinkOptions, _none_of(LinkOptions.faults)] = LinkOptions()
    supervisor: Annotated[SupervisorOptions, _none_of(SupervisorOptions.validate)] = (
        SupervisorOptions()
    )
    replication: Annotated[
        ReplicationOptions, _none_of(ReplicationOptions.validate)
    ] = ReplicationOptions()
    hosting: Annotated[HostingOptions, _none_of(HostingOptions.validate)] = (
        HostingOptions()
    )
    results: Annotated[ResultOptions, _none_of(ResultOptions.validate)] = (
        ResultOptions()
    )
