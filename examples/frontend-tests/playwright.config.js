import { defineConfig } from '@playwright/test';

const { ADK_UI_STREAM = 'adk-ui-stream', CHROMIUM, REPLAY_PORT = '8123', PAGE_PORT = '5123' } = process.env;
const replayUrl = `http://127.0.0.1:${REPLAY_PORT}`;
const pageUrl = `http://127.0.0.1:${PAGE_PORT}`;

export default defineConfig({
  testDir: 'browser',
  outputDir: 'node_modules/.playwright',
  fullyParallel: true,
  workers: 2,
  metadata: { replayUrl },
  use: {
    baseURL: pageUrl,
    launchOptions: { executablePath: CHROMIUM, args: CHROMIUM ? ['--no-sandbox', '--disable-gpu'] : [] },
  },
  webServer: [
    {
      command: `${ADK_UI_STREAM} serve --replay recordings --pace held --no-page --port ${REPLAY_PORT}`,
      url: `${replayUrl}/healthz`,
    },
    {
      command: `npx vite --host 127.0.0.1 --strictPort --port ${PAGE_PORT}`,
      url: pageUrl,
      env: { REPLAY_URL: replayUrl },
    },
  ],
});
