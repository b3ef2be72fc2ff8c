// app/(chat)/api/history/route.ts
import { askAgent, chatPath } from "@/lib/agent";

type Listed = { id: string; title: string | null; updatedAt: string };

export async function GET(request: Request) {
  const response = await askAgent(`/api/chats${new URL(request.url).search}`);
  if (!response.ok) return response;
  const { chats, nextCursor }: { chats: Listed[]; nextCursor: string | null } = await response.json();
  return Response.json({
    chats: chats.map(({ id, title, updatedAt }) => ({
      id,
      title: title ?? "New chat",
      createdAt: updatedAt,
      visibility: "private",
    })),
    hasMore: nextCursor !== null,
    nextCursor,
  });
}

export async function DELETE() {
  for (;;) {
    const listed = await askAgent("/api/chats");
    if (!listed.ok) return listed;
    const { chats }: { chats: Listed[] } = await listed.json();
    if (chats.length === 0) return Response.json({});
    for (const { id } of chats) {
      const deleted = await askAgent(chatPath(id), { method: "DELETE" });
      if (!deleted.ok && deleted.status !== 404) return deleted;
    }
  }
}
