import { type ComponentType, useEffect, useRef, useState } from "react";
import type { ClientToolProps } from "../chat/host";
import { Button } from "../ui/button";
import { useDraft } from "./drafts";
import { Pending } from "./Pending";
import type { Values } from "./schema";

/** Run the tool once, also if React mounts twice. After a failed request, only a click runs it again. */
export function AtOnce({ id, act }: { id: string; act: () => void }) {
  const [acted, setActed] = useDraft(id, () => false);
  const [refused] = useState(acted);
  const done = useRef(acted);
  useEffect(() => {
    if (done.current) return;
    done.current = true;
    setActed(true);
    act();
  });
  if (!refused) return null;
  return (
    <Pending label="Answer" question="The server did not take what this page has answered." onSubmit={act}>
      <Button type="submit" look="primary" className="self-start">
        Answer again
      </Button>
    </Pending>
  );
}

/** A tool that runs when the user allows it, so a reload or a second tab does not run it again. */
export function allowed<Output extends Values>(question: string, run: () => Output | Promise<Output>): ComponentType<ClientToolProps> {
  return function Allowed({ onOutput, onError }) {
    const [running, setRunning] = useState(false);
    const allow = async () => {
      setRunning(true);
      try {
        onOutput(await run());
      } catch (error) {
        onError(error instanceof Error ? error.message : String(error));
      }
    };
    return (
      <Pending label="In this page" question={question}>
        <div className="flex gap-2">
          <Button look="primary" disabled={running} onClick={() => void allow()}>
            Allow
          </Button>
          <Button disabled={running} onClick={() => onError("The user refused.")}>
            Do not allow
          </Button>
        </div>
      </Pending>
    );
  };
}
