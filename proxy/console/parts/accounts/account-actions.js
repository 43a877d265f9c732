// The actions on one account: pause, resume, restore, log in again, and test it, also with a turn.
import { useState } from 'preact/hooks';
import { filter } from '../../base/address.js';
import { ask } from '../../base/api.js';
import { dollars } from '../../base/format.js';
import { html } from '../../base/html.js';
import { session } from '../../base/session.js';
import { SaidText, useAction } from '../action.js';
import { Dialog } from '../dialog.js';

/** @param {{ account: any, refresh: () => void }} props */
export function AccountActions({ account, refresh }) {
  const { busy, said, run } = useAction();
  const [plan, setPlan] = useState(/** @type {any} */ (undefined));
  const { id, state, credential } = account;
  if (!session.value?.accounts.includes(id)) return html`<span class="hint">only its owner</span>`;
  const path = `/api/accounts/${encodeURIComponent(id)}`;
  /**
   * @param {string} name
   * @param {(reply: any) => string | import('../action.js').Said} said
   */
  const act = (name, said) =>
    run(name, async () => {
      const reply = await ask(`${path}/${name}`, { method: 'POST' });
      refresh();
      return said(reply);
    });
  const planned = () =>
    run('plan', async () => {
      setPlan(await ask(`${path}/test`));
      return '';
    });
  const test = () => {
    setPlan(undefined);
    return act('test', testText);
  };
  const isPaused = state === 'paused';
  const isBusy = busy !== '';
  return html`<div class="actions">
    ${
      isPaused
        ? html`<button type="button" disabled=${isBusy} onClick=${() => act('resume', () => 'In use.')}>Resume</button>`
        : html`<button type="button" disabled=${isBusy} onClick=${() => act('pause', () => 'Paused; running turns end.')}>Pause</button>`
    }
    <button type="button" disabled=${isBusy} onClick=${() =>
      act('restore', ({ fields }) => (fields.length === 0 ? 'It had no cooldown.' : 'Restored.'))}>Restore</button>
    ${credential !== 'none' && html`<button type="button" disabled=${isBusy} onClick=${() => filter({ login: id })}>Log in again</button>`}
    <button type="button" disabled=${isBusy} onClick=${() => act('test?turn=false', testText)}>${busy.startsWith('test') ? 'Testing …' : 'Test'}</button>
    <button type="button" disabled=${isBusy} onClick=${planned}>Test with a turn</button>
    <${SaidText} said=${said} />
    ${
      plan &&
      html`<${Dialog} title=${`Test ${id} with a turn`} close=${() => setPlan(undefined)}>
        <p>${plan.over.length === 1 ? 'One short turn' : `${plan.over.length} short turns`} of ${plan.model ?? 'its first model'} over ${plan.over.join(' and ')}, which ${
          plan.at_most_usd === null
            ? 'cost what the provider asks: the model has no price here'
            : `cost at most ${dollars(plan.at_most_usd)}`
        }.</p>
        <p class="actions"><button type="button" class="primary" onClick=${test}>Send</button></p>
      </${Dialog}>`
    }
  </div>`;
}

/**
 * @param {{ ok: boolean, steps: readonly any[] }} report
 * @returns {string | import('../action.js').Said}
 */
function testText({ ok, steps }) {
  const turns = steps.filter(({ over }) => over !== null);
  if (ok) {
    const times = turns.map(({ over, ms }) => `over ${over} in ${ms} ms`);
    return turns.length === 0
      ? 'Its credential and its model list work; no turn was sent.'
      : `Its credential, its model list and a turn work: ${times.join(', ')}.`;
  }
  const failed = steps.find((step) => !step.ok);
  const quirks = failed?.quirks.length > 0 ? ` Its quirks may need: ${failed.quirks.join(', ')}.` : '';
  const reason = failed?.failure?.message ?? failed?.failure?.class ?? 'no reason was stated';
  return { text: `Failed at ${failed?.step ?? 'its beginning'}: ${reason}.${quirks}`, isBad: true };
}
