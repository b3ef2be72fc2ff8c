import { agentUrl, unreachable } from "@/lib/agent";

/** Headers not to forward: those of this connection, and `origin`, because the agent's server knows only its own. */
const NOT_PASSED_ON = ["accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "origin",
  "transfer-encoding", "upgrade"];

const PLAIN = { "content-type": "text/plain; charset=utf-8" };

/**
 * Forwards a request to the agent's server, and streams the response back. Nothing is buffered, so this route limits
 * neither the size of a file nor the length of a reply. The browser sees one origin: the app needs no CORS, and both
 * servers get the cookies.
 */
async function passOn(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of NOT_PASSED_ON) headers.delete(name);
  headers.set("accept-encoding", "identity");
  try {
    const response = await fetch(agentUrl(pathname + search), {
      method: request.method,
      headers,
      body: request.body,
      cache: "no-store",
      redirect: "manual",
      signal: request.signal, // if the browser disconnects, disconnect from the agent's server too
      duplex: "half",
    } as RequestInit);
    return new Response(response.body, { status: response.status, headers: passedBack(response.headers) });
  } catch {
    if (request.signal.aborted) return new Response(null, { status: 499 });
    console.error(unreachable());
    return new Response("The agent can't be reached. Try again later.", { status: 502, headers: PLAIN });
  }
}

function passedBack(headers: Headers): Headers {
  const passed = new Headers(headers);
  for (const name of ["connection", "keep-alive", "transfer-encoding"]) passed.delete(name);
  return passed;
}

export { passOn as DELETE, passOn as GET, passOn as HEAD, passOn as PATCH, passOn as POST };
