// Keys: the Pool API keys with their policies and what is used of each limit, and their cost of the last days.
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, dollars, time } from '../base/format.js';
import { html } from '../base/html.js';
import { clock, useLive } from '../base/live.js';
import { LimitBars } from '../parts/limit-bars.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

/** @type {Readonly<Record<string, import('../parts/shown.js').Tone>>} */
const TONES = { active: 'good', paused: 'idle', revoked: 'bad', expired: 'warn' };

export function Keys() {
  const { id, status, cursor } = address.value.query;
  const { data, error } = useLive(withQuery('/api/keys', { id, status, cursor, limit: 50 }), ['requests', 'configuration']);
  const key = data?.keys.map((/** @type {any} */ one) => one.id) ?? [];
  const { data: usage } = useLive(key.length === 0 ? '' : withQuery('/api/usage', { by: 'key', since: '7d', limit: 50, key }), [
    'requests',
  ]);
  const used = new Map((usage?.rows ?? []).map((/** @type {any} */ row) => [row.key, row]));
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Key', cell: ({ id: name, pool }) => html`<strong>${name}</strong><small>Pool ${pool}</small>` },
    {
      head: 'Status',
      cell: ({ status: word, expires_at }) =>
        html`<${State} tone=${TONES[word] ?? 'idle'}>${word}</${State}>${expires_at && html`<small>expires ${time(expires_at)}</small>`}`,
    },
    { head: 'Limits', cell: ({ id: name, limits }) => html`<${LimitBars} id=${name} limits=${limits.map(limitOf)} now=${clock.value} />` },
    { head: 'Models', cell: ({ models }) => (models === null ? 'all' : models.join(', ')) },
    {
      head: 'Effort',
      cell: ({ reasoning_effort: effort }) => (effort === null ? 'any' : `${effort.mode === 'always' ? '' : 'up to '}${effort.effort}`),
    },
    { head: 'Turns, 7 days', cell: ({ id: name }) => count(used.get(name)?.request_count ?? 0), number: true },
    { head: 'Cost, 7 days', cell: ({ id: name }) => dollars(used.get(name)?.cost_usd ?? 0), number: true },
  ];
  const empty =
    id || status
      ? html`No key matches. <button type="button" onClick=${() => filter({ id: '', status: '', cursor: '' })}>Show all</button>`
      : html`There is no key yet: <code>poolgate key create</code> makes one.`;
  return html`
    <h1>Keys</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>Key <input value=${id ?? ''} onChange=${(/** @type {any} */ event) => filter({ id: event.currentTarget.value.trim(), cursor: '' })} /></label>
      <label>Status <select value=${status ?? ''} onChange=${(/** @type {any} */ event) => filter({ status: event.currentTarget.value, cursor: '' })}>
        <option value="">all</option>
        ${Object.keys(TONES).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select></label>
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Pool API keys" columns=${columns} rows=${data.keys} keyOf=${(/** @type {any} */ key) => key.id} empty=${empty} />`}
    ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Next page</button>`}
  `;
}

/** @param {any} limit @returns {import('../parts/limit-bars.js').Limit} */
const limitOf = ({ type, window, max, current, resets_at }) => ({
  ...{ type, window, max, current },
  resetsAt: resets_at === null ? null : Date.parse(resets_at),
});
