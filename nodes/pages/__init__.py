"""The pages that a gateway shows: play, inspect, cluster. Files in `static`."""

from .pages import Pages as Pages
from .pages import routes as routes
