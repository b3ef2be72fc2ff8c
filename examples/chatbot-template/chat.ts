// app/(chat)/api/chat/route.ts
import { askAgent, chatPath } from "@/lib/agent";

export const maxDuration = 300;

export async function POST(request: Request) {
  return askAgent("/api/chat", { method: "POST", body: await request.text(), signal: request.signal });
}

export async function DELETE(request: Request) {
  return askAgent(chatPath(new URL(request.url).searchParams.get("id")), { method: "DELETE" });
}
