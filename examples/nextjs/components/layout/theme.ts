import { useEffect } from "react";
import { readSetting, useSetting } from "./setting";

export const THEMES = { light: "Light", dark: "Dark", system: "System" };
export type Theme = keyof typeof THEMES;

/** Set `data-theme` to the chosen theme, as `theme.js` does at the start. The style sheet reads it. */
function applyTheme(): void {
  const chosen = readSetting("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
  else delete document.documentElement.dataset["theme"];
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, choose] = useSetting("theme", "system");
  useEffect(applyTheme, [theme]);
  return [theme in THEMES ? (theme as Theme) : "system", choose];
}
