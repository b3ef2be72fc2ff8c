import { Suspense } from "react";
import { ChatPage } from "../../chat-page";

type Params = { params: Promise<{ id: string }> };

export default function Page({ params }: Params) {
  return (
    <Suspense>
      <StoredChat params={params} />
    </Suspense>
  );
}

async function StoredChat({ params }: Params) {
  const { id } = await params;
  const agent = process.env.AGENT_URL ?? "http://127.0.0.1:8000";
  const response = await fetch(`${agent}/api/chat/${encodeURIComponent(id)}`, { cache: "no-store" });
  const { messages } = await response.json();
  return <ChatPage id={id} messages={messages} />;
}
