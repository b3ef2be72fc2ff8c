import type { ChatMetadata } from "../chat/message-types";

/** Which model has answered, and what that has cost. */
export function Usage({ metadata }: { metadata: ChatMetadata | undefined }) {
  const { modelId, usage } = metadata ?? {};
  const counts = [
    counted(usage?.inputTokens, "tokens in"),
    counted(usage?.outputTokens, usage?.inputTokens ? "out" : "tokens out"),
    counted(usage?.outputTokenDetails?.reasoningTokens, "reasoning"),
  ];
  const facts = [modelId, ...counts].filter((fact) => fact !== undefined);
  if (facts.length === 0) return null;
  return (
    <p className="ms-1.5 min-w-0 truncate text-xs text-muted-foreground" data-usage title={facts.join(" · ")}>
      {facts.join(" · ")}
    </p>
  );
}

function counted(count: number | undefined, what: string): string | undefined {
  return count ? `${count.toLocaleString("en")} ${what}` : undefined;
}
