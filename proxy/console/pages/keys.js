// Keys: the Pool API keys with their policies, the use of their limits, their cost, and actions.
import { useState } from 'preact/hooks';
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, dollars, time } from '../base/format.js';
import { html } from '../base/html.js';
import { clock, useLive } from '../base/live.js';
import { session } from '../base/session.js';
import { EditsOff, editsOff } from '../parts/edits-off.js';
import { Field } from '../parts/field.js';
import { KeyActions } from '../parts/keys/key-actions.js';
import { KeyDays } from '../parts/keys/key-days.js';
import { KeyForm } from '../parts/keys/key-form.js';
import { SecretShown } from '../parts/keys/secret-shown.js';
import { LimitBars } from '../parts/limit-bars.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

/** @type {Readonly<Record<string, import('../parts/shown.js').Tone>>} */
const TONES = { active: 'good', paused: 'idle', revoked: 'bad', expired: 'warn' };

export function Keys() {
  const { id, pool, status, cursor, days } = address.value.query;
  const { data, error, refresh } = useLive(withQuery('/api/keys', { id, pool, status, cursor, limit: 50 }), ['requests', 'configuration']);
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  const used = useUsed(data?.keys ?? []);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    {
      head: 'Key',
      cell: ({ id: name, pool: of, secrets }) =>
        html`<strong>${name}</strong><small>Pool ${of}</small>${secrets > 1 && html`<small>${secrets} secrets</small>`}`,
    },
    {
      head: 'Status',
      cell: ({ status: word, expires_at }) =>
        html`<${State} tone=${TONES[word] ?? 'idle'}>${word}</${State}>${expires_at && html`<small>expires ${time(expires_at)}</small>`}`,
    },
    {
      head: 'Limits',
      cell: ({ id: name, limits }) => html`<${LimitBars} id=${name} limits=${limits.map(limitOf)} now=${clock.peek()} />`,
    },
    { head: 'Models', cell: ({ models }) => (models === null ? 'all' : models.join(', ')) },
    {
      head: 'Effort',
      cell: ({ reasoning_effort: effort }) => (effort === null ? 'any' : `${effort.mode === 'always' ? '' : 'up to '}${effort.effort}`),
    },
    { head: 'Turns, 7 days', cell: ({ id: name }) => count(used.get(name)?.request_count ?? 0), number: true },
    {
      head: 'Cost, 7 days',
      cell: ({ id: name }) =>
        html`<button type="button" class="link" onClick=${() => filter({ days: name })}>${dollars(used.get(name)?.cost_usd ?? 0)}</button>`,
      number: true,
    },
    { head: 'Actions', cell: (key) => html`<${KeyActions} row=${key} refresh=${refresh} />` },
  ];
  const empty =
    id || pool || status
      ? html`No key matches. <button type="button" onClick=${() => filter({ id: '', pool: '', status: '', cursor: '' })}>Show all</button>`
      : 'There is no key yet: make one with the button above, and give its secret to a client.';
  const mayCreate = (session.value?.owns.length ?? 0) > 0;
  return html`
    <div class="title"><h1>Keys</h1>${mayCreate && html`<button type="button" class="primary" disabled=${editsOff() !== null} onClick=${() => setNew(true)}>New key</button>`}</div>
    <${EditsOff} />
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <${Field} label="Key" value=${id} change=${(/** @type {string} */ to) => filter({ id: to, cursor: '' })} />
      <${Field} label="Pool" value=${pool} change=${(/** @type {string} */ to) => filter({ pool: to, cursor: '' })} />
      <label>Status <select value=${status ?? ''} onChange=${(/** @type {any} */ event) => filter({ status: event.currentTarget.value, cursor: '' })}>
        <option value="">all</option>
        ${Object.keys(TONES).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select></label>
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Pool API keys" columns=${columns} rows=${data.keys} keyOf=${(/** @type {any} */ key) => key.id} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>First page</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Next page</button>`}
    </p>
    ${days && html`<${KeyDays} key=${days} id=${days} />`}
    ${
      isNew &&
      html`<${KeyForm} close=${() => setNew(false)} done=${(/** @type {any} */ reply) => {
        setNew(false);
        setMade(reply);
        refresh();
      }} />`
    }
    ${made && html`<${SecretShown} title=${`Secret of ${made.key.id}`} secret=${made.secret} close=${() => setMade(undefined)} />`}
  `;
}

/** The use of the keys on this page in 7 days. @param {readonly { id: string }[]} keys @returns {ReadonlyMap<string, any>} */
function useUsed(keys) {
  const ids = keys.map(({ id }) => id);
  // Without ids, the request would sum all keys.
  const path = ids.length === 0 ? '' : withQuery('/api/usage', { by: 'key', since: '7d', key: ids, limit: 200 });
  const { data } = useLive(path, ['requests']);
  return new Map((data?.rows ?? []).map((/** @type {any} */ row) => [row.key, row]));
}

/** @param {any} limit @returns {import('../parts/limit-bars.js').Limit} */
const limitOf = ({ type, window, max, current, resets_at }) => ({
  ...{ type, window, max, current },
  resetsAt: resets_at === null ? null : Date.parse(resets_at),
});
