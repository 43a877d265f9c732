// What needs an operator's attention, each with the possible action.
import { useState } from 'preact/hooks';
import { follow } from '../base/address.js';
import { ask } from '../base/api.js';
import { span, time } from '../base/format.js';
import { html } from '../base/html.js';
import { session } from '../base/session.js';
import { SaidText, useAction } from './action.js';

/** @typedef {{ about: 'gateway' | 'account' | 'pool' | 'key', id: string, state: string, until: string | null, text: string }} Matter */

const FIRST = 8;

/** @param {{ matters: readonly Matter[], refresh: () => void }} props */
export function Matters({ matters, refresh }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? matters : matters.slice(0, FIRST);
  return html`<ul class="attention">
      ${shown.map((matter) => html`<${OneMatter} key=${`${matter.about} ${matter.id} ${matter.state}`} matter=${matter} refresh=${refresh} />`)}
    </ul>
    ${matters.length > FIRST && html`<button type="button" onClick=${() => setWhole(!isWhole)}>${isWhole ? 'Show fewer' : `Show all ${matters.length}`}</button>`}`;
}

/** Where the reader finds more about it. @type {Readonly<Record<Matter['about'], (id: string, state: string) => readonly [string, string] | undefined>>} */
const PLACES = {
  gateway: (_id, state) => (state === 'reload_refused' && session.value?.whole ? ['/configuration', 'Configuration'] : undefined),
  account: (id) => [`/accounts?id=${encodeURIComponent(id)}`, `Account ${id}`],
  pool: (id) => [`/models?pool=${encodeURIComponent(id)}`, `Models of ${id}`],
  key: (id) => [`/keys?id=${encodeURIComponent(id)}`, `Key ${id}`],
};

/** States that an operator can end. */
const RESTORED = new Set(['cooldown', 'out_of_quota']);

/** @param {{ matter: Matter, refresh: () => void }} props */
function OneMatter({ matter, refresh }) {
  const { about, id, state } = matter;
  const { busy, said, run } = useAction();
  const [href, name] = PLACES[about](id, state) ?? [];
  const mayAct = about === 'account' && session.value?.accounts.includes(id);
  const mayRestore = mayAct && RESTORED.has(state);
  const mayLogin = mayAct && state === 'reauth_required';
  const restore = async () => {
    await ask(`/api/accounts/${encodeURIComponent(id)}/restore`, { method: 'POST' });
    refresh();
    return 'Restored.';
  };
  return html`<li>
    <span class=${`state ${state === 'cooldown' || state === 'out_of_quota' || state === 'expired' ? 'warn' : 'bad'}`}>${sentenceOf(matter)}</span>
    <span class="actions">
      ${mayRestore && html`<button type="button" disabled=${busy !== ''} onClick=${() => run('restore', restore)}>Restore</button>`}
      ${mayLogin && html`<a class="button" href=${`${href}&login=${encodeURIComponent(id)}`} onClick=${follow}>Log in again</a>`}
      ${href && html`<a class="button" href=${href} onClick=${follow}>${name}</a>`}
      <${SaidText} said=${said} />
    </span>
  </li>`;
}

/** The sentence with its end in the reader's local time. @param {Matter} matter */
function sentenceOf({ text, until }) {
  const local = until === null ? text : text.replace(until, `${time(until)}, in ${span(Date.parse(until) - Date.now())}`);
  return local.charAt(0).toUpperCase() + local.slice(1);
}
