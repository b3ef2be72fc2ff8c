"""Chat endpoint in a Flask app: ``waitress-serve examples.flask_app:app``, or any WSGI server with threads."""

from flask import Flask, Response, abort, request
from google.adk.agents import LlmAgent

from stream_protocol import ChatRequestError, parse_chat_request
from stream_protocol.serving import WSGI_SSE_HEADERS, ChatService, SyncChatService

root_agent = LlmAgent(name="assistant", model="gemini-flash-latest", instruction="Answer briefly.")
service = SyncChatService(lambda: ChatService(root_agent))

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 32 * 1024 * 1024


def user_id() -> str:
    """Return the user whom your app has signed in. In this example a proxy sends the name."""
    return request.headers.get("X-User") or abort(401)


@app.before_request
def admit() -> Response | None:
    """Refuse a request that a page of another site has sent to change something."""
    try:
        service.admit(request.method, request.headers.items())
    except ChatRequestError as refusal:
        return Response(str(refusal), refusal.status, mimetype="text/plain")
    return None


@app.post("/api/chat")
def chat() -> Response:
    """Run the agent: the endpoint of ``useChat``. A client shows the text of a refusal unchanged."""
    if not request.is_json:
        abort(415)
    try:
        events = service.respond(parse_chat_request(request.get_data()), user_id=user_id())
    except ChatRequestError as refusal:
        return Response(str(refusal), refusal.status, refusal.headers, mimetype="text/plain")
    return Response(events, headers=dict(WSGI_SSE_HEADERS))


@app.get("/api/chats")
def chats() -> dict[str, object]:
    """Return the user's chats, newest first."""
    user = user_id()
    page = service.run(lambda chat_service: chat_service.chats(user_id=user))
    return {"chats": list(page.chats), "nextCursor": page.next_cursor, "hasArchived": page.has_archived}
