"""Whatever the API's own description allows, and much that it does not, is answered without a server error."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from web_helpers import fill, in_memory

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what the packages under schemathesis say when they are imported
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

PLACE = in_memory(Path(tempfile.mkdtemp(prefix="thymus-web-")))
IDS = fill(PLACE.guard, "zephyr")
schema = schemathesis.openapi.from_asgi("/openapi.json", PLACE.app)


@schema.parametrize()
@settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_the_server_fail(case: Any) -> None:
    if case.path_parameters and "memory_id" in case.path_parameters and len(str(case.body)) % 3:
        case.path_parameters["memory_id"] = IDS[len(str(case.query)) % 2]
    case.call_and_validate(
        headers={"authorization": f"Bearer {PLACE.secret('asha')}"},
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_headers_conformance,
            response_schema_conformance,
        ],
    )
