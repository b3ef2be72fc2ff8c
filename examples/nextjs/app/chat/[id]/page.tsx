import { storedChat } from "@/lib/agent";
import { StoredChat } from "./stored-chat";

export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const id = decodeURIComponent((await params).id);
  return <StoredChat id={id} {...(await storedChat(id))} />;
}
