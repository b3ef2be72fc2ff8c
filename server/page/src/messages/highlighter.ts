import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import type { CodeHighlighterPlugin } from "streamdown";

/** The languages that are coloured, each with its other names. They are loaded with the first block of code. */
const LANGUAGES: Record<string, string> = {
  bash: "bash", sh: "bash", shell: "bash", console: "bash",
  diff: "diff",
  json: "json",
  python: "python", py: "python",
  sql: "sql",
  tsx: "tsx", jsx: "tsx", typescript: "tsx", ts: "tsx", javascript: "tsx", js: "tsx",
  yaml: "yaml", yml: "yaml",
};

/** Its colours are the page's: `--code-token-…` of the theme, light and dark. */
const THEME = createCssVariablesTheme({ name: "page", variablePrefix: "--code-", fontStyle: true });


let highlighter: HighlighterCore | undefined;
let loading: Promise<HighlighterCore> | undefined;

/** With an engine that is no WebAssembly: the page's policy forbids that. */
function load(): Promise<HighlighterCore> {
  return createHighlighterCore({
    engine: createJavaScriptRegexEngine(),
    themes: [THEME],
    langs: [
      import("shiki/langs/bash.mjs"),
      import("shiki/langs/diff.mjs"),
      import("shiki/langs/json.mjs"),
      import("shiki/langs/python.mjs"),
      import("shiki/langs/sql.mjs"),
      import("shiki/langs/tsx.mjs"),
      import("shiki/langs/yaml.mjs"),
    ],
  });
}

function tokens(from: HighlighterCore, code: string, language: string) {
  return from.codeToTokens(code, { lang: LANGUAGES[language] ?? "text", theme: "page" });
}

/** Streamdown's own has every language there is. */
export const code: CodeHighlighterPlugin = {
  name: "shiki",
  type: "code-highlighter",
  getSupportedLanguages: () => Object.keys(LANGUAGES),
  supportsLanguage: (language) => language in LANGUAGES,
  getThemes: () => ["page", "page"],
  highlight({ code, language }, callback) {
    if (highlighter) return tokens(highlighter, code, language);
    loading ??= load();
    void loading.then((loaded) => {
      highlighter = loaded;
      callback?.(tokens(loaded, code, language));
    });
    return null;
  },
};
