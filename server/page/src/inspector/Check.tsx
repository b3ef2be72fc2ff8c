import { CircleCheck, CircleX, TriangleAlert } from "lucide-react";
import { Badge } from "../components/ui/badge";
import { Button } from "../components/ui/button";
import type { Finding, Findings } from "./inspector-api";

type CheckProps = Findings & { onShow: (number: number) => void };

/** What `adk-ui-stream check` finds in what was sent. */
export function Check({ findings, unchecked = 0, onShow }: CheckProps) {
  return (
    <>
      {findings.length === 0 && (
        <Badge tone="good" className="text-sm">
          <CircleCheck aria-hidden /> Nothing is wrong with the stream.
        </Badge>
      )}
      {unchecked > 0 && (
        <p className="text-sm text-muted-foreground">
          Not checked: {unchecked} {unchecked === 1 ? "response" : "responses"} to a message whose beginning is not kept.
        </p>
      )}
      <ul className="flex flex-col gap-3">
        {findings.map((finding, index) => (
          <Found key={index} finding={finding} onShow={onShow} />
        ))}
      </ul>
    </>
  );
}

function Found({ finding, onShow }: { finding: Finding; onShow: (number: number) => void }) {
  const { severity, rule, text, effect, chunk, line, versions, number } = finding;
  const bad = severity === "error";
  return (
    <li className="flex flex-col gap-1 rounded-lg border p-3 text-sm">
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={bad ? "bad" : "waiting"}>
          {bad ? <CircleX aria-hidden /> : <TriangleAlert aria-hidden />} {severity}
        </Badge>
        <code className="text-xs">{rule}</code>
        <span className="text-xs text-muted-foreground">
          chunk {chunk}
          {line !== undefined && `, line ${line}`}, {versions.map((version) => `v${version}`).join(" and ")}
        </span>
        {number !== undefined && (
          <Button look="ghost" size="small" className="ms-auto" onClick={() => onShow(number)}>
            Show
          </Button>
        )}
      </span>
      <span className="wrap-anywhere">{text}</span>
      <span className="text-xs text-muted-foreground">{effect}</span>
    </li>
  );
}
