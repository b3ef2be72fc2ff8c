/** The tab's `sessionStorage`. `undefined` if the browser blocks storage, and during server rendering. */
export function tabStorage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
