"""Builds a plain sentence for each error that ends a run. The sentence names the cause and says what to do.

The sentence depends on three facts: the origin of the error (tool, model or agent), its class, and the provider's
response. The error's text is searched only if a library gives no other information.
"""

import re
from typing import Final

from google.adk.models import BaseLlm
from google.adk.tools.base_tool import BaseTool
from pydantic import ValidationError

from stream_protocol.adk import FINISH_REASONS, NO_CONTENT, UNEXPLAINED
from stream_protocol.serving.errors._origin import app_line, find_origin, stated_problem
from stream_protocol.serving.errors._provider_response import ProviderResponse, message_of, read_response
from stream_protocol.serving.errors._text import error_text, exception_text, one_line
from stream_protocol.stream import AgentRunError, RunLimitError
from stream_protocol.wire import check_flag, check_instance, shown

_TIMEOUTS: Final = frozenset({"TimeoutError", "TimeoutException", "APITimeoutError"})
_UNREACHABLE: Final = frozenset(
    {"ConnectError", "ClientConnectorError", "ProxyError", "SSLError", "gaierror", "ConnectionRefusedError"}
)
_BROKEN_OFF: Final = frozenset(
    {"ReadError", "WriteError", "ProtocolError", "ClientConnectionError", "ClientPayloadError", "ConnectionError"}
)
_NO_RESPONSE: Final = frozenset({"TransportError", "APIConnectionError"})
"""Names of exceptions that give no reason why the response is missing."""
_UNREADABLE: Final = frozenset(
    {
        "UnknownApiResponseError",
        "JSONDecodeError",
        "ValidationError",
        "APIResponseValidationError",
        "UnicodeDecodeError",
    }
)
_PROVIDER_LIBRARIES: Final = frozenset({"litellm", "openai", "anthropic"})
"""Packages whose exceptions are errors of a model, even without a traceback. google-genai is matched separately."""

_NO_KEY: Final = re.compile(
    r"no api key|missing credentials|missing \w+ api key|no \w+ credential|api[_ ]key[^.]{0,40} must be set"
    r"|could not resolve authentication",
    re.IGNORECASE,
)
_NO_CONNECTION: Final = re.compile(r"connection error|cannot connect to host", re.IGNORECASE)
CONVERSATION_TOO_LONG: Final = (
    "The conversation is too long for {}: begin a new chat, or shorten what tools and files put into it."
)
_NO_PROVIDER: Final = "LLM Provider NOT provided"
_UNKNOWN_MODEL: Final = re.compile(r"^Model (\S+) not found\.")
_TOO_LONG: Final = re.compile(r"prompt is too long|token count .{0,40}exceeds|maximum context length", re.IGNORECASE)
_TOOL_DECLARATION: Final = re.compile(r"function_declarations|\btools?[\[.]\d|schema for function", re.IGNORECASE)

_BLOCKED: Final = frozenset({"content_filter", "content_policy_violation", "MODEL_ARMOR", "JAILBREAK"}) | {
    reason for reason, finish in FINISH_REASONS.items() if finish == "content-filter"
}
_NAME: Final = re.compile(r"[A-Z][A-Za-z_]{0,60}|\d{3}")
"""Pattern for a code that cannot quote a chat, such as ``MALFORMED_FUNCTION_CALL`` or ``503``."""

_UNREADABLE_CALL: Final = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})


def explain_error(error: BaseException, *, quoting: bool = True) -> str:
    """Returns one plain sentence for developers, on one line: why a run failed, and what to do.

    API keys, and the queries and passwords of URLs, are removed from quoted texts. The sentence may still quote words
    of a provider, a tool or a user. So use ``ChatService(on_error=explain_error)`` only if users may read such texts.
    With ``quoting=False``, the sentence quotes nothing: it names errors by their classes and HTTP statuses.
    """
    check_instance("error", error, BaseException, "an exception")
    check_flag("quoting", quoting)
    if isinstance(error, AgentRunError):
        return _explain_event(error, quoting=quoting)
    if isinstance(error, RunLimitError):
        return str(error)
    origin = find_origin(error)
    if isinstance(origin, BaseTool):
        if (problem := _key_problem(error, quoting=quoting)) is not None:
            return f"The result of the tool {origin.name} is not JSON. {problem} Return plain values."
        return f"The tool {origin.name} raised {_description(error, quoting=quoting)}."
    if isinstance(origin, BaseLlm) or _is_of_provider(error):
        sentence = _explain_model(error, origin if isinstance(origin, BaseLlm) else None, quoting=quoting)
        if sentence is not None:
            return sentence
    if isinstance(error, ImportError) and error.name:
        return f"The package {error.name} is not installed here ({_text(error, quoting=quoting)}): install it with pip."
    if quoting and (unknown := _UNKNOWN_MODEL.match(exception_text(error))) is not None:
        return (
            f"ADK knows no model {one_line(unknown[1], 80)}: check its name; a model of another provider is named as "
            "in openai/gpt-4o, and needs `pip install google-adk[extensions]`."
        )
    if origin is not None:
        kind = "model" if isinstance(origin, BaseLlm) else "agent"
        name = origin.model if isinstance(origin, BaseLlm) else origin.name
        return f"The {kind} {name} raised {_description(error, quoting=quoting)}."
    return f"{_description(error, quoting=quoting)}."


