"""`GET /metrics`: what the process counts, for Prometheus. Guarding it is up to the application that it is part of."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from booster.app import Booster

MISSING = "metrics need the extra `metrics`: pip install 'reasoning-booster[metrics]'\n"
"""What a process without it answers."""


def routes(booster: Booster) -> list[BaseRoute]:
    """Return the route; from now on the booster counts, where the extra that counts is installed."""
    try:
        from booster.telemetry.metrics import PrometheusMeter
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        return [Route("/metrics", _missing)]

    # Every application over one booster shows the same numbers.
    current = booster.telemetry.meter
    meter = booster.telemetry.meter = current if isinstance(current, PrometheusMeter) else PrometheusMeter()

    async def metrics(request: Request) -> Response:
        page, media_type = meter.page(request.headers.get("accept", ""))
        return Response(page, media_type=media_type)

    return [Route("/metrics", metrics)]


async def _missing(_: Request) -> Response:
    return PlainTextResponse(MISSING, status_code=501)
