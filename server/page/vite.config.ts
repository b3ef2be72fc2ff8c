import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  base: "./", // the page may be mounted below any path
  build: {
    outDir: "../../stream_protocol/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000, // one chunk: the page is served by its own machine
    license: { fileName: "licenses.md" }, // of the packages in the bundle
  },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
});
