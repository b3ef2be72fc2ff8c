import { useEffect, useRef, useState, useSyncExternalStore } from "react";

type Suggestions = { renderedContent?: string; webSearchQueries: string[] };

/** Google's search suggestions. Google requires to show its HTML unchanged, so it is in a frame without scripts. */
export default function SearchSuggestions({ data }: { data: unknown }) {
  const { renderedContent, webSearchQueries } = data as Suggestions;
  if (renderedContent === undefined) return <Queries queries={webSearchQueries} />;
  return <Frame html={renderedContent} />;
}

/** The search queries, if there is no HTML of Google. */
function Queries({ queries }: { queries: string[] }) {
  return (
    <p className="text-sm text-muted-foreground" data-search-queries>
      Searched for: {queries.map((query) => `“${query}”`).join(", ")}
    </p>
  );
}

/**
 * Permissions of the frame: no scripts. Links open in a new tab without these restrictions, and `allow-same-origin` lets
 * the page measure the content. The frame also inherits the content security policy of the page.
 */
const SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox";
const HEAD =
  "<!doctype html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">" +
  '<meta name="referrer" content="no-referrer"><base target="_blank">';

/**
 * Return the style sheets of the frame in the page's theme. A frame is transparent if its color scheme is that of the
 * page. Content without dark colors gets a white background.
 */
function themed(sheets: string[], chosen: string | undefined): string[] {
  if (!sheets.some((sheet) => DARK.test(sheet))) {
    return [":root{color-scheme:light;background:#fff}body{margin:0}", ...sheets];
  }
  const own = `:root{color-scheme:${chosen ?? "light dark"}}body{margin:0}`;
  if (chosen === undefined) return [own, ...sheets];
  // The media query reads the system's theme. Replace it by a constant condition for the user's theme.
  const asked = (_: string, scheme: string) => (scheme.toLowerCase() === chosen ? "(min-width: 0)" : "(max-width: 0)");
  return [own, ...sheets.map((sheet) => sheet.replace(/\(\s*prefers-color-scheme\s*:\s*(\w+)\s*\)/gi, asked))];
}

const DARK = /prefers-color-scheme\s*:\s*dark/i;

/** Height in pixels until the content is measured, about one row of suggestions. */
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
  useEffect(() => void paint(), [theme]); // eslint-disable-line react-hooks/exhaustive-deps -- `onLoad` paints new HTML
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

/** Set inline styles by script, because the inherited content security policy may forbid them in HTML. */
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
