import { useEffect, useState } from "react";
import { HostContext } from "../components/chat/host";
import { useTheme } from "../components/layout/theme";
import { Select } from "../components/ui/field";
import { Mark } from "../components/ui/mark";
import { TooltipProvider } from "../components/ui/tooltip";
import { FileView } from "../inspector/Inspector";
import type { OpenedFile } from "../inspector/inspector-api";
import { HOST } from "../layout/host";
import { RecordedChat } from "./RecordedChat";

/** A run that the site of the documentation has: `NAME.json` is what the Inspector's route makes of its recording. */
type Recorded = { name: string; title: string };
type Shown = Omit<OpenedFile, "file" | "session">;

/** Runs that were recorded: the reader picks one, and sees the page beside its events and chunks. Without a server. */
export default function RecordedRuns({ runs }: { runs: Recorded[] }) {
  useTheme();
  const [name, setName] = useState(() => chosen(runs));
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let current = true;
    fetch(`${name}.json`)
      .then((response) => (response.ok ? response.json() : Promise.reject(new Error("The recording cannot be loaded."))))
      .then(
        (loaded: Omit<Shown, "name">) => current && setShown({ ...loaded, name }),
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
          <header className="flex h-12 shrink-0 items-center gap-2 border-b px-3">
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
          {shown?.name === name && <Run key={name} shown={shown} />}
        </div>
      </TooltipProvider>
    </HostContext>
  );
}

function Run({ shown }: { shown: Shown }) {
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <main aria-label="Page" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto -outline-offset-2">
        <RecordedChat messages={shown.messages} />
      </main>
      <aside aria-label="Inspector" className="flex min-h-0 flex-1 flex-col border-s max-md:border-s-0 max-md:border-t">
        <FileView opened={{ ...shown, file: new File([], shown.name), session: "" }} saves={false} />
      </aside>
    </div>
  );
}

function chosen(runs: Recorded[]): string {
  const named = window.location.hash.slice(1);
  return (runs.find(({ name }) => name === named) ?? runs[0])?.name ?? "";
}
