const agentUrl = process.env.AGENT_URL ?? "http://127.0.0.1:8000";

/** The page and the agent have one origin in the browser: no CORS, and cookies reach both. */
export default {
  rewrites: async () => [{ source: "/api/:path*", destination: `${agentUrl}/api/:path*` }],
};
