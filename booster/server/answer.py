"""What every HTTP response carries: headers that keep browsers from sniffing, framing, caching and running what is not ours."""

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send


class Answer:
    """Sends a response on with what every response carries.

    Args:
        send: Where it goes.
        path: Of the request.
        nonce: What scripts and styles of a page must carry to be run.
    """

    def __init__(self, send: Send, path: str, nonce: str) -> None:
        self._send, self._path, self._nonce = send, path, nonce
        self.begun = self.complete = False
        """How far the response has come."""

    async def send(self, message: Message) -> None:
        """Send one part of the response."""
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(raw=list(message["headers"]))
            for name, value in carried(self._path, headers.get("content-type", ""), self._nonce).items():
                headers.setdefault(name, value)
            message = {**message, "headers": headers.raw}
        elif message["type"] == "http.response.body":
            self.complete = not message.get("more_body", False)
        await self._send(message)


def carried(path: str, content_type: str, nonce: str = "") -> dict[str, str]:
    """Return the headers that a response of this kind carries unless it has its own; only pages have a nonce."""
    common = {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
    }
    if content_type.startswith("text/html"):
        return common | {
            # Under `no-referrer` browsers would hide the origin of our own forms.
            "referrer-policy": "same-origin",
            "cache-control": "no-store",
            "content-security-policy": f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        }
    held = {} if path.startswith("/static/") else {"cache-control": "no-store"}
    return (
        common
        | held
        | {
            "referrer-policy": "no-referrer",
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        }
    )
