import { Chat } from "@/components/chat";
import { storedMessages } from "@/lib/agent";

export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const id = decodeURIComponent((await params).id);
  return <Chat key={id} id={id} messages={await storedMessages(id)} />;
}
