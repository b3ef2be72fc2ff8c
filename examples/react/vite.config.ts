import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page and the agent's server have one origin: no CORS, and cookies reach both. `vite preview` does the same. */
const proxy = { "/api": process.env.AGENT_URL ?? "http://127.0.0.1:8000" };

export default defineConfig({ plugins: [react()], server: { proxy } });
