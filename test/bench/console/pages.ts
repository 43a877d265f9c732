// Pages of the console in a real browser, for the bench.
import { openPages } from '../../console/browser.ts';
import type { BrowserPage } from '../../console/browser-page.ts';
import type { Stage } from '../stage.ts';

export interface OpenPages {
  readonly pages: readonly BrowserPage[];
  close(): Promise<void>;
}

/** @param cores the cores of the browser; by default all @throws Error if the machine lacks libraries of the browser */
export async function pagesOf(count: number, cores?: Stage['cores']): Promise<OpenPages> {
  const ends: (() => unknown)[] = [];
  const context = { after: (end?: unknown) => void (typeof end === 'function' && ends.push(end as () => unknown)) };
  const pages = await openPages(context, count, cores && ((command) => cores.pinned('load', command)));
  if (!pages) throw new Error('the browser lacks libraries: apt-get install libnss3');
  return {
    pages,
    async close() {
      for (const end of ends.toReversed()) await end();
    },
  };
}

/** Milliseconds from the navigation to the first paint with content, in a browser with an empty cache. */
export async function firstPaint(page: BrowserPage, url: string): Promise<number> {
  await page.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.send('Page.navigate', { url: 'about:blank' });
  await page.open(url);
  const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
  await page.until(paint);
  return Number(await page.evaluate(paint));
}
