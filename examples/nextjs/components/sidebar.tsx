"use client";

import { Menu, SquarePen, X } from "lucide-react";
import Link from "next/link";
import { Dialog } from "radix-ui";
import { useState } from "react";
import { Button } from "./button";
import { ChatList } from "./chat-list";

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
  return (
    <nav aria-label="Chats" className="flex min-h-0 flex-1 flex-col gap-2 p-2">
      <NewChat onPick={onPick} />
      <ChatList onPick={onPick} />
    </nav>
  );
}
