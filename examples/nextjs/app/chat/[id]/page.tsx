import { Suspense } from "react";
import { storedMessages } from "@/lib/agent";
import { StoredChat } from "./stored-chat";

type Params = { params: Promise<{ id: string }> };

/** The list of chats stays while another chat is loaded. */
export default function ChatPage({ params }: Params) {
  return (
    <Suspense>
      <LoadedChat params={params} />
    </Suspense>
  );
}

async function LoadedChat({ params }: Params) {
  const id = decodeURIComponent((await params).id);
  return <StoredChat id={id} messages={await storedMessages(id)} />;
}
