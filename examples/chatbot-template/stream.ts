// app/(chat)/api/chat/[id]/stream/route.ts
import { askAgent, chatPath } from "@/lib/agent";

export async function GET(request: Request, { params }: { params: Promise<{ id: string }> }) {
  return askAgent(`${chatPath((await params).id)}/stream`, { signal: request.signal });
}
