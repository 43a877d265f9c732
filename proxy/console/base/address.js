// The address of the page. Its path selects the part of the console, and its query has the filters, so that an address can be kept and
// shared.
import { signal } from '@preact/signals';

const here = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });

/** @type {import('@preact/signals').Signal<{ path: string, query: Record<string, string> }>} */
export const address = signal(here());

addEventListener('popstate', () => {
  address.value = here();
});

/** @param {string} href */
function go(href) {
  history.pushState(null, '', href);
  address.value = here();
  document.getElementById('main')?.focus();
}

/** Changes filters of the address. An empty filter is left out. @param {Record<string, string | undefined>} changes */
export function filter(changes) {
  const { path, query } = address.value;
  const next = Object.entries({ ...query, ...changes }).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(/** @type {[string, string][]} */ (next)).toString();
  history.replaceState(null, '', text === '' ? path : `${path}?${text}`);
  address.value = here();
}

/**
 * Follows a link within the page. A click with a modifier key is left to the browser.
 * @param {MouseEvent & { currentTarget: EventTarget | null }} event
 */
export function follow(event) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  go(link.pathname + link.search);
}
