/**
 * Tells the host of a file that is neither in its message nor on this page's server, so that the page shows a link in its
 * place. A model may put what it knows into an address: nobody may hear of it before the user clicks.
 * Returns `undefined` for a file to show at once, and an empty text for a URL that no link should open.
 */
export function foreignHost(url: string): string | undefined {
  const here = window.location;
  if (!URL.canParse(url, here.href)) return "";
  const { host, origin, protocol } = new URL(url, here.href);
  if (origin === here.origin || ["blob:", "data:"].includes(protocol)) return undefined;
  return ["http:", "https:"].includes(protocol) ? host : "";
}
