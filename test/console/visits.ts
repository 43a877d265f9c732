// Shared by the tests of pages: a browser or the reason for its absence, and the findings of axe-core.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import { openPage } from './browser.ts';
import type { BrowserPage } from './browser-page.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Opens a page; skips the test if the machine lacks libraries of the browser. */
export async function browserFor(context: TestContext): Promise<BrowserPage | undefined> {
  const page = await openPage(context);
  if (!page) context.skip('the browser needs libnss3');
  return page;
}

/** The findings of axe-core in the page. */
export async function violations(page: BrowserPage): Promise<readonly string[]> {
  await page.send('Page.setBypassCSP', { enabled: true });
  await page.evaluate(`${AXE}; undefined`);
  return page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  );
}

/** Waits for the button with this text, first in the open dialog, then in the part, then in the frame, and presses it. */
export async function pressed(page: BrowserPage, text: string): Promise<void> {
  const button = `['dialog[open] button', 'main button', 'button'].flatMap((where) => [...document.querySelectorAll(where)]).find(({ innerText, disabled }) => !disabled && innerText.trim() === ${JSON.stringify(text)})`;
  await page.until(button);
  await page.evaluate(`${button}.click()`);
}

/** Chooses a value of a select, or types it into a field, like a person. */
export const filled = (page: BrowserPage, selector: string, value: string): Promise<unknown> =>
  page.evaluate(
    `(() => { const at = document.querySelector(${JSON.stringify(selector)}); at.value = ${JSON.stringify(value)}; at.dispatchEvent(new Event('input', { bubbles: true })); at.dispatchEvent(new Event('change', { bubbles: true })); })()`,
  );
