/** A Chromium that the machine has, driven by the DevTools protocol. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const chromium = places.find((place) => existsSync(place));
const loadMilliseconds = 30_000;

interface Message {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

export interface Page {
  send(method: string, parameters?: object): Promise<unknown>;
  /** The value of an expression of the page's script; waits for promises. */
  evaluate(expression: string): Promise<unknown>;
  /** Opens an address, and waits until `expression` is true there. */
  open(url: string, expression?: string): Promise<void>;
  waitFor(expression: string): Promise<void>;
  close(): Promise<void>;
}

export async function openPage(program: string): Promise<Page> {
  const profile = await mkdtemp(join(tmpdir(), 'headgate-chromium-'));
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-dev-shm-usage',
  ];
  const browser = spawn(
    program,
    [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const socket = new WebSocket(await findPage(browser));
  await once(socket, 'open');
  const waiting = new Map<number, (message: Message) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  let last = 0;

  async function send(method: string, params: object = {}): Promise<unknown> {
    last += 1;
    const id = last;
    const { promise, resolve } = Promise.withResolvers<Message>();
    waiting.set(id, resolve);
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await promise;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async function evaluate(expression: string): Promise<unknown> {
    const parameters = { expression, awaitPromise: true, returnByValue: true };
    const { result } = (await send('Runtime.evaluate', parameters)) as { result: { value?: unknown } };
    return result.value;
  }

  async function waitFor(expression: string): Promise<void> {
    const until = Date.now() + loadMilliseconds;
    while ((await evaluate(expression).catch(() => false)) !== true) {
      if (Date.now() > until)
        throw new Error(`not in time: ${expression}: ${await evaluate('document.body.innerText')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  return {
    send,
    evaluate,
    waitFor,
    async open(url, expression = 'true') {
      await send('Page.navigate', { url });
      await waitFor(`document.readyState === 'complete' && ${expression}`);
    },
    async close() {
      socket.close();
      const ended = once(browser, 'exit');
      browser.kill();
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The address of the DevTools of its first page. */
async function findPage(browser: ChildProcess): Promise<string> {
  if (browser.stderr === null) throw new Error('Chromium has no output.');
  for await (const line of createInterface(browser.stderr)) {
    const found = /^DevTools listening on ws:\/\/([\d.:]+)\//.exec(line);
    if (found === null) continue;
    browser.stderr.resume();
    const targets = (await (await fetch(`http://${found[1]}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    const page = targets.find(({ type }) => type === 'page');
    if (page !== undefined) return page.webSocketDebuggerUrl;
  }
  throw new Error('Chromium did not start.');
}
