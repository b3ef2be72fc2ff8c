"""Attacks with requests of other pages, users, chats and deployments."""

from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Final

from tests.attacks.attacker import Answer, Attacker
from tests.attacks.registry import STORES, attack

REFUSED: Final = (400, 403, 404, 421, 422)

ROUTES: Final = (
    ("GET", "/api/chat/{}"),
    ("GET", "/api/chat/{}/stream"),
    ("POST", "/api/chat/{}/stop"),
    ("PATCH", "/api/chat/{}"),
    ("GET", "/api/chat/{}/artifacts/a.txt"),
    ("DELETE", "/api/chat/{}"),
)

IDS: Final = (
    "%20x",
    "x%20",
    "x%09",
    "%00",
    "x%00",
    "%0a",
    "%2e%2e",
    "%2e",
    "a%2Fb",
    "a%5Cb",
    "a" * 10_240,
)


NO_TEXT: Final = ("%ff", "%ed%a0%80")
"""Chat ids of bytes that are not UTF-8. The server reads each as a character that no chat id has."""

FOREIGN_REQUESTS: Final = 1500
"""More requests than a user may send in a minute."""


@attack("Wrong host names, as with DNS rebinding", ["loopback", "replay"])
def rebinding(attacker: Attacker) -> None:
    port = attacker.ports[0]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "169.254.169.254",
        "localhost@evil.example",
        "[::1].evil.example",
        "",
        "LOCALHOST.evil",
        "127.0.0.1, evil.example",
    ):
        for path in ("/api/chats", "/", "/healthz"):
            answer = _with_host(attacker, path, f"host: {host}")
            attacker.note(answer, (400, 403, 421), f"{path} at {host!r}")
    twice = _with_host(attacker, "/api/chats", "host: 127.0.0.1", "host: evil.example")
    attacker.note(twice, (400, 403, 421), "two hosts")
    for host in (f"127.0.0.1:{port}", "127.0.0.1", "localhost", f"localhost:{port}", f"[::1]:{port}"):
        attacker.note(_with_host(attacker, "/healthz", f"host: {host}"), [200], f"/healthz at {host}")


def _with_host(attacker: Attacker, path: str, *lines: str) -> Answer:
    with attacker.connect() as connection:
        connection.sendall(("\r\n".join([f"GET {path} HTTP/1.1", *lines]) + "\r\n\r\n").encode())
        return attacker.read_status(connection)


@attack("Requests from a page of another site", ["loopback"])
def foreign_pages(attacker: Attacker) -> None:
    foreign = {"sec-fetch-site": "cross-site", "origin": "https://evil.example", "sec-fetch-mode": "no-cors"}
    door = f"{attacker.user}-foreign"
    with ExitStack() as stack:
        attacker.note(attacker.begin(stack, f"hold {door}", "framed"), [200], "the run")
        without_site = {"origin": "https://evil.example"}  # as older browsers send it
        for headers in (foreign, {"sec-fetch-site": "cross-site"}, {**foreign, "origin": "null"}, without_site):
            answer = attacker.ask("POST", "/api/chat/framed/stop", headers=headers)
            attacker.note(answer, [403], f"a stop with {headers}")
        running = attacker.ask("GET", "/api/chats").json["chats"]
        attacker.expect(
            any(chat["id"] == "framed" and chat["running"] for chat in running), "a foreign page stopped a run"
        )
        plain = attacker.ask(
            "POST", "/api/chat", b'{"id":"csrf","messages":[]}', headers={**foreign, "content-type": "text/plain"}
        )
        attacker.note(plain, (400, 403, 415), "a form")
        same = attacker.ask("POST", "/api/chat/framed/stop", headers={"sec-fetch-site": "same-site"})
        attacker.note(same, [202], "a stop of the same site")
        attacker.open_door(door)
    page = attacker.ask("GET", "/")
    attacker.note(page, [200], "the page")
    policy = page.headers.get("content-security-policy", "")
    for directive in ("frame-ancestors 'none'", "img-src 'self' data: blob:"):
        attacker.expect(directive in policy, f"no {directive} in the policy of the page")
    attacker.expect(page.headers.get("x-content-type-options") == "nosniff", "no nosniff")
    attacker.expect("referrer-policy" in page.headers, "no Referrer-Policy")
    attacker.expect("permissions-policy" in page.headers, "no Permissions-Policy")


@attack("Chat ids with paths, spaces, zero bytes, invalid UTF-8 or 10 KiB, on every route", STORES)
def path_ids(attacker: Attacker) -> None:
    attacker.note(attacker.say("say hello", "x"), [200], "the chat x")
    for chat in IDS:
        for method, route in ROUTES:
            body = b'{"title":"evil"}' if method == "PATCH" else None
            answer = attacker.ask(method, route.format(chat), body)
            attacker.note(answer, (400, 404, 405, 414, 422), f"{method} {route.format(chat)[:60]}")
            attacker.expect(len(answer.body) < 300, "a long refusal")
    for chat in NO_TEXT:
        for method, route in ROUTES:
            answer = attacker.ask(method, route.format(chat), b'{"title":"evil"}' if method == "PATCH" else None)
            attacker.note(answer, (204, 400, 404) if route.endswith("stream") else (400, 404), f"{method} of {chat}")
    attacker.expect(attacker.messages("x"), "the chat x is gone")


