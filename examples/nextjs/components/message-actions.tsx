import { Check, Copy, Pencil, RefreshCw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type ChatMessage, textOf } from "@/lib/chat-message";
import { Button } from "./button";

export function UserActions({ message, onEdit }: { message: ChatMessage; onEdit: () => void }) {
  return (
    <Actions>
      <CopyText text={textOf(message)} />
      <Button look="ghost" size="small" aria-label="Edit" onClick={onEdit}>
        <Pencil />
      </Button>
    </Actions>
  );
}

export function AgentActions({ message, onRegenerate }: { message: ChatMessage; onRegenerate: () => void }) {
  const { modelId, usage } = message.metadata ?? {};
  const tokens = usage && `${usage.inputTokens ?? 0} tokens in, ${usage.outputTokens ?? 0} out`;
  return (
    <Actions>
      <CopyText text={textOf(message)} />
      <Button look="ghost" size="small" aria-label="Regenerate" onClick={onRegenerate}>
        <RefreshCw />
      </Button>
      <small className="text-xs text-muted-foreground">{[modelId, tokens].filter(Boolean).join(" · ")}</small>
    </Actions>
  );
}

/** Seen when the pointer or the focus is on the message; always where there is no pointer. */
function Actions({ children }: { children: ReactNode }) {
  return (
    <div className="flex items-center gap-1 transition-opacity pointer-fine:opacity-0 pointer-fine:group-focus-within:opacity-100 pointer-fine:group-hover:opacity-100">
      {children}
    </div>
  );
}

function CopyText({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  if (text === "") return null;
  return (
    <Button look="ghost" size="small" aria-label={copied ? "Copied" : "Copy"} onClick={() => void copy()}>
      {copied ? <Check /> : <Copy />}
    </Button>
  );
}
