/** The logo: text that arrives in a speech bubble. The tab's icon is the same drawing. */
export function Mark({ className = "size-5" }: { className?: string }) {
  return (
    <svg viewBox="0 0 24 24" className={`shrink-0 ${className}`} aria-hidden>
      <path
        className="fill-primary"
        d="M6 2h12a4 4 0 0 1 4 4v8a4 4 0 0 1-4 4h-6.5L7 22v-4H6a4 4 0 0 1-4-4V6a4 4 0 0 1 4-4z"
      />
      <path className="stroke-primary-foreground" strokeWidth="2" strokeLinecap="round" d="M7 8h10M7 12.5h5" />
      <circle className="fill-primary-foreground" cx="16" cy="12.5" r="1.5" />
    </svg>
  );
}
