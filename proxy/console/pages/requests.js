// Requests: the log with new rows as they come, filters from the address, and one turn in a drawer.
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { time, took } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { Field } from '../parts/field.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';
import { statusOf, TurnDrawer, tokensOf } from '../parts/turns/turn-drawer.js';

const FILTERS = /** @type {const} */ ([
  ['key', 'Key'],
  ['account', 'Account'],
  ['model', 'Model'],
  ['status', 'Status', '429 or 5xx'],
  ['code', 'Code'],
  ['id', 'Request id'],
]);

const TIMES = /** @type {const} */ ([
  ['since', 'From'],
  ['until', 'Until'],
]);

export function Requests() {
  const { turn, cursor, ...query } = address.value.query;
  const { data, error } = useLive(withQuery('/api/requests', { ...query, cursor, limit: 50 }), cursor ? [] : ['requests']);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    {
      head: 'Time',
      cell: ({ at, id }) =>
        html`<button type="button" class="link" onClick=${() => filter({ turn: id })}>${time(at, { seconds: true })}</button>`,
    },
    { head: 'Status', cell: (row) => html`<${State} tone=${toneOf(row)}>${statusOf(row)}</${State}>` },
    { head: 'Key', cell: ({ key_id }) => key_id ?? '–' },
    { head: 'Model', cell: ({ model }) => model ?? '–' },
    { head: 'Account', cell: ({ account }) => account ?? '–' },
    { head: 'Took', cell: ({ duration_ms }) => took(duration_ms), number: true },
    { head: 'Tokens', cell: tokensOf, number: true },
    { head: 'Retries', cell: ({ retries }) => retries, number: true },
    { head: 'Endpoint', cell: ({ method, endpoint }) => `${method} ${endpoint}` },
  ];
  const isFiltered = Object.keys(query).length > 0;
  // The search of a long log may be incomplete.
  const searched = data?.searched_from;
  const empty = searched
    ? `No request since ${time(searched)} matches; older ones have not been searched yet.`
    : isFiltered
      ? html`No request matches. <button type="button" onClick=${clear}>Show all</button>`
      : 'No request yet: send one with a key of a Pool, and it appears here.';
  return html`
    <h1>Requests</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${FILTERS.map(
        ([name, label, hint]) =>
          html`<${Field} key=${name} label=${label} value=${query[name]} hint=${hint} change=${(/** @type {string} */ to) => filter({ [name]: to, cursor: '' })} />`,
      )}
      ${TIMES.map(
        ([name, label]) =>
          html`<${Field} key=${name} label=${label} type="datetime-local" value=${localTime(query[name])} change=${(/** @type {string} */ to) => filter({ [name]: instantOf(to), cursor: '' })} />`,
      )}
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Requests, newest first" columns=${columns} rows=${data.rows} keyOf=${(/** @type {any} */ { id }) => id} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>Newest</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>${searched ? `Search before ${time(searched)}` : 'Older'}</button>`}
    </p>
    ${turn && html`<${TurnDrawer} key=${turn} id=${turn} />`}
  `;
}

const clear = () => filter(Object.fromEntries([...FILTERS, ...TIMES].map(([name]) => [name, ''])));

/** @param {any} row @returns {import('../parts/shown.js').Tone} */
function toneOf({ status, outcome }) {
  if (outcome === 'client_gone') return 'idle';
  if (status >= 500 || outcome === 'cut' || outcome === 'failed') return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

/** The time for a field, which takes local time without a zone, while the address has Unix milliseconds. @param {string | undefined} at */
function localTime(at) {
  const date = new Date(Number(at));
  if (at === undefined || Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param {string} local */
const instantOf = (local) => (local === '' ? '' : String(new Date(local).getTime()));
