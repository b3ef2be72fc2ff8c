// lib/agent.ts
import "server-only";
import { auth } from "@/app/(auth)/auth";

export async function askAgent(path: string, init: RequestInit = {}): Promise<Response> {
  const session = await auth();
  if (!session?.user?.id) return new Response("Please sign in.", { status: 401 });
  const response = await fetch(`${process.env.AGENT_URL ?? "http://127.0.0.1:8000"}${path}`, {
    ...init,
    cache: "no-store",
    headers: { "accept-encoding": "identity", "content-type": "application/json", "x-user": session.user.id },
  });
  const headers = { "content-type": response.headers.get("content-type") ?? "text/plain", "cache-control": "no-cache" };
  return new Response(response.body, { status: response.status, headers });
}

export const chatPath = (id: string | null) => `/api/chat/${encodeURIComponent(id ?? "")}`;
