// A headless browser for tests, over the DevTools protocol: it opens pages, types and clicks as a person does, and evaluates in the page.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import chromium from '@sparticuz/chromium';
import WebSocket from 'ws';
import { folderFor } from '../config/files.ts';
import { until } from '../support/until.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** The dynamic linker found a library missing: Debian has them in libnss3. */
const LIBRARIES_MISSING = 127;

/** Undefined where the machine lacks libraries of the browser. */
export async function openBrowser(context: TestContext): Promise<BrowserPage | undefined> {
  return (await openPages(context, 1))?.[0];
}

/**
 * Several pages of one browser.
 * @param context ends the browser
 * @param bind puts the command where it runs
 */
export async function openPages(
  context: Pick<TestContext, 'after'>,
  count: number,
  bind: (command: readonly string[]) => readonly string[] = (command) => command,
): Promise<readonly BrowserPage[] | undefined> {
  const folder = folderFor(context);
  const args = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--remote-debugging-port=0',
    '--lang=en-US',
    `--user-data-dir=${folder}`,
    'about:blank',
  ];
  const [command = '', ...bound] = bind([await chromium.executablePath(), ...args]);
  const browser = spawn(command, bound, {
    stdio: 'ignore',
    // The page asks for its language; that of a build machine may be none.
    env: { ...process.env, LANG: 'en_US.UTF-8', LC_ALL: 'en_US.UTF-8', LANGUAGE: 'en_US' },
  });
  const ended = Promise.withResolvers<number | null>();
  browser.once('exit', ended.resolve).once('error', () => ended.resolve(LIBRARIES_MISSING));
  context.after(async () => {
    browser.kill('SIGKILL');
    // Its folder is removed only when it no longer writes there.
    await ended.promise;
  });
  const port = await Promise.race([portOf(folder), ended.promise.then(() => undefined)]);
  if (port === undefined) {
    assert.equal(browser.exitCode, LIBRARIES_MISSING, 'the browser ended');
    return undefined;
  }
  const http = `http://127.0.0.1:${port}/json`;
  for (let i = 1; i < count; i++) await fetch(`${http}/new?about:blank`, { method: 'PUT' });
  const targets = (await (await fetch(`${http}/list`)).json()) as { type: string; webSocketDebuggerUrl: string }[];
  const pages = targets.filter(({ type }) => type === 'page');
  assert.equal(pages.length, count);
  return Promise.all(
    pages.map(async ({ webSocketDebuggerUrl }) => {
      const socket = new WebSocket(webSocketDebuggerUrl);
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      context.after(() => socket.terminate());
      const page = new BrowserPage(socket, browser);
      await Promise.all(['Page', 'Runtime', 'Log', 'Network'].map((domain) => page.send(`${domain}.enable`)));
      return page;
    }),
  );
}

/** The browser writes its port into its folder when it is ready. */
function portOf(folder: string): Promise<string> {
  return until(
    'the port of the browser',
    async () => (await readFile(join(folder, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')[0] || undefined,
    60_000,
  );
}

export class BrowserPage {
  readonly browser: ChildProcess;
  /** Errors of scripts, and what a policy refused. */
  readonly errors: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  #last = 0;

  constructor(socket: WebSocket, browser: ChildProcess) {
    this.#socket = socket;
    this.browser = browser;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Message));
  }

  send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#last += 1;
    const waiting = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#waiting.set(this.#last, waiting);
    this.#socket.send(JSON.stringify({ id: this.#last, method, params }));
    return waiting.promise;
  }

  async open(url: string): Promise<void> {
    await this.send('Page.navigate', { url });
    await this.until(`document.readyState === 'complete' && location.href !== 'about:blank'`);
  }

  /** The value of an expression in the page. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  async evaluate(expression: string): Promise<any> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { readonly value?: unknown }).value;
  }

  /** Waits until an expression is true in the page. */
  until(expression: string): Promise<unknown> {
    return until(expression, async () => (await this.evaluate(`Boolean(${expression})`).catch(() => false)) || undefined, 30_000);
  }

  /** Waits for a text in the page. */
  sees(text: string): Promise<unknown> {
    return this.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  }

  /** Presses a key: `Tab`, `Enter`, `Escape`, ` `. */
  async press(key: string): Promise<void> {
    const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined;
    const codes: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27, ' ': 32 };
    const event = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: codes[key] };
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event, ...(text && { text }) });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  type(text: string): Promise<unknown> {
    return this.send('Input.insertText', { text });
  }

  /** Tabs to the control with this text or label, as a person without a mouse does. */
  async tabTo(name: string): Promise<void> {
    for (let i = 0; i < 200; i++) {
      await this.press('Tab');
      const found = await this.evaluate(
        `(() => { const at = document.activeElement; const label = at?.labels?.[0]?.innerText ?? at?.innerText ?? ''; return label.trim().startsWith(${JSON.stringify(name)}); })()`,
      );
      if (found) return;
    }
    assert.fail(`no control '${name}' can be reached by Tab`);
  }

  async screenshot(): Promise<Buffer> {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  /** @param theme `light` or `dark` */
  async shape(width: number, height: number, theme: 'light' | 'dark' = 'light'): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }] });
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (id !== undefined) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result ?? {});
    } else if (method === 'Runtime.exceptionThrown') this.errors.push(JSON.stringify(params));
    else if (method === 'Log.entryAdded' && /security|violation/.test(JSON.stringify(params))) this.errors.push(JSON.stringify(params));
  }
}
