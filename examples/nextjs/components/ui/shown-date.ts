/** Format a date and time in the user's language: `Nov 27, 2026, 6:42 PM`. */
export function shownDate(iso: string): string {
  return new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