@attack("Forged cursors, limits and searches for the list of chats", STORES)
def forged_cursors(attacker: Attacker) -> None:
    for query in (
        "cursor=x",
        "cursor=",
        "cursor=" + "A" * 10_000,
        "cursor=%00",
        "cursor=bnVsbA",
        "cursor=W10",
        "cursor=W251bGwsbnVsbF0",
        "cursor=eyJhIjoxfQ==",
        "cursor=WzFlOTk5LCJ4Il0",
        "limit=0",
        "limit=-1",
        "limit=1e9",
        "limit=%D9%A3",
        "limit=",
        "archived=2",
        "search=" + "x" * 10_000,
    ):
        answer = attacker.ask("GET", f"/api/chats?{query}")
        attacker.note(answer, (200, 400, 422), query[:40])
        attacker.expect(answer.status != 200 or query in ("cursor=", "limit="), f"{query[:40]} was taken")


@attack("Artifact names and versions that point outside the chat")
def artifact_names(attacker: Attacker) -> None:
    attacker.note(attacker.say("say hello", "files"), [200], "the chat")
    for name in (
        "..%2f..%2f..%2fetc%2fpasswd",
        "../../etc/passwd",
        "user:secret",
        "user%3Asecret",
        "%00",
        "a%0d%0ax",
        "%ff",
        "a" * 10_240,
        "/etc/passwd",
        "a?version=-1",
        "a?version=99999999999999999999",
        "a?version=x",
    ):
        answer = attacker.ask("GET", f"/api/chat/files/artifacts/{name}")
        attacker.note(answer, (400, 404, 414, 422), f"the artifact {name[:40]}")


@attack("Requests for the chats of another user", STORES)
def other_users(attacker: Attacker) -> None:
    door = f"{attacker.user}-mine"
    with ExitStack() as stack:
        attacker.note(attacker.begin(stack, f"hold {door}", "mine"), [200], "the run")
        for method, route in ROUTES:
            body = b'{"title":"evil"}' if method == "PATCH" else None
            mine = attacker.ask(method, route.format("mine"), body, user=f"{attacker.user}-other")
            never = attacker.ask(method, route.format("never"), body, user=f"{attacker.user}-other")
            attacker.note(mine, (204, 404) if route.endswith("stream") else (404,), f"{method} {route}")
            attacker.expect(
                (mine.status, mine.body) == (never.status, never.body), f"{method} {route} tells that the chat is there"
            )
        attacker.open_door(door)


@attack("No user, two users, and user names with paths, control characters or 8 KiB", STORES)
def odd_users(attacker: Attacker) -> None:
    attacker.note(attacker.ask("GET", "/api/chats", headers={"x-user": ""}), [401], "no user")
    with attacker.connect() as connection:
        connection.sendall(attacker.head("GET", "/api/chats", f"x-user: {attacker.user}-other"))
        attacker.note(attacker.read_status(connection), [401], "two users")
    attacker.note(attacker.say("say hello", "own"), [200], "a chat")
    for name in ("../" + attacker.user, "%2e%2e", "user:x", "a\x01b", "\xff\xfe", "{}", "*", "a" * 8192, "'; --"):
        for method, path in (("GET", "/api/chats"), ("GET", "/api/chat/own"), ("POST", "/api/chat/own/stop")):
            answer = attacker.ask(method, path, user=name)
            attacker.note(answer, (200, 400, 401, 404, 431), f"{method} {path} of {name[:20]!r}")
            attacker.expect(b'"own"' not in answer.body, f"{name[:20]!r} sees the chats of another")


@attack(
    "The same user and chat in two other deployments with the same Redis",
    ["Redis"],
)
def two_deployments(attacker: Attacker) -> None:
    door = f"{attacker.user}-deployed"
    with ExitStack() as stack:
        attacker.note(attacker.begin(stack, f"hold {door}", "shared"), [200], "the run")
        for server, whose in ((2, "with the same prefix"), (3, "with another prefix")):
            read = attacker.ask("GET", "/api/chat/shared/stream", server=server, patience=2)
            attacker.note(read, (204, 404), f"a reader of the deployment {whose}")
            stop = attacker.ask("POST", "/api/chat/shared/stop", server=server)
            attacker.note(stop, [404], f"a stop of the deployment {whose}")
        beside = attacker.say("say hello", "shared", server=3)
        attacker.note(beside, [200], "the same chat in the deployment with another prefix")
        listed = attacker.ask("GET", "/api/chats").json["chats"]
        attacker.expect(
            any(chat["id"] == "shared" and chat["running"] for chat in listed), "another deployment stopped the run"
        )
        attacker.open_door(door)


@attack("1,500 `no-cors` requests from a page of another site, before the user stops a run", ["loopback"])
def foreign_requests(attacker: Attacker) -> None:
    door = f"{attacker.user}-busy"
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}

    def some() -> list[int]:
        connection = HTTPConnection("127.0.0.1", attacker.ports[0], timeout=15)
        statuses = []
        for _ in range(FOREIGN_REQUESTS // 10):
            connection.request("GET", "/api/chats", headers=foreign)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.close()
        return statuses

    with ExitStack() as stack:
        attacker.note(attacker.begin(stack, f"hold {door}", "busy"), [200], "the run")
        for status in [status for statuses in attacker.together([some] * 10) for status in statuses]:
            attacker.note(Answer(status), (200, 429), "a foreign request")
        attacker.note(attacker.ask("GET", "/api/chats"), [200], "the list of the user")
        attacker.note(attacker.ask("POST", "/api/chat/busy/stop"), [202], "the stop of the user")
        attacker.open_door(door)
