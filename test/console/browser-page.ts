// A page of a browser for tests: a test opens it, types and clicks like a person, and evaluates expressions.
import assert from 'node:assert/strict';
import { PATIENCE_MS, until } from '../support/until.ts';
import { DevTools } from './dev-tools.ts';

/** The interval between two looks at a page, because each look lays the page out. */
const LOOK_MS = 40;

export class BrowserPage {
  /** Errors of scripts, and requests that a policy blocked. */
  readonly errors: readonly string[];
  readonly #tools: DevTools;

  private constructor(tools: DevTools, errors: readonly string[]) {
    this.#tools = tools;
    this.errors = errors;
  }

  /** @param url of the page, in the DevTools protocol */
  static async at(url: string): Promise<BrowserPage> {
    const errors: string[] = [];
    const tools = await DevTools.at(url, (method, params) => {
      const text = JSON.stringify(params);
      if (method === 'Runtime.exceptionThrown' || (method === 'Log.entryAdded' && /security|violation/.test(text))) errors.push(text);
    });
    await Promise.all(['Page', 'Runtime', 'Log', 'Network'].map((domain) => tools.send(`${domain}.enable`)));
    return new BrowserPage(tools, errors);
  }

  send(method: string, params: object = {}): ReturnType<DevTools['send']> {
    return this.#tools.send(method, params);
  }

  end(): void {
    this.#tools.end();
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
    return until(
      expression,
      async () => (await this.evaluate(`Boolean(${expression})`).catch(() => false)) || undefined,
      PATIENCE_MS,
      LOOK_MS,
    );
  }

  /** Waits until the page shows a text. */
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

  /** Presses Tab until the control with this text or label has the focus, like a person without a mouse. */
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
}
