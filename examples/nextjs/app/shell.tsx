"use client";

import { generateId } from "ai";
import Link from "next/link";
import { useParams, useRouter } from "next/navigation";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { type Host, HostContext } from "@/components/chat/host";
import { Header } from "@/components/layout/Header";
import { useSetting } from "@/components/layout/setting";
import { SkipLink } from "@/components/layout/SkipLink";
import { useShortcuts } from "@/components/layout/shortcuts";
import { useTheme } from "@/components/layout/theme";
import { useNarrow } from "@/components/layout/use-narrow";
import { useChatTitle } from "@/components/sidebar/chat-titles";
import { Markdown } from "@/components/messages/Markdown";
import { Sidebar } from "@/components/sidebar/Sidebar";
import { TooltipProvider } from "@/components/ui/tooltip";
import { ABOUT, clientTools, dataParts } from "./agent-parts";

/** The list of chats and the header around the open chat. */
export function Shell({ agent, children }: { agent: string | undefined; children: ReactNode }) {
  const router = useRouter();
  const open = decodeURIComponent(useParams<{ id?: string }>().id ?? "");
  const title = useChatTitle(open);
  const narrow = useNarrow();
  const [theme, chooseTheme] = useTheme();
  const [beside, setBeside] = useSetting("sidebar", "open");
  const [over, setOver] = useState(false);
  const sidebar = narrow ? over : beside === "open";
  const showSidebar = (open: boolean) => (narrow ? setOver(open) : setBeside(open ? "open" : "closed"));
  const host = useMemo<Host>(
    () => ({
      api: "/api",
      chatHref: (id) => `/chat/${encodeURIComponent(id)}`,
      openNewChat: () => router.push(`/chat/${generateId()}?new`), // not "/": the router would cache its redirect
      Link: (props) => <Link prefetch={false} {...props} />, // a prefetch would load the chat from the agent's server
      clientTools,
      dataParts,
    }),
    [router],
  );
  useShortcuts([
    { keys: "Mod+Shift+O", run: host.openNewChat },
    { keys: "Mod+B", run: () => showSidebar(!sidebar) },
  ]);
  useEffect(() => void Markdown.preload(), []);
  return (
    <HostContext value={host}>
      <TooltipProvider delayDuration={400}>
        <SkipLink />
        <div className="flex h-dvh overflow-clip">
          <Sidebar current={open} narrow={narrow} open={sidebar} onOpenChange={showSidebar} />
          <div className="flex min-h-0 min-w-0 flex-1 flex-col">
            <Header
              agent={ABOUT.agent ?? agent}
              title={title}
              sidebar={sidebar}
              theme={theme}
              onSidebar={() => showSidebar(!sidebar)}
              onTheme={chooseTheme}
            />
            {children}
          </div>
        </div>
      </TooltipProvider>
    </HostContext>
  );
}
