import type { ChatMetadata } from "../chat/message-types";

/** The model of a reply, and the tokens that it used. Shows when the row of buttons has the pointer or the focus. */
export function Usage({ metadata }: { metadata: ChatMetadata | undefined }) {
  const { modelId, usage } = metadata ?? {};
  const counts = [
    counted(usage?.inputTokens, "tokens in"),
    counted(usage?.outputTokens, usage?.inputTokens ? "out" : "tokens out"),
    counted(usage?.outputTokenDetails?.reasoningTokens, "reasoning"),
  ];
  const facts = counts.filter((count) => count !== undefined).join(" · ");
  if (modelId === undefined && facts === "") return null;
  const model = modelId !== undefined && facts !== "" ? `${modelId} · ` : modelId;
  return (
    <p className="message-usage mx-1.5 min-w-0 flex-1 text-xs max-sm:text-balance sm:truncate text-muted-foreground pointer-coarse:hidden" data-usage title={`${model ?? ""}${facts}`}>
      <span className={facts === "" ? "" : "max-sm:hidden"}>{model}</span>
      {facts}
    </p>
  );
}

function counted(count: number | undefined, what: string): string | undefined {
  return count ? `${count.toLocaleString("en")} ${count === 1 ? what.replace("tokens", "token") : what}` : undefined;
}
