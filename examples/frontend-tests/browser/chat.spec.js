import { expect, test } from '@playwright/test';

/** A chat of its own for the test, `weather--<id>`, which plays the recording; `step` lets its chunks go. */
async function openChat(page, info, recording) {
  const chat = `${recording}--${info.testId}-${info.retry}`;
  await page.goto(`/#${chat}`);
  return async what => {
    const response = await page.request.post(`${info.config.metadata.replayUrl}/__replay/${chat}/step`, { params: what });
    expect(response.ok(), await response.text()).toBe(true);
  };
}

async function say(page, text) {
  await page.getByLabel('Message').fill(text);
  await page.getByLabel('Message').press('Enter');
}

test('half an argument is on the page for as long as the stream is held there', async ({ page }, info) => {
  const step = await openChat(page, info, 'weather');
  await say(page, 'weather?');
  await expect(page.getByRole('status')).toHaveText('submitted');
  await step({ to: 'tool-input-delta' });
  const call = page.getByRole('region', { name: 'tool-get_weather' });
  await expect(call).toHaveAttribute('data-state', 'input-streaming');
  await expect(call).toContainText('{"city":"Bor"}');
  await step({ to: 'tool-input-available' });
  await expect(call).toContainText('{"city":"Bordeaux"}');
  await expect(page.getByRole('status')).toHaveText('streaming');
  await step({ all: true });
  await expect(call).toContainText('"celsius":21');
  await expect(page.getByRole('status')).toHaveText('ready');
});

test('a payment is made once it is approved', async ({ page }, info) => {
  const step = await openChat(page, info, 'payment');
  await say(page, 'pay 5');
  await step({ all: true });
  await page.getByRole('button', { name: 'Approve' }).click();
  await step({ to: 'tool-output-available' });
  await expect(page.getByRole('region', { name: 'tool-pay' })).toContainText('{"paid":5}');
  await step({ all: true });
  await expect(page.getByRole('status')).toHaveText('ready');
  await expect(page.getByRole('article', { name: 'assistant' })).toHaveCount(1);
});

test('what was not recorded is refused, and the page says where it differs', async ({ page }, info) => {
  await openChat(page, info, 'payment');
  await say(page, 'pay 6');
  await expect(page.getByRole('alert')).toContainText('recorded "pay 5", received "pay 6"');
});
