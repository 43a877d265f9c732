// Requests: the log as it grows, with filters that the address holds, and one turn in a drawer.
import { useEffect, useRef } from 'preact/hooks';
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, time, took } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

const FILTERS = /** @type {const} */ ([
  ['key', 'Key'],
  ['account', 'Account'],
  ['model', 'Model'],
  ['status', 'Status', '429 or 5xx'],
  ['code', 'Code'],
  ['id', 'Request id'],
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
  const empty = isFiltered
    ? html`No request matches. <button type="button" onClick=${clear}>Show all</button>`
    : 'No request yet: send one with a key of a Pool, and it appears here.';
  return html`
    <h1>Requests</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${FILTERS.map(
        ([name, label, hint]) =>
          html`<label key=${name}>${label}
            <input value=${query[name] ?? ''} placeholder=${hint} onChange=${(/** @type {any} */ event) => filter({ [name]: event.currentTarget.value.trim(), cursor: '' })} />
          </label>`,
      )}
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Requests, newest first" columns=${columns} rows=${data.rows} keyOf=${(/** @type {any} */ { id }) => id} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>Newest</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Older</button>`}
    </p>
    ${turn && html`<${Drawer} key=${turn} id=${turn} />`}
  `;
}

const clear = () => filter(Object.fromEntries(FILTERS.map(([name]) => [name, ''])));

/** @param {any} row @returns {import('../parts/shown.js').Tone} */
function toneOf({ status, outcome }) {
  if (outcome === 'client_gone') return 'idle';
  if (status >= 500 || outcome === 'cut' || outcome === 'failed') return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

/** @param {any} row */
const statusOf = ({ status, outcome, code }) =>
  [status, ...(status < 400 && outcome !== 'completed' ? [outcome] : []), ...(code ? [code] : [])].join(' ');

/** @param {any} row */
function tokensOf({ input_tokens, output_tokens, tokens_estimated }) {
  if (input_tokens === null && output_tokens === null) return '–';
  return `${tokens_estimated ? '~' : ''}${count(input_tokens)} + ${count(output_tokens)}`;
}

/** @param {{ id: string }} props */
function Drawer({ id }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const { data, error } = useLive(`/api/requests/${encodeURIComponent(id)}`, []);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  const close = () => filter({ turn: '' });
  return html`<dialog ref=${dialog} class="drawer" aria-labelledby="turn" onClose=${close} onCancel=${close}>
    <header><h2 id="turn">Request</h2><button type="button" onClick=${close}>Close</button></header>
    <p><code>${id}</code></p>
    <${Failure} error=${error} hasData=${data !== undefined} />
    ${data && html`<${Turn} turn=${data.turn} attempts=${data.attempts} />`}
  </dialog>`;
}

/** @param {{ turn: any, attempts: readonly any[] }} props */
function Turn({ turn, attempts }) {
  const others = Object.entries(turn.why?.others ?? {});
  return html`
    <dl>
      <div><dt>Began</dt><dd>${time(turn.at, { seconds: true })}</dd></div>
      <div><dt>Status</dt><dd>${statusOf(turn)}</dd></div>
      <div><dt>Took</dt><dd>${took(turn.duration_ms)}</dd></div>
      <div><dt>Pool</dt><dd>${turn.pool ?? '–'}</dd></div>
      <div><dt>Key</dt><dd>${turn.key_id ?? '–'}</dd></div>
      <div><dt>Model</dt><dd>${turn.model ?? '–'}</dd></div>
      <div><dt>Effort</dt><dd>${turn.effort ?? '–'}</dd></div>
      <div><dt>Tokens in and out</dt><dd>${tokensOf(turn)}</dd></div>
      <div><dt>Of it cached</dt><dd>${count(turn.cached_input_tokens)}</dd></div>
    </dl>
    <h3>Timeline</h3>
    ${attempts.length === 0 && html`<p class="hint">No account was asked.</p>`}
    <ol class="timeline">
      ${attempts.map((attempt) => html`<${Attempt} key=${attempt.ordinal} attempt=${attempt} turn=${turn} />`)}
    </ol>
    ${
      turn.why &&
      html`<h3>Why this account</h3>
        <p>${turn.why.reason}${others.length === 0 ? '' : `; not others: ${others.map(([reason, number]) => `${reason} (${number})`).join(', ')}`}</p>`
    }
  `;
}

/** @param {{ attempt: any, turn: any }} props */
function Attempt({ attempt, turn }) {
  const whole = Math.max(1, turn.duration_ms);
  const before = Math.max(0, attempt.at - turn.at);
  const result = attempt.error_class ?? attempt.status ?? 'no answer';
  return html`<li>
    <span>${attempt.account}: ${result}, after ${took(before)}, took ${took(attempt.duration_ms)}${attempt.cause === 'first' ? '' : ` (${attempt.cause})`}</span>
    <span class="track" aria-hidden="true"><span class=${attempt.error_class ? 'bad' : 'good'} style=${{
      marginInlineStart: `${Math.min(99, (before / whole) * 100)}%`,
      inlineSize: `${Math.max(1, Math.min(100, (attempt.duration_ms / whole) * 100))}%`,
    }}></span></span>
  </li>`;
}
