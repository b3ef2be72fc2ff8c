/** What this tab keeps until it is closed. A browser that stores nothing, or a server that draws the page, has none. */
export function tabStorage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
