import { Suspense } from "react";
import { aboutAgent } from "@/lib/about-agent";
import { AgentAway, storedChat, unreachable } from "@/lib/agent";
import { LoadingChat } from "./loading-chat";
import { StoredChat } from "./stored-chat";
import { Unreachable } from "./unreachable";

type Params = { params: Promise<{ id: string }>; searchParams: Promise<{ new?: string }> };

/** Page of one chat. The list of chats stays visible while the chat is loading. */
export default function ChatPage(props: Params) {
  return (
    <Suspense fallback={<LoadingChat />}>
      <LoadedChat {...props} />
    </Suspense>
  );
}

async function LoadedChat({ params, searchParams }: Params) {
  const id = decodeURIComponent((await params).id);
  const isNew = (await searchParams).new !== undefined;
  const loaded = await load(id);
  if (loaded === undefined) {
    return <Unreachable advice={process.env.NODE_ENV === "development" ? unreachable() : undefined} />;
  }
  const [chat, about] = loaded;
  return <StoredChat {...chat} id={id} about={about} missing={chat.missing === true && !isNew} />;
}

/** Load the stored chat and the facts about the agent. Returns nothing if the agent's server cannot be reached. */
async function load(id: string) {
  try {
    return await Promise.all([storedChat(id), aboutAgent()]);
  } catch (error) {
    if (!(error instanceof AgentAway)) throw error;
    return undefined;
  }
}
