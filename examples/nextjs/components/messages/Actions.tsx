import { Check, Copy } from "lucide-react";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { IconButton } from "../ui/icon-button";
import { later } from "../ui/later";
import type { MessageProps } from "./Message";

const Arrows = later(() => import("./Versions"), () => null);

/** Arrows to select a version of a message. */
export function Versions({ versions, busy, onChoose }: Pick<MessageProps, "versions" | "busy" | "onChoose">) {
  if (versions === undefined || onChoose === undefined) return null;
  return <Arrows of={versions} busy={busy} onChoose={(version) => void onChoose(version)} />;
}

/** Buttons that show on hover and focus. They always show on touch screens, and if the message has several versions. */
export function Actions({ children }: { children: ReactNode }) {
  return (
    <div className="message-actions -mx-1.5 -my-1 flex min-h-7 items-center gap-0.5 transition-opacity pointer-coarse:-mx-3.5 pointer-coarse:-my-2 pointer-coarse:gap-0">
      {children}
    </div>
  );
}

/** Copy button. Browsers offer the clipboard only in secure contexts. */
function useClipboard(): boolean {
  return useSyncExternalStore(() => () => undefined, () => navigator.clipboard !== undefined, () => true);
}

export function CopyText({ text }: { text: string }) {
  const copies = useClipboard();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  if (text === "" || !copies) return null;
  return (
    <IconButton label={copied ? "Copied" : "Copy"} size="small icon" onClick={() => void copy()}>
      {copied ? <Check /> : <Copy />}
    </IconButton>
  );
}
