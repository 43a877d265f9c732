// Models: what each Pool serves now, with mode, accounts and price.
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, dollars, firstOf } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { EditsOff } from '../parts/edits-off.js';
import { Field } from '../parts/field.js';
import { ModeChoice } from '../parts/mode-choice.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

/** @type {Readonly<Record<string, import('../parts/shown.js').Tone>>} */
const TONES = { routable: 'good', unroutable: 'bad', invisible: 'idle', suppressed: 'idle' };

/** A Pool may have thousands of accounts. */
const MOST_NAMES = 12;

const FILTERS = /** @type {const} */ ([
  ['id', 'Model'],
  ['pool', 'Pool'],
  ['account', 'Account'],
]);

export function Models() {
  const { id, pool, account, cursor } = address.value.query;
  const { data, error, refresh } = useLive(withQuery('/api/models', { id, pool, account, cursor, limit: 50 }), [
    'accounts',
    'configuration',
  ]);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Model', cell: ({ id: name, pool }) => html`<strong>${name}</strong><small>Pool ${pool}</small>` },
    { head: 'State', cell: ({ state }) => html`<${State} tone=${TONES[state] ?? 'idle'}>${state}</${State}>` },
    { head: 'Mode', cell: (model) => html`<${ModeChoice} model=${model} refresh=${refresh} />` },
    { head: 'Window', cell: ({ context_window }) => count(context_window), number: true },
    { head: 'USD in', cell: ({ prices }) => dollars(prices?.input), number: true },
    { head: 'USD out', cell: ({ prices }) => dollars(prices?.output), number: true },
    { head: 'Accounts', cell: ({ accounts }) => firstOf(accounts, MOST_NAMES) },
    { head: 'Falls back to', cell: ({ fallback }) => fallback.join(', ') || '–' },
  ];
  const empty =
    id || pool || account
      ? html`No model matches. <button type="button" onClick=${() => filter({ id: '', pool: '', account: '', cursor: '' })}>Show all</button>`
      : 'No account has stated a model yet: see its state on the page of accounts.';
  return html`
    <h1>Models and modes</h1>
    <${EditsOff} />
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${FILTERS.map(
        ([name, label]) =>
          html`<${Field} key=${name} label=${label} value=${address.value.query[name]} change=${(/** @type {string} */ to) => filter({ [name]: to, cursor: '' })} />`,
      )}
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Models by Pool" columns=${columns} rows=${data.models} keyOf=${(/** @type {any} */ model) => `${model.pool}/${model.id}`} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>First page</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Next page</button>`}
    </p>
  `;
}
