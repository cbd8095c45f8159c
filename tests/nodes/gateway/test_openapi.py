"""The API's document: well-formed, and of the API that is there."""

from __future__ import annotations

import re

import anyio
from openapi_spec_validator import validate

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.gateway.openapi import openapi_document

from .rig import rig
from .test_api import fits, refusal

METHODS = {"get", "post", "put", "delete"}


def test_the_document_is_valid() -> None:
    """Every tool that reads OpenAPI 3.1 can read it; operations have names of their
    own, and parameters in paths are declared."""
    document = openapi_document("http://gw")
    validate(document)
    names: list[str] = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert method in METHODS
            names.append(operation["operationId"])
            declared = {
                parameter["name"]
                for parameter in operation.get("parameters", ())
                if parameter["in"] == "path"
            }
            assert declared == set(re.findall(r"{(\w+)}", path)), path
    assert len(set(names)) == len(names)


async def test_what_the_document_names_is_there(autojump_clock: object) -> None:
    """Each operation is found, and wants a token before it says anything else."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        document = openapi_document("http://gw")
        for path, operations in document["paths"].items():
            place = re.sub(r"{\w+}", "x", path)
            for method, operation in operations.items():
                await anyio.sleep(10)  # so many wrong tokens are too many at once
                answer = await http.request(method, place)
                if operation.get("security", document["security"]) == []:
                    assert answer.status_code == 200
                else:
                    fits(answer, "ErrorBody")
                    assert refusal(answer) == (401, "token_missing"), path
