// The page for holders of keys. It asks for a key, keeps it only in a variable, and shows what the gateway answers.
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, dollars, time } from '../base/format.js';
import { html } from '../base/html.js';
import { Days, lastDays } from '../parts/days.js';
import { LimitBars } from '../parts/limit-bars.js';
import { Clients } from './clients.js';

const TIMEOUT_MS = 30_000;
const DAYS = 28;
/** The interval of updates while the page is visible. */
const REFRESH_MS = 60_000;

/**
 * @param {string} path
 * @param {string} key
 * @returns {Promise<any>}
 */
async function ask(path, key) {
  // A header can contain only printable characters.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error('A key has letters, digits and signs, without blanks.');
  let response;
  try {
    response = await fetch(path, {
      headers: { authorization: `Bearer ${key}` },
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new Error('The gateway does not answer; try again.');
  }
  const reply = await response.json().catch(() => undefined);
  if (response.ok && reply !== undefined) return reply;
  if (reply?.error?.code === 'invalid_api_key') throw new Error('The gateway has no such key.');
  throw new Error(reply?.error?.message ?? `The gateway answered ${response.status}.`);
}

/** @typedef {{ usage: any, models: readonly string[], at: number }} Read */

/** @param {string} key @param {Read} [before] the models of the key change seldom @returns {Promise<Read>} */
async function read(key, before) {
  const usage = await ask('/v1/usage?by=day', key);
  return { usage, models: before?.models ?? (await modelsOf(key)), at: Date.now() };
}

/** @param {string} key @returns {Promise<readonly string[]>} */
async function modelsOf(key) {
  // The usage is shown even if the route of the list of models is not served.
  const { data } = await ask('/v1/models', key).catch(() => ({ data: [] }));
  return data.map((/** @type {{ id: string }} */ { id }) => id);
}

function Page() {
  const key = useRef('');
  const [shown, setShown] = useState(/** @type {Read | undefined} */ (undefined));
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);
  const load = async () => {
    const asked = key.current;
    setBusy(true);
    setFailure('');
    try {
      const next = await read(asked, shown);
      // The key may have been removed since the last answer.
      if (asked === key.current) setShown(next);
    } catch (error) {
      if (asked === key.current) setFailure(error instanceof Error ? error.message : 'It failed.');
    }
    setBusy(false);
  };
  useEffect(() => {
    if (!shown) return undefined;
    const again = () => {
      if (document.visibilityState === 'visible' && key.current !== '' && Date.now() - shown.at >= REFRESH_MS) void load();
    };
    const timer = setInterval(again, REFRESH_MS);
    // An update that became due while the page was hidden is made at once.
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [shown]);
  const forget = () => {
    key.current = '';
    setShown(undefined);
    setFailure('');
  };
  if (!shown) {
    return html`<main class="centre">
      <form class="card" onSubmit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        key.current = String(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)).get('key') ?? '').trim();
        void load();
      }}>
        <h1>Usage of your key</h1>
        <label for="key">Key</label>
        <input id="key" name="key" type="password" autocomplete="off" spellcheck=${false} required autofocus aria-describedby="key-hint" />
        <p id="key-hint" class="hint">It stays in this page until you close it, and goes to this gateway alone.</p>
        ${failure !== '' && html`<p role="alert" class="bad">${failure}</p>`}
        <button type="submit" class="primary" disabled=${isBusy}>${isBusy ? 'Asking …' : 'Show usage'}</button>
      </form>
    </main>`;
  }
  return html`
    <header class="bar">
      <strong class="brand">poolgate</strong><span class="hint">as of ${time(shown.at, { seconds: true })}</span>
      <div class="tools">
        <button type="button" disabled=${isBusy} onClick=${load}>${isBusy ? 'Asking …' : 'Refresh'}</button>
        <button type="button" onClick=${forget}>Forget the key</button>
      </div>
    </header>
    <${Shown} shown=${shown} failure=${failure} />
  `;
}

/** @param {{ shown: Read, failure: string }} props */
function Shown({ shown: { usage, models, at }, failure }) {
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  // The focus moves here, because the form that had it is gone.
  useEffect(() => main.current?.focus({ preventScroll: true }), []);
  const limits = usage.limits.map((/** @type {any} */ one) => ({
    type: one.limit_type,
    window: one.limit_window,
    max: one.max_value,
    current: one.current_value,
    resetsAt: one.reset_at === null ? null : one.reset_at * 1_000,
  }));
  const [by, setBy] = useState('request_count');
  const days = new Map(usage.days.map((/** @type {any} */ row) => [row.day, row[by]]));
  return html`<main ref=${main} tabindex="-1">
    <h1>Usage of your key</h1>
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    <div class="cards">
      <article class="card"><h2>Limits</h2><${LimitBars} id="your key" limits=${limits} now=${at} /></article>
      <${Sums} title="Your key, 28 days" sums=${usage} />
      <${Sums} title="Its whole Pool, 28 days" sums=${usage.pool} />
    </div>
    <section>
      <h2>By day</h2>
      <div class="filters"><label>Amount <select value=${by} onChange=${(/** @type {any} */ event) => setBy(event.currentTarget.value)}>
        <option value="request_count">Requests</option>
        <option value="total_tokens">Tokens</option>
        <option value="total_cost_usd">Cost</option>
      </select></label></div>
      <div class="card"><${Days} label=${LABELS[by] ?? ''} days=${lastDays(days, DAYS, at)} shown=${by === 'total_cost_usd' ? dollars : count} /></div>
      <p class="hint">Days of UTC; a request counts when it has ended.</p>
    </section>
    <${Clients} models=${models} />
  </main>`;
}

/** @type {Readonly<Record<string, string>>} */
const LABELS = { request_count: 'Requests by day', total_tokens: 'Tokens by day', total_cost_usd: 'Cost by day' };

/** @param {{ title: string, sums: any }} props */
const Sums = ({ title, sums }) => html`<article class="card">
  <h2>${title}</h2>
  <dl>
    <div><dt>Requests</dt><dd>${count(sums.request_count)}</dd></div>
    <div><dt>Tokens in</dt><dd>${count(sums.input_tokens)}</dd></div>
    <div><dt>Of it cached</dt><dd>${count(sums.cached_input_tokens)}</dd></div>
    <div><dt>Tokens out</dt><dd>${count(sums.output_tokens)}</dd></div>
    <div><dt>Cost</dt><dd>${dollars(sums.total_cost_usd)}</dd></div>
  </dl>
</article>`;

render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById('usage')));
