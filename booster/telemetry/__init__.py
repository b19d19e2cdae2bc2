"""What operators see of a running process: traces, metrics, and which session a log line is about.

The engine tells one `Telemetry` what happens (`trace`); that one starts OpenTelemetry spans (`spans`) and
feeds a `Meter` (`meter`, over Prometheus in `metrics`). Only the OpenTelemetry API is needed: without its SDK every span
is an empty shell. `export` sets the SDK up where a serving process is told where to send spans.
"""

from booster.telemetry.meter import Meter, Unmetered
from booster.telemetry.trace import Telemetry, Trace, current_session

__all__ = ["Meter", "Telemetry", "Trace", "Unmetered", "current_session"]
