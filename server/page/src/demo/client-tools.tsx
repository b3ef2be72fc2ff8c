import { useState } from "react";
import type { ClientToolProps } from "../components/chat/host";
import { type Theme, THEMES, useTheme } from "../components/layout/theme";
import { AtOnce } from "../components/tools/ClientTool";
import { Pending } from "../components/tools/Pending";
import { Button } from "../components/ui/button";

/** Responds without asking the user. */
function TimeZone({ id, onOutput }: ClientToolProps) {
  const answer = () => {
    const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
    onOutput({ timeZone, locale });
  };
  return <AtOnce id={id} act={answer} />;
}

/** Runs without asking the user, who can change the theme at any time. */
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

/** Runs when the user allows it. Then the browser asks for its own permission. */
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

/** The tools of `adk-ui-stream demo` that run in the browser, by the names that the agent calls. */
export const CLIENT_TOOLS = { get_time_zone: TimeZone, set_theme: ThemeSwitch, get_location: Location };
