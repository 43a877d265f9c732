// What tests of pages have in common: a browser or the reason why there is none, and what axe-core finds in a page.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import { openPage } from './browser.ts';
import type { BrowserPage } from './browser-page.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Skips the test where the machine lacks libraries of the browser. */
export async function browserFor(context: TestContext): Promise<BrowserPage | undefined> {
  const page = await openPage(context);
  if (!page) context.skip('the browser needs libnss3');
  return page;
}

/** What axe-core finds in the page. */
export async function violations(page: BrowserPage): Promise<readonly string[]> {
  await page.send('Page.setBypassCSP', { enabled: true });
  await page.evaluate(`${AXE}; undefined`);
  return page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  );
}

/** Presses the button with this text: of the open dialog, else of the part, else of the frame. Waits until it is there and can be pressed. */
export async function pressed(page: BrowserPage, text: string): Promise<void> {
  const button = `['dialog[open] button', 'main button', 'button'].flatMap((where) => [...document.querySelectorAll(where)]).find(({ innerText, disabled }) => !disabled && innerText.trim() === ${JSON.stringify(text)})`;
  await page.until(button);
  await page.evaluate(`${button}.click()`);
}

/** Chooses a value of a select, or writes it into a field, as a person does. */
export const filled = (page: BrowserPage, selector: string, value: string): Promise<unknown> =>
  page.evaluate(
    `(() => { const at = document.querySelector(${JSON.stringify(selector)}); at.value = ${JSON.stringify(value)}; at.dispatchEvent(new Event('input', { bubbles: true })); at.dispatchEvent(new Event('change', { bubbles: true })); })()`,
  );
