import { useEffect, useRef, useState, useSyncExternalStore } from "react";

type Suggestions = { renderedContent?: string; webSearchQueries: string[] };

/** Google's own, to be shown as it is: it is HTML of somebody else. So it has a frame, in which no script runs. */
export default function SearchSuggestions({ data }: { data: unknown }) {
  const { renderedContent, webSearchQueries } = data as Suggestions;
  if (renderedContent === undefined) return <Queries queries={webSearchQueries} />;
  return <Frame html={renderedContent} />;
}

/** Without Google's HTML there are only the words that it has searched for. */
function Queries({ queries }: { queries: string[] }) {
  return (
    <p className="text-sm text-muted-foreground" data-search-queries>
      Searched for: {queries.map((query) => `“${query}”`).join(", ")}
    </p>
  );
}

/**
 * What the frame may do: draw, and nothing else. It inherits the policy of the page besides. A link opens in a tab of
 * its own, which is not bound by the frame.
 */
const SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox";
const HEAD =
  "<!doctype html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">" +
  '<meta name="referrer" content="no-referrer"><base target="_blank">';

/**
 * Return the style sheets of the frame in the page's theme. A frame in the colours of the page is transparent. Content
 * without colours for the dark is made for white.
 */
function themed(sheets: string[], chosen: string | undefined): string[] {
  if (!sheets.some((sheet) => DARK.test(sheet))) {
    return [":root{color-scheme:light;background:#fff}body{margin:0}", ...sheets];
  }
  const own = `:root{color-scheme:${chosen ?? "light dark"}}body{margin:0}`;
  if (chosen === undefined) return [own, ...sheets];
  // The media query asks the system, and the reader has chosen another theme: a condition that holds, or never does.
  const asked = (_: string, scheme: string) => (scheme.toLowerCase() === chosen ? "(min-width: 0)" : "(max-width: 0)");
  return [own, ...sheets.map((sheet) => sheet.replace(/\(\s*prefers-color-scheme\s*:\s*(\w+)\s*\)/gi, asked))];
}

const DARK = /prefers-color-scheme\s*:\s*dark/i;

/** Pixels until the content has been measured, about one row of suggestions. */
const HEIGHT = 64;

function onTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

function Frame({ html }: { html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(HEIGHT);
  const theme = useSyncExternalStore(onTheme, () => document.documentElement.dataset["theme"]);
  const { content, sheets } = withoutStyles(html);
  const paint = () => frame.current && style(frame.current, themed(sheets, theme));
  useEffect(() => void paint(), [theme]);
  const onLoad = () => {
    if (frame.current === null) return;
    paint();
    const height = frame.current.contentDocument?.documentElement.getBoundingClientRect().height;
    if (height) setHeight(Math.ceil(height));
  };
  return (
    <iframe
      ref={frame}
      title="Google Search suggestions"
      className="w-full rounded-lg border-0"
      height={height}
      sandbox={SANDBOX}
      referrerPolicy="no-referrer"
      srcDoc={HEAD + content}
      onLoad={onLoad}
      data-search-suggestions
    />
  );
}

/** The policy of a page may forbid styles in HTML, and a frame inherits it. A script may set the same styles. */
function withoutStyles(html: string): { content: string; sheets: string[] } {
  const sheets: string[] = [];
  const content = html
    .replace(/<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi, (_, sheet: string) => {
      sheets.push(sheet);
      return "";
    })
    .replace(/(<[^>]*?\s)style(\s*=)/gi, "$1data-style$2");
  return { content, sheets };
}

function style(frame: HTMLIFrameElement, sheets: string[]): void {
  const inside = frame.contentWindow as (Window & typeof globalThis) | null;
  if (inside === null) return;
  const page = inside.document;
  page.adoptedStyleSheets = sheets.map((text) => {
    const sheet = new inside.CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
  for (const element of page.querySelectorAll<HTMLElement>("[data-style]")) element.style.cssText = element.dataset["style"] ?? "";
}
