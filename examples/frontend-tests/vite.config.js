import { defineConfig } from 'vitest/config';

const backend = process.env.REPLAY_URL;

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic' } },
  server: { proxy: backend ? { '/api': backend } : {} },
  test: { environment: 'jsdom', include: ['test/**/*.test.jsx'] },
});
