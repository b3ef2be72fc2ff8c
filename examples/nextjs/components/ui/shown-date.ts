/** Format a date and time in the user's language: `Nov 27, 2026, 6:42 PM`. */
export function shownDate(iso: string): string {
  return new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** Format a date for a narrow place: the time if it is today, else the day, and the year if it is another one. */
export function shortDate(iso: string): string {
  const [date, today] = [new Date(iso), new Date()];
  if (date.toDateString() === today.toDateString()) return date.toLocaleTimeString([], { timeStyle: "short" });
  const sameYear = date.getFullYear() === today.getFullYear();
  return date.toLocaleDateString([], sameYear ? { month: "short", day: "numeric" } : { dateStyle: "medium" });
}
