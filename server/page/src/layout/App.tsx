import { Direction } from "radix-ui";
import { useEffect, useState } from "react";
import { Chat } from "../components/chat/Chat";
import { HostContext } from "../components/chat/host";
import { isBegunHere, nameInUrl, useChatId } from "./chat-id";
import { Problem } from "../components/chat/Problem";
import { Markdown } from "../components/messages/Markdown";
import { useHistory } from "./use-history";
import { pageCommands } from "../commands/commands";
import { Shortcuts } from "../commands/Shortcuts";
import { Sidebar } from "../components/sidebar/Sidebar";
import { Boundary } from "../components/ui/boundary";
import { Dialog } from "../components/ui/dialog";
import { later } from "../components/ui/later";
import { TooltipProvider } from "../components/ui/tooltip";
import { Header } from "../components/layout/Header";
import { SkipLink } from "../components/layout/SkipLink";
import { useChatTitle } from "../components/sidebar/chat-titles";
import { useShortcuts } from "../components/layout/shortcuts";
import { useTheme } from "../components/layout/theme";
import { useNarrow } from "../components/layout/use-narrow";
import { HOST } from "./host";
import { usePageInfo } from "./use-page-info";
import { useSetting } from "../components/layout/setting";

const Inspector = later(
  () => import("../inspector/Inspector"),
  (line) => <aside aria-label="Inspector" className="m-auto p-4">{line}</aside>,
);
/** Pixels of a window that has room for the list of chats, the chat and the Inspector. */
const THREE_COLUMNS = 1440;

const Palette = later(
  () => import("../commands/Palette"),
  (line, { onClose }) => (
    <Dialog open onOpenChange={onClose} title="Find a chat or a command">
      <div className="p-5">{line}</div>
    </Dialog>
  ),
);

export function App() {
  const id = useChatId();
  const history = useHistory(id);
  const narrow = useNarrow();
  const cramped = useNarrow(THREE_COLUMNS);
  const [theme, chooseTheme] = useTheme();
  const [beside, setBeside] = useSetting("sidebar", "open");
  const [over, setOver] = useState(false);
  const info = usePageInfo();
  const title = useChatTitle(id);
  const [inspected, inspect] = useSetting("inspector", "closed");
  const [inspectedOver, inspectOver] = useState(false);
  const inspecting = info?.inspector === true && (narrow ? inspectedOver : inspected === "open");
  const showInspector = (open: boolean) => (narrow ? inspectOver(open) : inspect(open ? "open" : "closed"));
  const [finding, setFinding] = useState(false);
  const [explaining, setExplaining] = useState(false);

  const overlaid = narrow || (cramped && inspecting);
  const sidebar = overlaid ? over : beside === "open";
  const showSidebar = (open: boolean) => (overlaid ? setOver(open) : setBeside(open ? "open" : "closed"));
  const toggleSidebar = () => showSidebar(!sidebar);
  const toggleInspector = info?.inspector ? () => showInspector(!inspecting) : undefined;
  const openPalette = () => setFinding(true);
  const openShortcuts = () => setExplaining(true);
  const commands = pageCommands({ toggleSidebar, toggleInspector, openPalette, openShortcuts, chooseTheme });
  useShortcuts(commands);
  useEffect(() => void Markdown.preload(), []);

  return (
    <HostContext value={HOST}>
      <Direction.Provider dir={document.dir === "rtl" ? "rtl" : "ltr"}>
        <TooltipProvider delayDuration={400}>
          <SkipLink />
          <div className="flex h-dvh overflow-clip">
            <Sidebar current={id} narrow={overlaid} open={sidebar} onOpenChange={showSidebar} />
            <div className="flex min-w-0 flex-1 flex-col">
              <Header
                agent={info?.agent}
                title={title}
                sidebar={sidebar}
                inspecting={inspecting}
                theme={theme}
                onSidebar={toggleSidebar}
                onInspect={toggleInspector}
                onPalette={openPalette}
                onShortcuts={openShortcuts}
                onTheme={chooseTheme}
              />
              {history.error !== undefined && history.retry && (
                <div className="m-auto w-full max-w-3xl p-4">
                  <Problem text={history.error} onRetry={history.retry} />
                </div>
              )}
              {history.stored && (
                <Chat
                  key={id}
                  id={id}
                  stored={history.stored}
                  about={info}
                  missing={history.missing ?? false}
                  resume={!isBegunHere(id) && !history.missing}
                  whileBusy={info?.whileBusy}
                  onSend={nameInUrl}
                  beside={({ state, payloads }) =>
                    inspecting && (
                      <Boundary of={id} otherwise={<p className="m-auto p-4 text-sm">The Inspector cannot show this chat.</p>}>
                        <Inspector id={id} state={state} payloads={payloads} onClose={() => showInspector(false)} />
                      </Boundary>
                    )
                  }
                />
              )}
            </div>
          </div>
          {finding && <Palette onClose={() => setFinding(false)} commands={commands} />}
          <Shortcuts open={explaining} onOpenChange={setExplaining} commands={commands} />
        </TooltipProvider>
      </Direction.Provider>
    </HostContext>
  );
}
