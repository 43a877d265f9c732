// A headless browser for tests over the DevTools protocol: each process has one, and each page of a test has its own context.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { chromiumPath } from '../support/chromium.ts';
import { until } from '../support/until.ts';
import { BrowserPage } from './browser-page.ts';
import { DevTools } from './dev-tools.ts';

/** The exit code if the dynamic linker lacks a library; on Debian it is in libnss3. */
const LIBRARIES_MISSING = 127;

const START_MS = 60_000;

/**
 * A shell command that ends the browser and removes its folder when its input ends, which happens when the process that started it ends.
 */
const KEEPER = 'cat >/dev/null; kill -KILL $1 2>/dev/null; while ! rm -rf "$0"; do sleep 0.1; done';

type Ending = Pick<TestContext, 'after'>;

/** Binds a command to the cores where it runs. */
type Bind = (command: readonly string[]) => readonly string[];

class Browser {
  readonly #process: ChildProcess;
  readonly #address: string;
  readonly #path: string;

  private constructor(process: ChildProcess, port: string, path: string) {
    this.#process = process;
    this.#address = `ws://127.0.0.1:${port}`;
    this.#path = path;
  }

  /** Starts a browser; undefined if the machine lacks libraries of the browser. */
  static async start(bind: Bind = (command) => command): Promise<Browser | undefined> {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-browser-'));
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
    const [command = '', ...bound] = bind([await chromiumPath(), ...args]);
    const browser = spawn(command, bound, {
      stdio: 'ignore',
      // The page reads the language of the environment, which may have none on a build machine.
      env: { ...process.env, LANG: 'en_US.UTF-8', LC_ALL: 'en_US.UTF-8', LANGUAGE: 'en_US' },
    });
    browser.unref();
    const keeper = spawn('sh', ['-c', KEEPER, folder, `${browser.pid}`], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    keeper.unref();
    (keeper.stdin as unknown as { unref(): void }).unref();
    // The browser writes its port and its path into its folder when it is ready.
    const found = await until(
      'the port of the browser',
      async () => {
        if (browser.exitCode !== null) return 'ended';
        return /^(\d+)\n(\S+)/.exec(await readFile(join(folder, 'DevToolsActivePort'), 'utf8').catch(() => '')) ?? undefined;
      },
      START_MS,
    );
    if (found !== 'ended') return new Browser(browser, found[1] as string, found[2] as string);
    assert.equal(browser.exitCode, LIBRARIES_MISSING, 'the browser ended');
    return undefined;
  }

  /** Opens a page with its own cookies, storage and cache. */
  async page(ending: Ending): Promise<BrowserPage> {
    const tools = await DevTools.at(this.#address + this.#path);
    const { browserContextId } = await tools.send('Target.createBrowserContext', { disposeOnDetach: true });
    const { targetId } = await tools.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const page = await BrowserPage.at(`${this.#address}/devtools/page/${targetId}`);
    ending.after(() => {
      page.end();
      tools.end();
    });
    return page;
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.ref();
    this.#process.kill('SIGKILL');
    await exit;
  }
}

let shared: Promise<Browser | undefined> | undefined;

/**
 * Opens a page in the browser of this test process, which ends with the process. Undefined if the machine lacks libraries of the browser.
 */
export async function openPage(context: Ending): Promise<BrowserPage | undefined> {
  shared ??= Browser.start();
  return (await shared)?.page(context);
}

/** Opens several pages in a separate browser. Undefined if the machine lacks libraries of the browser. @param ending ends the browser */
export async function openPages(ending: Ending, count: number, bind?: Bind): Promise<readonly BrowserPage[] | undefined> {
  const browser = await Browser.start(bind);
  if (!browser) return undefined;
  ending.after(() => browser.end());
  return Promise.all(Array.from({ length: count }, () => browser.page(ending)));
}
