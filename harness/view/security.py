"""Who may ask, from where, and what a page may load.

*Host.* A site of a stranger can give its own name the address 127.0.0.1, and its script could then read our
pages as its own (DNS rebinding). Its requests carry its name, so only names of this machine are answered.
Addresses in digits cannot be rebound.

*Token.* On an address that other machines reach, a visitor shows the token that the command printed: first
in the address, from then on in a cookie.

*Changes* are only made by POST, with a token that our own forms carry.

*Content.* Corpora hold HTML. It is escaped everywhere, and the policy lets a page load nothing but our files:
no inline script, no inline style, nothing of other machines.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.view.problems import ViewError, problem_response
from harness.view.settings import ViewSettings, parse_ip

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_TOKEN = "token"


class Guard:
    """Answers or refuses a request before any page sees it, and adds our headers to every response."""

    def __init__(self, app: ASGIApp, settings: ViewSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        request = Request(scope, receive)
        try:
            response = self._check(request)
        except ViewError as error:
            response = problem_response(request, error, is_stranger=True)
        await (response or self._app)(scope, receive, send_with_headers)

    def _check(self, request: Request) -> Response | None:
        """None if the request may pass."""
        self._check_host(request.headers)
        if request.headers.get("sec-fetch-site") == "cross-site" and (
            request.headers.get("sec-fetch-mode") != "navigate"
        ):
            raise ViewError("pages of other sites may only link to this one.", HTTPStatus.FORBIDDEN)
        is_public = request.url.path.startswith("/static/")
        return self._check_token(request) if self._settings.needs_token and not is_public else None

    def _check_host(self, headers: Headers) -> None:
        host = _without_port(headers.get("host", "")).lower()
        address = parse_ip(host)
        if address is not None and (not self._settings.is_local or address.is_loopback):
            return
        if host not in self._settings.host_names:
            raise ViewError(
                f"the server must be asked by an address or a name of its own machine; got {host[:100]!r}. "
                "Open the address that bat-harness printed."
            )

    def _check_token(self, request: Request) -> Response | None:
        cookie = request.cookies.get(self._settings.cookie, "")
        if _same(cookie, self._settings.token):
            return None
        given = request.query_params.get(_TOKEN, "")
        if not _same(given, self._settings.token):
            raise ViewError(
                "this address needs the token that `bat-harness view` printed when it started. Open the "
                "address that it printed.",
                HTTPStatus.UNAUTHORIZED,
            )
        # The token leaves the address bar, where it would be copied along with an address.
        response = RedirectResponse(_without_token(request.url), HTTPStatus.SEE_OTHER)
        response.set_cookie(self._settings.cookie, self._settings.token, httponly=True, samesite="lax")
        return response


def check_form_token(settings: ViewSettings, given: str) -> None:
    """Raise unless a form is one of ours, shown since the server started."""
    if not _same(given, settings.form_token):
        raise ViewError(
            "a change must come from a form of this server; this one is not, or is older than the server. "
            "Go back, reload the page and try again.",
            HTTPStatus.FORBIDDEN,
        )


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(), expected.encode())


def _without_port(host: str) -> str:
    """The name in a Host header: "localhost:8700", "[::1]:8700"."""
    if host.startswith("["):
        return host.partition("]")[0][1:]
    return host.partition(":")[0]


def _without_token(url: URL) -> str:
    query = [pair for pair in parse_qsl(url.query, keep_blank_values=True) if pair[0] != _TOKEN]
    # A path alone: a second slash at its beginning would name another machine.
    path = "/" + url.path.lstrip("/")
    return f"{path}?{urlencode(query)}" if query else path
