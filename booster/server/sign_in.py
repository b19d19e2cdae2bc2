"""How a browser gets in: a link that works once, or a form that takes the token; and out again."""

from html import escape
from math import ceil
from urllib.parse import parse_qs

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from booster.server.auth import SIGNED_IN_SECONDS, Access, Tries, cookie_name
from booster.server.guard import ONWARD, SIGN_IN, cookie_of

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · Reasoning Booster</title>
<link rel="icon" href="data:,">
{head}<style nonce="{nonce}">
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
body {{ max-width: 28rem; margin: 15vh auto 0; padding: 0 1rem; }}
input, button {{ font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; margin-top: .5rem; }}
.wrong {{ color: #b3261e; font-weight: 600; }}
@media (prefers-color-scheme: dark) {{ .wrong {{ color: #ffb4ab; }} }}
</style>
</head>
<body>
<main>
<h1>Reasoning Booster</h1>
{body}
</main>
</body>
</html>
"""

_FORM = """{said}<form method="post" action="/sign-in">
<input type="hidden" name="next" value="{onward}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Sign in</button>
</form>
<p>The server said at its start where the token is kept.</p>"""


def routes(access: Access) -> list[BaseRoute]:
    """Return the routes of signing in and out.

    Args:
        access: Who knows tokens, links and browsers.
    """

    tries = Tries()

    async def page(request: Request) -> Response:
        code = request.query_params.get("code")
        onward = _checked(request.query_params.get("next"))
        if code is None:
            return _form(request, onward)
        if not access.redeem(code):
            return _form(request, onward, "This link has been used or is too old.", 403)
        return _let_in(request, access, onward)

    async def submit(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", errors="replace"))
        token, onward = form.get("token", [""])[0].strip(), _checked(form.get("next", [""])[0])
        address = request.client.host if request.client else ""
        if (seconds := tries.wait(address)) > 0:
            response = _form(request, onward, f"Too many wrong tokens: wait {ceil(seconds)} seconds.", 429)
            response.headers["retry-after"] = str(ceil(seconds))
            return response
        if not access.knows(token):
            tries.wrong(address)
            return _form(request, onward, "This is not the token.", 403)
        return _let_in(request, access, onward)

    async def leave(request: Request) -> Response:
        access.sign_out(cookie_of(request.scope) or "")
        response = RedirectResponse(SIGN_IN, status_code=303)
        response.delete_cookie(_name(request), path="/", httponly=True, samesite="strict")
        return response

    return [
        Route(SIGN_IN, page, methods=["GET"]),
        Route(SIGN_IN, submit, methods=["POST"]),
        Route("/sign-out", leave, methods=["POST"]),
    ]


def link(base_url: str, code: str) -> str:
    """Return the address that signs a browser in."""
    return str(URL(base_url).replace(path=SIGN_IN).include_query_params(code=code))


def _checked(onward: str | None) -> str:
    """Return the page to go on to: the one asked for where it is one of ours, else the first."""
    return onward if onward and ONWARD.fullmatch(onward) else "/"


def _form(request: Request, onward: str, said: str = "", status: int = 200) -> Response:
    told = f'<p class="wrong" role="alert">{escape(said)}</p>\n' if said else ""
    return HTMLResponse(_page(request, _FORM.format(said=told, onward=onward)), status_code=status)


def _let_in(request: Request, access: Access, onward: str) -> Response:
    """Answer with a page that leads on: after a redirect of a link in a mail or chat a strict cookie would not be sent."""
    refresh = f'<meta http-equiv="refresh" content="0; url={onward}">\n'
    response = HTMLResponse(_page(request, f'<p>You are signed in. <a href="{onward}">Go on</a></p>', refresh))
    response.set_cookie(
        _name(request),
        access.sign_in(),
        max_age=int(SIGNED_IN_SECONDS),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _page(request: Request, body: str, head: str = "") -> str:
    return _PAGE.format(nonce=request.state.nonce, head=head, body=body)


def _name(request: Request) -> str:
    (_, port) = request.scope.get("server") or ("", 0)
    return cookie_name(port or 0)
