import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { HostContext } from "../components/chat/host";
import { useTheme } from "../components/layout/theme";
import { useNarrow } from "../components/layout/use-narrow";
import { Markdown } from "../components/messages/Markdown";
import { Select } from "../components/ui/field";
import { Mark } from "../components/ui/mark";
import { TooltipProvider } from "../components/ui/tooltip";
import { addToRows, type Entry, firstRows, type Row } from "../inspector/entries";
import { RecordedView } from "../inspector/Inspector";
import type { Finding } from "../inspector/inspector-api";
import { HOST } from "../layout/host";
import { PlaybackBar } from "./Playback";
import { RecordedChat } from "./RecordedChat";
import { EMPTY, type Snapshot, snapshotsOf } from "./snapshots";
import { usePlayback } from "./use-playback";

/** A run of the documentation site. `NAME.json` contains its entries and findings. */
type Recorded = { name: string; title: string };

type Shown = { name: string; rows: Row[]; snapshots: Snapshot[]; findings: Finding[] };

async function loadRun(name: string): Promise<Shown> {
  const response = await fetch(`${name}.json`);
  if (!response.ok) throw new Error("The run could not be loaded. Reload the page to try again.");
  const { entries, findings }: { entries: Entry[]; findings: Finding[] } = await response.json();
  const rows = addToRows([], entries);
  return { name, rows, snapshots: await snapshotsOf(rows), findings };
}

/** Recorded runs. The reader chooses a run, and sees the page beside its events and chunks. No server is needed. */
export default function RecordedRuns({ runs }: { runs: Recorded[] }) {
  useTheme();
  useEffect(() => void Markdown.preload(), []);
  const [name, setName] = useState(() => chosen(runs));
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let current = true;
    loadRun(name).then(
      (loaded) => current && setShown(loaded),
      (error: Error) => current && setProblem(error.message),
    );
    return () => {
      current = false;
    };
  }, [name]);
  const choose = (name: string) => {
    setProblem("");
    setName(name);
    window.history.replaceState(null, "", `#${name}`);
  };
  return (
    <HostContext value={HOST}>
      <TooltipProvider delayDuration={400}>
        <div className="flex h-dvh flex-col overflow-hidden">
          <header className="flex min-h-12 shrink-0 items-center gap-2 border-b px-3 py-1.5">
            <Mark />
            <h1 className="text-sm font-semibold max-sm:sr-only">Recorded runs</h1>
            <Select aria-label="Run" className="ms-auto max-w-full" value={name} onChange={({ target }) => choose(target.value)}>
              {runs.map((run) => (
                <option key={run.name} value={run.name}>
                  {run.title}
                </option>
              ))}
            </Select>
          </header>
          {problem && (
            <p role="alert" className="p-4 text-sm">
              {problem}
            </p>
          )}
          {!problem && shown?.name !== name && (
            <p role="status" className="p-4 text-sm text-muted-foreground">
              Loading the run…
            </p>
          )}
          {shown?.name === name && <Run key={name} shown={shown} />}
        </div>
      </TooltipProvider>
    </HostContext>
  );
}

function Run({ shown: { rows, snapshots, findings } }: { shown: Shown }) {
  const playback = usePlayback(rows);
  const { at, count, playing } = playback;
  const happened = useMemo(() => firstRows(rows, at), [rows, at]);
  const snapshot = snapshots[at] ?? EMPTY;
  const narrow = useNarrow();
  const view = {
    rows: happened,
    messages: snapshot.messages,
    findings: at === count ? findings : [],
    source: undefined,
    follows: playing,
  };
  return (
    <>
      <PlaybackBar {...playback} />
      {narrow ? (
        // There is no room for two columns, so the chat is a tab.
        <main aria-label="Inspector" className="flex min-h-0 flex-1 flex-col">
          <RecordedView {...view} chat={<FollowedChat snapshot={snapshot} at={at} follows={playing} />} opensChat />
        </main>
      ) : (
        <div className="flex min-h-0 flex-1">
          <main aria-label="Page" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto -outline-offset-2">
            <FollowedChat snapshot={snapshot} at={at} follows={playing} />
          </main>
          <aside aria-label="Inspector" className="flex min-h-0 flex-1 flex-col border-s">
            <RecordedView {...view} />
          </aside>
        </div>
      )}
    </>
  );
}

/** The chat. It scrolls to its end while the run is played. */
function FollowedChat({ snapshot, at, follows }: { snapshot: Snapshot; at: number; follows: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = end.current?.parentElement;
    if (follows) box?.scrollTo({ top: box.scrollHeight });
  }, [follows, at]);
  return (
    <>
      <RecordedChat {...snapshot} />
      <div ref={end} />
    </>
  );
}

function chosen(runs: Recorded[]): string {
  const named = window.location.hash.slice(1);
  return (runs.find(({ name }) => name === named) ?? runs[0])?.name ?? "";
}
