import { Bot } from "lucide-react";

/** The name of an agent other than the root agent, above its parts. */
export function Speaker({ name }: { name: string }) {
  return (
    <p className="mb-1 flex items-center gap-1.5 text-xs font-medium text-muted-foreground" data-speaker>
      <Bot className="size-3.5" aria-hidden />
      <span dir="auto">{name}</span>
    </p>
  );
}