def error_name(error: BaseException) -> str:
    """Returns the error code that the model or the agent has reported. Without a code, returns the name of the
    exception's class. Contains no text of the error.
    """
    code = error.code if isinstance(error, AgentRunError) else None
    return code if code and _NAME.fullmatch(code) else type(error).__name__


def explain_missing_key(error: BaseException) -> str | None:
    """Returns the sentence for a model without an API key or credentials; ``None`` for other errors. The sentence
    contains no text of the error.
    """
    origin = find_origin(error)
    model = origin if isinstance(origin, BaseLlm) else None
    return _explain_missing_key(error, model) if model is not None or _is_of_provider(error) else None


def _key_problem(error: BaseException, *, quoting: bool) -> str | None:
    """ADK cannot convert the result of a tool if a key is not a string, as in ``{1: "a"}``. Return the sentence for
    this error; ``None`` for other errors.
    """
    if not isinstance(error, ValidationError) or error.title != "FunctionResponse":
        return None
    keys = [problem["input"] for problem in error.errors(include_url=False) if problem["loc"][-1:] == ("[key]",)]
    if not keys:
        return None
    return f"A key of it is not text: {shown(keys[0])}." if quoting else "A key of it is not text."


def _explain_event(error: AgentRunError, *, quoting: bool) -> str:
    code, message = error.code, one_line(message_of(error.message or ""))
    if not quoting:
        code, message = code if code and _NAME.fullmatch(code) else None, ""
    quoted = f"{code}: {message}" if code and message else code or message
    if code in _BLOCKED:
        return (
            f"The model blocked the prompt or its answer ({quoted}): say it in other words, or see `safety_settings`."
        )
    if code in _UNREADABLE_CALL:
        return (
            f"The model wrote a tool call that cannot be read ({quoted}). Try again, or simplify the tool's parameters."
        )
    if code == "MAX_TOKENS":
        return f"The model reached its limit of tokens before it said anything ({quoted}): raise `max_output_tokens`."
    if code == NO_CONTENT:
        return f"The model answered nothing ({quoted}). Try again."
    if code in UNEXPLAINED:
        return f"The model did not finish its answer ({message or code}). Try again."
    return f"The agent reported an error: {(quoted or 'without a word').rstrip('.')}."


def _explain_model(error: BaseException, model: BaseLlm | None, *, quoting: bool) -> str | None:
    """Return the sentence for an exception of a model's client; ``None`` if the kind of the exception is unknown."""
    if (missing := _explain_missing_key(error, model)) is not None:
        return missing
    name = _model_name(error, model)
    names = _class_names(error)
    text = exception_text(error)
    response = read_response(error)
    if "RefreshError" in names:
        return f"Google Cloud refused the credentials for {name}: run `gcloud auth application-default login`."
    if "ContextWindowExceededError" in names or _TOO_LONG.search(text):
        return CONVERSATION_TOO_LONG.format(name)
    if names & _TIMEOUTS:
        return f"{name} did not answer in time. Try again, or give its client a longer timeout."
    if _NO_PROVIDER in text:
        return f"{name} is of no known provider: name it with its provider, as in openai/gpt-4o."
    if names & _BROKEN_OFF and not names & _UNREACHABLE:
        server = _server(error, name) if _host(error) else "the model"
        return f"Lost the connection to {server}. Try again."
    if names & (_UNREACHABLE | _NO_RESPONSE) or ("InternalServerError" in names and _NO_CONNECTION.search(text)):
        return f"Cannot reach {_server(error, name)}: check the network, the proxy settings and the model's address."
    if names & _UNREADABLE:
        return (
            f"The answer to {name} cannot be read ({_text(error, quoting=quoting)}): check that the model's address is "
            "its provider's, and that no proxy answers instead."
        )
    return (
        None
        if response is None
        else _explain_response(response, name, _key_variable(error, model), names, quoting=quoting)
    )


def _explain_missing_key(error: BaseException, model: BaseLlm | None) -> str | None:
    name = _model_name(error, model)
    if "DefaultCredentialsError" in _class_names(error):
        return (
            f"No Google Cloud credentials for {name}: run `gcloud auth application-default login`, or set "
            "GOOGLE_API_KEY without GOOGLE_GENAI_USE_VERTEXAI."
        )
    if _NO_KEY.search(exception_text(error)):
        return f"No API key for {name}: set {_key_variable(error, model)} in the environment of this server."
    return None


