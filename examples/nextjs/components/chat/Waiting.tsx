/** Until the agent says the first thing. */
export function Waiting() {
  return (
    <p className="flex items-center gap-2.5 text-sm text-muted-foreground">
      <span className="flex gap-1" aria-hidden>
        {["", "[animation-delay:150ms]", "[animation-delay:300ms]"].map((delay) => (
          <span key={delay} className={`size-1.5 animate-pulse rounded-full bg-current ${delay}`} />
        ))}
      </span>
      Waiting for the agent
    </p>
  );
}
