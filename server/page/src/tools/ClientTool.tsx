import { useEffect, useRef, useState } from "react";
import { type Theme, THEMES, useTheme } from "../layout/theme";
import { Button } from "../ui/button";
import { Pending } from "./Pending";
import type { Values } from "./schema";

/** The tools that this page runs itself, by the names that the agent calls. */
const TOOLS = { get_time_zone: TimeZone, set_theme: ThemeSwitch, get_location: Location };

type ClientToolProps = { input: Values; onOutput: (output: Values) => void; onError: (text: string) => void };

export function isClientTool(tool: string): tool is keyof typeof TOOLS {
  return Object.hasOwn(TOOLS, tool);
}

export function ClientTool({ tool, ...props }: ClientToolProps & { tool: keyof typeof TOOLS }) {
  const Tool = TOOLS[tool];
  return <Tool {...props} />;
}

/** Answered without a word of the user. */
function TimeZone({ onOutput }: ClientToolProps) {
  useOnce(() => {
    const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
    onOutput({ timeZone, locale });
  });
  return null;
}

/** Done without a word of the user, who can choose another theme at any time. */
function ThemeSwitch({ input, onOutput, onError }: ClientToolProps) {
  const [, choose] = useTheme();
  const asked = String(input["theme"]);
  useOnce(() => {
    if (!Object.hasOwn(THEMES, asked)) return onError(`There is no theme ${asked}, only ${Object.keys(THEMES).join(", ")}.`);
    choose(asked as Theme);
    onOutput({ theme: asked });
  });
  return null;
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

/** Does this once, also where React mounts twice. */
function useOnce(act: () => void): void {
  const done = useRef(false);
  useEffect(() => {
    if (done.current) return;
    done.current = true;
    act();
  });
}
