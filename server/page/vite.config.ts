import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressed } from "./compressed.js";

/**
 * Of KaTeX's fonts those that a system lacks, and of the three formats the one that every browser takes: the others are
 * no part of the page.
 */
const lessFonts = {
  name: "less-fonts",
  enforce: "pre" as const,
  transform(css: string, id: string) {
    if (!id.endsWith("katex.min.css")) return undefined;
    return css
      .replace(/@font-face\{[^}]*KaTeX_(?:Fraktur|SansSerif|Typewriter)[^}]*\}/g, "")
      .replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, "");
  },
};

export default defineConfig({
  plugins: [lessFonts, react(), tailwindcss(), compressed],
  base: "./", // the page may be mounted below any path
  resolve: {
    preserveSymlinks: true, // `src/components` are those of examples/nextjs, with the packages of this folder
    alias: {
      // KaTeX's HTML becomes elements without the browser's own parser: that reports each style in it to the policy.
      "hast-util-from-html-isomorphic": "/node_modules/hast-util-from-html-isomorphic/lib/index.js",
      "react-style-singleton": "/src/adopted-styles.ts",
      "rehype-raw": "/src/no-raw-html.ts",
    },
  },
  build: {
    outDir: "../../stream_protocol/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    license: { fileName: "licenses.md" }, // of the packages in the bundle
  },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
});
