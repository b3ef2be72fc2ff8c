import type { ReactNode } from "react";

const TONES = {
  quiet: "text-muted-foreground",
  good: "text-success",
  waiting: "text-warning",
  bad: "text-destructive",
};

export type Tone = keyof typeof TONES;

/** A short state label with an icon. */
export function Badge({ tone = "quiet", className = "", children }: { tone?: Tone; className?: string; children: ReactNode }) {
  return (
    <span className={`inline-flex items-center gap-1.5 text-xs whitespace-nowrap [&_svg]:size-3.5 ${TONES[tone]} ${className}`}>
      {children}
    </span>
  );
}
