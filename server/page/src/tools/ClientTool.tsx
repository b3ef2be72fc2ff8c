import { useEffect, useRef, useState } from "react";
import { type Theme, THEMES, useTheme } from "../layout/theme";
import { Button } from "../ui/button";
import { useDraft } from "./drafts";
import { Pending } from "./Pending";
import type { Values } from "./schema";

/** The tools that this page runs itself, by the names that the agent calls. */
const TOOLS = { get_time_zone: TimeZone, set_theme: ThemeSwitch, get_location: Location };

type ClientToolProps = { id: string; input: Values; onOutput: (output: Values) => void; onError: (text: string) => void };

export function isClientTool(tool: string): tool is keyof typeof TOOLS {
  return Object.hasOwn(TOOLS, tool);
}

export function ClientTool({ tool, ...props }: ClientToolProps & { tool: keyof typeof TOOLS }) {
  const Tool = TOOLS[tool];
  return <Tool {...props} />;
}

/** Answered without a word of the user. */
function TimeZone({ id, onOutput }: ClientToolProps) {
  const answer = () => {
    const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
    onOutput({ timeZone, locale });
  };
  return <AtOnce id={id} act={answer} />;
}

/** Done without a word of the user, who can choose another theme at any time. */
function ThemeSwitch({ id, input, onOutput, onError }: ClientToolProps) {
  const [, choose] = useTheme();
  const asked = String(input["theme"]);
  const answer = () => {
    if (!Object.hasOwn(THEMES, asked)) return onError(`There is no theme ${asked}, only ${Object.keys(THEMES).join(", ")}.`);
    choose(asked as Theme);
    onOutput({ theme: asked });
  };
  return <AtOnce id={id} act={answer} />;
}

/** Asked for by the browser, once the user agrees to that. */
function Location({ onOutput, onError }: ClientToolProps) {
  const [asking, setAsking] = useState(false);
  const ask = () => {
    setAsking(true);
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy } }) => onOutput({ latitude, longitude, accuracyMeters: accuracy }),
      ({ message }) => onError(`The browser gave no location: ${message || "it was refused"}.`),
      { timeout: 30_000 },
    );
  };
  return (
    <Pending label="Location" question="The agent asks where you are.">
      <div className="flex gap-2">
        <Button look="primary" disabled={asking} onClick={ask}>
          {asking ? "Asking the browser…" : "Share location"}
        </Button>
        <Button disabled={asking} onClick={() => onError("The user does not share the location.")}>
          Do not share
        </Button>
      </div>
    </Pending>
  );
}

/** Does this once, also where React mounts twice. What the server has refused is done again by a click alone. */
function AtOnce({ id, act }: { id: string; act: () => void }) {
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
