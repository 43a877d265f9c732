// Accounts: state with its cause, quota, load, last failure and cost, and what an operator does about them.
import { useState } from 'preact/hooks';
import { address, filter } from '../base/address.js';
import { ask, withQuery } from '../base/api.js';
import { count, dollars, time } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { session } from '../base/session.js';
import { sentenceOf, wordOf } from '../parts/account-state.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';
import { QuotaBars } from './overview.js';

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
  const { id, state, pool, cursor } = address.value.query;
  const { data, error, refresh } = useLive(withQuery('/api/accounts', { id, state, pool, cursor, limit: 50 }), [
    'accounts',
    'configuration',
  ]);
  const { data: usage } = useLive('/api/usage?by=account&since=24h&limit=200', ['requests']);
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
        html`<${State} tone=${wordOf(account.state)[0]}>${wordOf(account.state)[1]}</${State}><small>${sentenceOf(account)}</small>`,
    },
    { head: 'Quota left', cell: (account) => html`<${QuotaBars} account=${account} />` },
    { head: 'Turns', cell: ({ in_flight, max_concurrent }) => `${in_flight} of ${max_concurrent}`, number: true },
    { head: 'Models', cell: ({ catalog }) => count(catalog.models), number: true },
    {
      head: 'Last failure',
      cell: ({ last_failure: failure }) => (failure ? html`${failure.cause}<small>${time(failure.at)}</small>` : '–'),
    },
    {
      head: '24 h',
      cell: ({ label }) => html`${count(used.get(label)?.request_count ?? 0)}<small>${dollars(used.get(label)?.cost_usd ?? 0)}</small>`,
      number: true,
    },
    { head: 'Actions', cell: (account) => html`<${Actions} account=${account} refresh=${refresh} />` },
  ];
  const isFiltered = Boolean(id || state || pool);
  const empty = isFiltered
    ? html`No account matches. <button type="button" onClick=${() => filter({ id: '', state: '', pool: '', cursor: '' })}>Show all</button>`
    : html`There is no account yet: <code>poolgate account add</code> adds one.`;
  return html`
    <h1>Accounts</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>Account <input value=${id ?? ''} onChange=${(/** @type {any} */ event) => filter({ id: event.currentTarget.value.trim(), cursor: '' })} /></label>
      <label>State <select value=${state ?? ''} onChange=${(/** @type {any} */ event) => filter({ state: event.currentTarget.value, cursor: '' })}>
        <option value="">all</option>
        ${STATES.map((name) => html`<option key=${name} value=${name}>${wordOf(name)[1]}</option>`)}
      </select></label>
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Accounts" columns=${columns} rows=${data.accounts} keyOf=${(/** @type {any} */ account) => account.id} empty=${empty} />`}
    ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Next page</button>`}
  `;
}

/** @param {{ account: any, refresh: () => void }} props */
function Actions({ account, refresh }) {
  const [said, setSaid] = useState(/** @type {{ text: string, isBad: boolean } | undefined} */ (undefined));
  const [busy, setBusy] = useState('');
  const { id, state } = account;
  const mayAct = session.value?.accounts.includes(id) ?? false;
  if (!mayAct) return html`<span class="hint">only its owner</span>`;
  /**
   * @param {string} name
   * @param {string} path
   * @param {(reply: any) => string} textOf
   */
  const act = async (name, path, textOf) => {
    setBusy(name);
    try {
      const reply = await ask(`/api/accounts/${encodeURIComponent(id)}/${path}`, { method: 'POST' });
      setSaid({ text: textOf(reply), isBad: reply.ok === false });
      refresh();
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : 'failed', isBad: true });
    }
    setBusy('');
  };
  const isPaused = state === 'paused';
  return html`<div class="actions">
    <button type="button" disabled=${busy !== ''} onClick=${() =>
      act('pause', isPaused ? 'resume' : 'pause', () =>
        isPaused ? 'In use.' : 'Paused; running turns end.',
      )}>${isPaused ? 'Resume' : 'Pause'}</button>
    <button type="button" disabled=${busy !== ''} onClick=${() =>
      act('restore', 'restore', ({ fields }) => (fields.length === 0 ? 'It had no cooldown.' : 'Restored.'))}>Restore</button>
    <button type="button" disabled=${busy !== ''} onClick=${() =>
      act('relogin', 'relogin', ({ credential }) =>
        credential === 'imported' ? 'Uses the new login.' : 'Its login has not changed; the next turn tries it.',
      )}>Read login again</button>
    <button type="button" disabled=${busy !== ''} onClick=${() => act('test', 'test?turn=false', testText)}>${busy === 'test' ? 'Testing …' : 'Test'}</button>
    <span role="status" class=${said?.isBad ? 'bad' : 'hint'}>${said?.text}</span>
  </div>`;
}

/** @param {{ ok: boolean, steps: readonly { ok: boolean, step: string, failure: { message: string | null, class: string } | null }[] }} report */
function testText({ ok, steps }) {
  if (ok) return 'Its credential and its model list work; no turn was sent.';
  const failed = steps.find((step) => !step.ok);
  return `Failed at ${failed?.step ?? 'its beginning'}: ${failed?.failure?.message ?? failed?.failure?.class ?? 'no reason was stated'}`;
}