def _explain_response(response: ProviderResponse, name: str, key: str, names: frozenset[str], *, quoting: bool) -> str:
    """Return the sentence for a request that the provider refused. ``key``: the name of the environment variable with
    the API key.
    """
    message = one_line(response.message).rstrip(".")
    quoted = f"{response.name}: {message}" if message else response.name
    if not quoting:
        quoted = str(response.status)
    codes, status = frozenset(response.codes), response.status
    if codes & {"context_length_exceeded", "request_too_large"} or status == 413:
        return CONVERSATION_TOO_LONG.format(name)
    if codes & _BLOCKED or "ContentPolicyViolationError" in names:
        return f"The provider blocked the prompt for {name} ({quoted}): say it in other words."
    if status == 401 or "API_KEY_INVALID" in codes:
        return f"The API key for {name} was refused ({quoted}): check {key}."
    if status in {402, 429} or "insufficient_quota" in codes:
        wait = f"wait {one_line(response.retry_after, 20)}" if response.retry_after and quoting else "wait"
        return f"The quota of the API key for {name} is used up ({quoted}): {wait}, or check its plan and limits."
    if status == 403:
        return f"The API key has no permission for {name} ({quoted}): check what the key and its project may use."
    if status == 404:
        return f"The provider does not know {name} ({quoted}): check the model's name."
    if status in {408, 504}:
        return f"The provider of {name} did not answer in time ({quoted}). Try again."
    if status in {503, 529} or "overloaded_error" in codes:
        return f"The provider of {name} is overloaded ({quoted}). Try again in a moment."
    if status >= 500:
        return f"The provider of {name} failed ({quoted}). Try again in a moment."
    if (
        _TOOL_DECLARATION.search(" ".join([*response.codes, response.message]))
        or "invalid_function_parameters" in codes
    ):
        return (
            f"The provider of {name} refused the declaration of a tool ({quoted}): change the types of its parameters."
        )
    return f"The provider of {name} refused the request ({quoted})."


def _is_of_provider(error: BaseException) -> bool:
    module = type(error).__module__
    return module.partition(".")[0] in _PROVIDER_LIBRARIES or module.startswith(("google.genai.", "google.auth."))


def _class_names(error: BaseException) -> frozenset[str]:
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and (cause is error or type(cause).__name__ not in names):
        names.update(cls.__name__ for cls in type(cause).__mro__)
        cause = cause.__cause__
    return frozenset(names)


def _model_name(error: BaseException, model: BaseLlm | None) -> str:
    name = model.model if model is not None else getattr(error, "model", None)
    return one_line(name, 80) if isinstance(name, str) and name else "the model"


def _key_variable(error: BaseException, model: BaseLlm | None) -> str:
    """Return the name of the environment variable for the provider's API key, such as ``OPENAI_API_KEY``."""
    provider = getattr(error, "llm_provider", None)
    if not isinstance(provider, str) or not provider:
        modules = (type(error).__module__, type(model).__module__)
        provider = next(
            (known for known in ("anthropic", "openai") if any(known in name for name in modules)), "google"
        )
    provider = {"vertex_ai": "google"}.get(provider, provider)
    return f"{re.sub(r'[^A-Z0-9]', '_', provider.upper())}_API_KEY"


def _server(error: BaseException, name: str) -> str:
    """Return a phrase for the server to which the failed request was sent, such as ``localhost:8000 for my-model``."""
    return f"{host} for {name}" if (host := _host(error)) else f"the provider of {name}"


def _host(error: BaseException) -> str | None:
    """Return the host and port to which the failed request was sent; ``None`` if they are unknown."""
    try:
        # Exceptions of aiohttp have a `host`. Those of httpx, openai and anthropic have a `request`. litellm's
        # `request` is made up.
        address = error if hasattr(error, "host") else getattr(getattr(error, "request", None), "url", None)
    except RuntimeError:  # httpx raises this error if the exception has no request
        address = None
    host, port = getattr(address, "host", None), getattr(address, "port", None)
    if not isinstance(host, str) or not host or type(error).__module__.startswith("litellm"):
        return None
    return one_line(f"{host}:{port}" if port else host, 80)


def _text(error: BaseException, *, quoting: bool) -> str:
    return error_text(error) if quoting else type(error).__name__


def _description(error: BaseException, *, quoting: bool) -> str:
    """Return the exception's text, and the file and line of the app's code that raised the exception.

    Without ``quoting``, the class of the exception replaces its text. The result does not end with a full stop.
    """
    if quoting:
        return located_text(error)
    name = type(error).__name__
    return f"{name} ({line})" if (line := app_line(error)) else name


def located_text(error: BaseException) -> str:
    """Return the exception's type and text. Adds the file and line of the app's code that raised the exception, if
    these are known.

    The result does not end with a full stop.
    """
    if (stated := stated_problem(error)) is not None:
        problem, place = stated
        return f"{type(error).__name__}: {one_line(problem).rstrip('.')} ({place})"
    text = error_text(error).rstrip(".")
    return f"{text} ({line})" if (line := app_line(error)) else text
