// Accounts: state with its cause, quota, load, last failure and cost, and actions.
import { address, filter, follow } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { count, dollars, span, time } from '../base/format.js';
import { html } from '../base/html.js';
import { clock, useLive } from '../base/live.js';
import { AccountActions } from '../parts/accounts/account-actions.js';
import { sentenceOf, wordOf } from '../parts/accounts/account-state.js';
import { LoginDialog } from '../parts/accounts/login-dialog.js';
import { QuotaBars } from '../parts/accounts/quota-bars.js';
import { Field } from '../parts/field.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

const STATES = [
  'available',
  'at_max_concurrent',
  'out_of_quota',
  'reserved',
  'cooldown',
  'probing',
  'challenge_page',
  'no_models',
  'reauth_required',
  'paused',
  'invisible',
];

export function Accounts() {
  const { id, state, pool, cursor, login } = address.value.query;
  const { data, error, refresh } = useLive(withQuery('/api/accounts', { id, state, pool, cursor, limit: 50 }), [
    'accounts',
    'configuration',
  ]);
  const account = data?.accounts.map((/** @type {any} */ one) => one.id) ?? [];
  const asked = account.length === 0 ? '' : withQuery('/api/usage', { by: 'account', since: '24h', limit: 50, account });
  const { data: usage } = useLive(asked, ['requests']);
  const used = new Map((usage?.rows ?? []).map((/** @type {any} */ row) => [row.account, row]));
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    {
      head: 'Account',
      cell: ({ id: name, label, api }) => html`<strong>${name}</strong><small>${label === name ? api : `${label} · ${api}`}</small>`,
    },
    {
      head: 'State',
      cell: (account) =>
        html`<${State} tone=${wordOf(account.state)[0]}>${wordOf(account.state)[1]}</${State}><small>${sentenceOf(account)}<${Left} until=${account.until} before=" " after="." /></small><${Cooldowns} models=${account.models_in_cooldown} />`,
    },
    { head: 'Quota left', cell: (account) => html`<${QuotaBars} account=${account} />` },
    { head: 'Turns', cell: ({ in_flight, max_concurrent }) => `${in_flight} of ${max_concurrent}`, number: true },
    {
      head: 'Models',
      cell: ({ id: name, catalog }) =>
        html`<a href=${`/models?account=${encodeURIComponent(name)}`} onClick=${follow}>${count(catalog.models)}</a>`,
      number: true,
    },
    {
      head: 'Last failure',
      cell: ({ last_failure: failure }) => (failure ? html`${failure.cause}<small>${time(failure.at)}</small>` : '–'),
    },
    {
      head: '24 h',
      cell: ({ label }) => html`${count(used.get(label)?.request_count ?? 0)}<small>${dollars(used.get(label)?.cost_usd ?? 0)}</small>`,
      number: true,
    },
    { head: 'Actions', cell: (account) => html`<${AccountActions} account=${account} refresh=${refresh} />` },
  ];
  const isFiltered = Boolean(id || state || pool);
  const empty = isFiltered
    ? html`No account matches. <button type="button" onClick=${() => filter({ id: '', state: '', pool: '', cursor: '' })}>Show all</button>`
    : html`There is no account yet: <code>poolgate account add</code> adds one.`;
  return html`
    <h1>Accounts</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <${Field} label="Account" value=${id} change=${(/** @type {string} */ to) => filter({ id: to, cursor: '' })} />
      <label>State <select value=${state ?? ''} onChange=${(/** @type {any} */ event) => filter({ state: event.currentTarget.value, cursor: '' })}>
        <option value="">all</option>
        ${STATES.map((name) => html`<option key=${name} value=${name}>${wordOf(name)[1]}</option>`)}
      </select></label>
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Accounts" columns=${columns} rows=${data.accounts} keyOf=${(/** @type {any} */ account) => account.id} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>First page</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Next page</button>`}
    </p>
    ${login && html`<${LoginDialog} key=${login} id=${login} refresh=${refresh} close=${() => filter({ login: '' })} />`}
  `;
}

/** The time until a state ends, as a countdown. @param {{ until: string | null, before?: string, after?: string }} props */
function Left({ until, before = ', ', after = '' }) {
  const left = until === null ? 0 : Date.parse(until) - clock.value;
  return left <= 0 ? null : html`${before}${span(left)} left${after}`;
}

/** The models that the account does not serve at the moment, while it serves others. @param {{ models: readonly any[] }} props */
function Cooldowns({ models }) {
  if (models.length === 0) return null;
  return html`<small class="warn">without ${models.map(
    ({ model, cause, until }, i) =>
      html`<span key=${model}>${i === 0 ? '' : '; '}${model}${cause === null ? '' : ` (${cause})`}<${Left} until=${until} /></span>`,
  )}</small>`;
}
