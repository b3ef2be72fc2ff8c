// app/(chat)/api/messages/route.ts
import { askAgent, chatPath } from "@/lib/agent";

export async function GET(request: Request) {
  const response = await askAgent(chatPath(new URL(request.url).searchParams.get("chatId")));
  const { messages } = response.ok ? await response.json() : { messages: [] };
  return Response.json({ messages, isReadonly: false, userId: null, visibility: "private" });
}
