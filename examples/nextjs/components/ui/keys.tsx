const APPLE = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.userAgent);

/** Keys as the user's system names them. In `Mod+K`, `Mod` is ⌘ or Ctrl. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="inline-flex gap-0.5" dir="ltr">
      {keys.split("+").map((key) => (
        <kbd key={key} className="rounded border border-current/30 px-1 font-sans text-[0.6875rem] leading-4">
          {key === "Mod" ? (APPLE ? "⌘" : "Ctrl") : key}
        </kbd>
      ))}
    </span>
  );
}
