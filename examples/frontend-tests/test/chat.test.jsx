import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Chat } from '../src/Chat';
import payment from '../streams/payment.sse?raw';
import weather from '../streams/weather.sse?raw';

const API = 'http://localhost/api/chat';
const server = setupServer();

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
afterEach(() => {
  cleanup();
  server.resetHandlers();
});
afterAll(() => server.close());

/** Answers with the responses that `adk-ui-stream replay` printed, one a request, and keeps what was asked. */
function replay(printed) {
  const responses = printed.split(/(?<=data: \[DONE\]\n\n)/);
  const requests = [];
  server.use(
    http.post(API, async ({ request }) => {
      requests.push(await request.json());
      const response = responses.shift();
      if (response === undefined) return new HttpResponse('One request too many.', { status: 409 });
      return new HttpResponse(response, { headers: { 'content-type': 'text/event-stream' } });
    }),
  );
  return requests;
}

function say(text) {
  fireEvent.change(screen.getByLabelText('Message'), { target: { value: text } });
  fireEvent.submit(screen.getByLabelText('Message').form);
}

test('a call shows its arguments and its output', async () => {
  replay(weather);
  render(<Chat id="weather" api={API} />);
  say('weather?');
  expect((await screen.findByText('{"city":"Bordeaux","celsius":21}')).tagName).toBe('SAMP');
  expect(screen.getByText('{"city":"Bordeaux"}').tagName).toBe('PRE');
});

test('an approval is sent once, and the same message goes on', async () => {
  const requests = replay(payment);
  render(<Chat id="payment" api={API} />);
  say('pay 5');
  fireEvent.click(await screen.findByRole('button', { name: 'Approve' }));
  expect((await screen.findByText(/paid/, { selector: 'samp' })).tagName).toBe('SAMP');
  expect(screen.getAllByLabelText('assistant')).toHaveLength(1);
  expect(requests).toHaveLength(2);
});

test('a refused request is told', async () => {
  server.use(http.post(API, () => new HttpResponse('Sign in first.', { status: 401 })));
  render(<Chat id="any" api={API} />);
  say('weather?');
  expect((await screen.findByRole('alert')).textContent).toBe('Sign in first.');
});
