"use client";

import { Menu, SquarePen, X } from "lucide-react";
import Link from "next/link";
import { useParams, useRouter } from "next/navigation";
import { Dialog } from "radix-ui";
import { useCallback, useEffect, useState } from "react";
import { Button } from "./button";
import { ChatMenu } from "./chat-menu";

/** An event of the window: an answer has ended, so that the list of chats may be another. */
export const CHATS_CHANGED = "chats-changed";

type ListedChat = { id: string; title: string; updatedAt: string };
type ChatList = { chats: ListedChat[]; nextCursor?: string | null };

/** The user's chats: beside the page, or over it on a small screen. */
export function Sidebar() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <aside className="flex w-64 shrink-0 flex-col border-r bg-sidebar max-md:hidden">
        <Chats onPick={() => undefined} />
      </aside>
      <header className="flex items-center justify-between border-b px-2 py-1.5 md:hidden">
        <Dialog.Root open={open} onOpenChange={setOpen}>
          <Dialog.Trigger asChild>
            <Button look="ghost" size="icon" aria-label="Chats">
              <Menu />
            </Button>
          </Dialog.Trigger>
          <Dialog.Portal>
            <Dialog.Overlay className="fixed inset-0 z-10 bg-black/50" />
            <Dialog.Content aria-describedby={undefined} className="fixed inset-y-0 left-0 z-10 flex w-72 max-w-[85vw] flex-col bg-background shadow-xl">
              <Dialog.Title className="sr-only">Chats</Dialog.Title>
              <Chats onPick={() => setOpen(false)} />
              <Dialog.Close asChild>
                <Button look="ghost" size="icon" aria-label="Close" className="absolute top-2 right-2">
                  <X />
                </Button>
              </Dialog.Close>
            </Dialog.Content>
          </Dialog.Portal>
        </Dialog.Root>
        <NewChat onPick={() => undefined} small />
      </header>
    </>
  );
}

function NewChat({ onPick, small }: { onPick: () => void; small?: boolean }) {
  return (
    <Button asChild look="ghost" size={small ? "icon" : "text"} className={small ? "" : "justify-start"}>
      <Link href="/" prefetch={false} onClick={onPick} aria-label="New chat">
        <SquarePen className="size-4" />
        {!small && "New chat"}
      </Link>
    </Button>
  );
}

function Chats({ onPick }: { onPick: () => void }) {
  const current = useParams<{ id?: string }>().id;
  const router = useRouter();
  const [{ chats, nextCursor }, setList] = useState<ChatList>({ chats: [] });
  const reload = useCallback(async () => setList(await listChats()), []);
  useEffect(() => {
    void reload();
    window.addEventListener(CHATS_CHANGED, reload);
    return () => window.removeEventListener(CHATS_CHANGED, reload);
  }, [reload]);
  const more = async () => {
    const next = await listChats(nextCursor);
    setList({ chats: [...chats, ...next.chats], nextCursor: next.nextCursor });
  };
  const remove = async (id: string) => {
    await fetch(`/api/chat/${encodeURIComponent(id)}`, { method: "DELETE" });
    await reload();
    if (current && decodeURIComponent(current) === id) router.push("/");
  };
  return (
    <nav aria-label="Chats" className="flex min-h-0 flex-1 flex-col gap-2 p-2">
      <NewChat onPick={onPick} />
      <ul className="min-h-0 flex-1 overflow-y-auto">
        {chats.map(({ id, title }) => (
          <li key={id} className="group/chat flex items-center rounded-lg hover:bg-accent has-aria-[current]:bg-accent">
            <Link
              href={`/chat/${encodeURIComponent(id)}`}
              onClick={onPick}
              aria-current={current && decodeURIComponent(current) === id ? "page" : undefined}
              className="min-w-0 flex-1 truncate px-3 py-2 text-sm"
            >
              {title || "Untitled"}
            </Link>
            <ChatMenu title={title} onDelete={() => void remove(id)} />
          </li>
        ))}
      </ul>
      {nextCursor && <Button look="ghost" onClick={() => void more()}>More</Button>}
    </nav>
  );
}

async function listChats(cursor?: string | null): Promise<ChatList> {
  const query = new URLSearchParams({ limit: "30", ...(cursor ? { cursor } : {}) });
  const response = await fetch(`/api/chats?${query}`).catch(() => undefined);
  return response?.ok ? response.json() : { chats: [] };
}
