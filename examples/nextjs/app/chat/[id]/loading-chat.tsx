/** Placeholder for a chat that is still loading. A short wait shows nothing. */
export function LoadingChat() {
  return (
    <main aria-busy className="mx-auto w-full max-w-3xl flex-1 px-4 py-6">
      <div role="status" className="waiting flex flex-col gap-6">
        <span className="sr-only">Loading the chat…</span>
        <div className="h-11 w-2/5 animate-pulse self-end rounded-2xl bg-muted" />
        {["w-11/12", "w-4/5", "w-3/5"].map((width) => (
          <div key={width} className={`h-4 animate-pulse rounded bg-muted ${width}`} />
        ))}
      </div>
    </main>
  );
}
