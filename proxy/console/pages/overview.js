// Overview: the state of the gateway in one sentence, sums over three periods, accounts by remaining quota, and what needs an operator.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { follow } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, dollars, percent, span, time, took } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { wordOf } from '../parts/accounts/account-state.js';
import { QuotaBars } from '../parts/accounts/quota-bars.js';
import { Matters } from '../parts/matters.js';
import { Failure, Section, State, Table, Waiting } from '../parts/shown.js';

const SPANS = [
  ['1h', 'This hour and the last'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
];

export function Overview() {
  const { data, error, refresh } = useLive('/api/overview', ['accounts', 'configuration', 'requests']);
  return html`
    <h1>Overview</h1>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${
      data &&
      html`<p class="lead">${sentenceOf(data)}</p>
        <${States} accounts=${data.accounts} />
        ${data.matters.length > 0 && html`<${Section} title="Needs an operator"><${Matters} matters=${data.matters} refresh=${refresh} /></${Section}>`}`
    }
    <${Section} title="Use"><div class="cards">${SPANS.map(([since, title]) => html`<${Sums} key=${since} since=${since} title=${title} />`)}</div></${Section}>
    <${History} />
    <${Quotas} />
  `;
}

/** The number of accounts in each state, with a link to them. @param {{ accounts: Readonly<Record<string, number>> }} props */
function States({ accounts }) {
  return html`<ul class="chips">
    ${Object.entries(accounts).map(
      ([state, number]) =>
        html`<li key=${state}><a class="chip" href=${`/accounts?state=${state}`} onClick=${follow}><${State} tone=${wordOf(state)[0]}>${count(number)} ${wordOf(state)[1]}</${State}></a></li>`,
    )}
  </ul>`;
}

/** @param {any} data */
function sentenceOf({ ready, accounts, in_flight, uptime_seconds, pools }) {
  const available = accounts.available ?? 0;
  const all = Object.values(accounts).reduce((sum, number) => sum + Number(number), 0);
  const state = ready ? 'The gateway takes turns' : 'The gateway is not ready';
  return `${state}: ${available} of ${all} accounts are available in ${pools.length} ${pools.length === 1 ? 'Pool' : 'Pools'}, ${in_flight} ${in_flight === 1 ? 'turn runs' : 'turns run'}, up for ${span(uptime_seconds * 1_000)}.`;
}

/**
 * The error of a part of the page. That the gateway does not answer is said once, at the top.
 * @param {import('../base/api.js').ApiError | undefined} error
 */
const ownError = (error) => (error?.status === 0 ? undefined : error);

/** @param {{ since: string, title: string }} props */
function Sums({ since, title }) {
  const { data, error } = useLive(withQuery('/api/usage', { since }), ['requests']);
  const total = data?.total;
  const failed = total && total.request_count > 0 ? total.failed_count / total.request_count : 0;
  return html`<article class="card">
    <h3>${title}</h3>
    <${Failure} error=${ownError(error)} hasData=${data !== undefined} />
    ${
      total &&
      html`<dl>
          <div><dt>Requests</dt><dd>${count(total.request_count)}</dd></div>
          <div><dt>Tokens in</dt><dd>${count(total.input_tokens)}</dd></div>
          <div><dt>Tokens out</dt><dd>${count(total.output_tokens)}</dd></div>
          <div><dt>Cost</dt><dd>${dollars(total.cost_usd)}</dd></div>
          <div><dt>Failed</dt><dd class=${failed > 0.05 ? 'bad' : undefined}>${count(total.failed_count)} (${percent(failed)})</dd></div>
          <div><dt>First event</dt><dd>${took(total.first_event_ms)}</dd></div>
        </dl>
        <p class="hint last">since ${time(data.since)}</p>`
    }
  </article>`;
}

const HOUR_SECONDS = 3_600;
const HOURS = 168;

/** The requests of each hour in seven days. An hour without a row had none. */
function History() {
  const { data } = useLive(`/api/usage?by=hour&since=7d&limit=${HOURS + 2}`, ['requests']);
  const [Shown, setShown] = useState(/** @type {{ of: typeof import('../parts/chart.js').Chart } | undefined} */ (undefined));
  useEffect(() => {
    // Loaded later, because the first paint does not need the library of charts.
    import('../parts/chart.js').then(
      ({ Chart }) => setShown({ of: Chart }),
      // If the browser's language is unknown to the library, the sums are shown without the chart.
      () => undefined,
    );
  }, []);
  const series = useMemo(() => seriesOf(data), [data]);
  if (!data || !Shown || data.total.request_count === 0) return null;
  const label = `Requests by hour over 7 days: ${count(data.total.request_count)} in all, ${count(data.total.failed_count)} of them failed`;
  return html`<${Section} title="Requests by hour"><${Shown.of} label=${label} ...${series} /></${Section}>`;
}

/** @param {any} data */
function seriesOf(data) {
  if (!data) return { times: [], requests: [], failed: [] };
  const rows = new Map(data.rows.map((/** @type {any} */ row) => [Date.parse(row.from) / 1_000, row]));
  const begin = Date.parse(data.since) / 1_000;
  const end = Date.parse(data.until) / 1_000;
  const times = Array.from({ length: Math.round((end - begin) / HOUR_SECONDS) }, (_, i) => begin + i * HOUR_SECONDS);
  return {
    times,
    requests: times.map((time) => rows.get(time)?.request_count ?? 0),
    failed: times.map((time) => rows.get(time)?.failed_count ?? 0),
  };
}

/** All accounts in pages: first those that take no turns, then by the least remaining quota. */
function Quotas() {
  const [cursors, setCursors] = useState(/** @type {readonly string[]} */ ([]));
  const { data, error } = useLive(withQuery('/api/accounts', { order: 'quota', limit: 50, cursor: cursors.at(-1) }), [
    'accounts',
    'configuration',
  ]);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Account', cell: ({ id }) => html`<a href=${`/accounts?id=${encodeURIComponent(id)}`} onClick=${follow}>${id}</a>` },
    { head: 'State', cell: ({ state }) => html`<${State} tone=${wordOf(state)[0]}>${wordOf(state)[1]}</${State}>` },
    { head: 'Quota left', cell: (account) => html`<${QuotaBars} account=${account} />` },
    { head: 'Turns', cell: ({ in_flight, max_concurrent }) => `${in_flight} of ${max_concurrent}`, number: true },
  ];
  const empty = html`There is no account yet: <code>poolgate account add</code> adds one.`;
  return html`<${Section} title="Accounts">
    <${Failure} error=${ownError(error)} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Accounts by quota left" columns=${columns} rows=${data.accounts} keyOf=${(/** @type {any} */ { id }) => id} empty=${empty} />`}
    <p class="pages">
      ${cursors.length > 0 && html`<button type="button" onClick=${() => setCursors(cursors.slice(0, -1))}>Previous accounts</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => setCursors([...cursors, data.next_cursor])}>Next accounts</button>`}
    </p>
  </${Section}>`;
}
