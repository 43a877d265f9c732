// Operators: who may sign in, what each may see and change, and their tokens.
import { useState } from 'preact/hooks';
import { ask } from '../base/api.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { session } from '../base/session.js';
import { SaidText, useAction } from '../parts/action.js';
import { Dialog } from '../parts/dialog.js';
import { EditsOff, editsOff } from '../parts/edits-off.js';
import { SecretShown } from '../parts/keys/secret-shown.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';
import { Sure } from '../parts/sure.js';

/** @typedef {{ id: string, owns: readonly string[], assigned: readonly string[], admin: boolean, tokens: readonly string[] }} Operator */

export function Operators() {
  const { data, error, refresh } = useLive('/api/tokens', ['configuration']);
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState(/** @type {any} */ (undefined));
  /** @type {readonly import('../parts/shown.js').Column<Operator>[]} */
  const columns = [
    { head: 'Operator', cell: ({ id }) => html`<strong>${id}</strong>` },
    {
      head: 'Rights',
      cell: ({ admin }) => (admin ? html`<${State} tone="warn">sees and changes everything</${State}>` : 'those of its Pools'),
    },
    { head: 'Owns Pools', cell: ({ owns }) => owns.join(', ') || '–' },
    { head: 'Also sees', cell: ({ assigned }) => assigned.join(', ') || '–' },
    { head: 'Tokens', cell: (operator) => html`<${Tokens} operator=${operator} refresh=${refresh} />` },
  ];
  return html`
    <div class="title"><h1>Operators</h1><button type="button" class="primary" disabled=${editsOff() !== null} onClick=${() => setNew(true)}>New token</button></div>
    <${EditsOff} />
    <p class="hint">A token signs an operator in to this console beyond loopback, to <code>/mcp</code>, and lets commands ask the gateway. It is named by the first digits of its hash.</p>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Operators and their tokens" columns=${columns} rows=${data.operators} keyOf=${(/** @type {Operator} */ { id }) => id} empty="There is no operator yet: make a token with the button above. On loopback none is needed." />`}
    ${
      isNew &&
      data &&
      html`<${TokenForm} operators=${data.operators} close=${() => setNew(false)} done=${(/** @type {any} */ reply) => {
        setNew(false);
        setMade(reply);
        refresh();
      }} />`
    }
    ${made && html`<${SecretShown} title=${`Token of ${made.operator}`} secret=${made.secret} close=${() => setMade(undefined)} />`}
  `;
}

/** @param {{ operator: Operator, refresh: () => void }} props */
function Tokens({ operator: { id, tokens }, refresh }) {
  const { busy, said, run } = useAction();
  const [revoked, setRevoked] = useState('');
  const revoke = () =>
    run('revoke', async () => {
      setRevoked('');
      await ask(`/api/tokens/${encodeURIComponent(id)}/${encodeURIComponent(revoked)}`, { method: 'DELETE' });
      refresh();
      return 'Revoked.';
    });
  const consequence = tokens.length === 1 ? ` It is the last one: the operator ${id} is removed with it.` : '';
  return html`<ul class="plain">${tokens.map(
    (token) =>
      html`<li key=${token} class="actions"><code>${token}</code> <button type="button" disabled=${busy !== '' || editsOff() !== null} aria-label=${`Revoke ${token} of ${id}`} onClick=${() => setRevoked(token)}>Revoke</button></li>`,
  )}</ul>
  <${SaidText} said=${said} />
  ${revoked !== '' && html`<${Sure} title=${`Revoke ${revoked}`} text=${`Its requests and sessions are refused from now on.${consequence}`} word="Revoke for ever" close=${() => setRevoked('')} act=${revoke} />`}`;
}

/** @param {{ operators: readonly Operator[], close: () => void, done: (reply: any) => void }} props */
function TokenForm({ operators, close, done }) {
  const { busy, said, run } = useAction();
  const [known, setKnown] = useState('');
  const [isAdmin, setAdmin] = useState(false);
  const every = session.value?.pools ?? [];
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const pools = ['owns', 'assigned'].map((name) => /** @type {const} */ ([name, form.getAll(name)])).filter(([, ids]) => ids.length > 0);
    const rights = isAdmin ? { admin: true } : Object.fromEntries(pools);
    const body = known === '' ? { operator: String(form.get('operator') ?? '').trim(), ...rights } : { operator: known };
    void run('save', async () => {
      done(await ask('/api/tokens', { method: 'POST', body }));
      return '';
    });
  };
  return html`<${Dialog} title="New token" close=${close}>
    <form class="fields" onSubmit=${submit}>
      <label>For <select autofocus value=${known} onChange=${(/** @type {any} */ event) => setKnown(event.currentTarget.value)}>
        <option value="">a new operator</option>
        ${operators.map(({ id }) => html`<option key=${id} value=${id}>${id}</option>`)}
      </select></label>
      ${
        known === '' &&
        html`<label>Id of the operator <input name="operator" required autocomplete="off" maxlength="64" /></label>
          <label class="check"><input type="checkbox" checked=${isAdmin} onChange=${() => setAdmin(!isAdmin)} /> Sees and changes everything</label>
          ${
            !isAdmin &&
            html`<${Pools} legend="Owns Pools" name="owns" ids=${every} /><${Pools} legend="Also sees" name="assigned" ids=${every} />`
          }`
      }
      <p class="actions"><button type="submit" class="primary" disabled=${busy !== ''}>${busy === '' ? 'Make a token' : 'Saving …'}</button><${SaidText} said=${said} /></p>
    </form>
  </${Dialog}>`;
}

/** @param {{ legend: string, name: string, ids: readonly string[] }} props */
const Pools = ({ legend, name, ids }) => html`<fieldset>
  <legend>${legend}</legend>
  ${ids.map((id) => html`<label class="check" key=${id}><input type="checkbox" name=${name} value=${id} /> ${id}</label>`)}
</fieldset>`;
