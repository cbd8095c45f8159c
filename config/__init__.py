"""Configuration: typed, from file, environment and flags, all faults at once."""

from .errors import ConfigError as ConfigError
from .errors import Fault as Fault
from .limits import LIMITS as LIMITS
from .load import load_config as load_config
from .schema import BotsConfig as BotsConfig
from .schema import ClusterConfig as ClusterConfig
from .schema import Config as Config
from .schema import GatewayConfig as GatewayConfig
from .schema import LogConfig as LogConfig
from .schema import NodeConfig as NodeConfig
