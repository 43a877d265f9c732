// The form of a key: for a new key with its Pool, or for the policies and limits of an existing one.
import { useState } from 'preact/hooks';
import { ask } from '../../base/api.js';
import { html } from '../../base/html.js';
import { session } from '../../base/session.js';
import { SaidText, useAction } from '../action.js';
import { Dialog } from '../dialog.js';

const LIMITS = /** @type {const} */ ([
  ['requests_per_minute', 'Requests per minute'],
  ['requests_per_day', 'Requests per day'],
  ['tokens_per_minute', 'Tokens per minute'],
  ['tokens_per_day', 'Tokens per day'],
  ['tokens_per_week', 'Tokens per week'],
  ['usd_per_day', 'USD per day'],
  ['usd_per_week', 'USD per week'],
  ['concurrent', 'Turns at a time'],
]);

const MODES = /** @type {const} */ ([
  ['', 'any'],
  ['allow_up_to', 'at most'],
  ['always', 'always'],
]);

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

/** @param {{ known?: any, close: () => void, done: (reply: any) => void }} props known: the key that is edited; absent for a new one */
export function KeyForm({ known: given, close, done }) {
  // The key as it was when the form was opened, so that an update of the page does not replace what was typed.
  const [known] = useState(given);
  const { busy, said, run } = useAction();
  const pools = session.value?.owns ?? [];
  const effort = known?.reasoning_effort;
  const limits = new Map(
    (known?.limits ?? []).map((/** @type {any} */ { type, window, max }) => [type === 'concurrent' ? type : `${type}_per_${window}`, max]),
  );
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    void run('save', async () => {
      const id = known?.id ?? textOf(form, 'id');
      const reply = known
        ? await ask(`/api/keys/${encodeURIComponent(id)}`, { method: 'PATCH', body: policiesOf(form, known) })
        : await ask('/api/keys', { method: 'POST', body: { id, pool: textOf(form, 'pool'), ...stated(policiesOf(form)) } });
      done(reply);
      return '';
    });
  };
  return html`<${Dialog} title=${known ? `Key ${known.id}` : 'New key'} close=${close}>
    <form class="fields" onSubmit=${submit}>
      ${
        !known &&
        html`<label>Id <input name="id" required autofocus autocomplete="off" maxlength="64" /></label>
          <label>Pool <select name="pool">${pools.map((pool) => html`<option key=${pool} value=${pool}>${pool}</option>`)}</select></label>`
      }
      <label>Expires <input name="expires_at" type="datetime-local" defaultValue=${localOf(known?.expires_at)} /></label>
      <label>Models, with commas <input name="models" defaultValue=${(known?.models ?? []).join(', ')} placeholder="all" /></label>
      <label>Effort <select name="effort_mode">
        ${MODES.map(([mode, word]) => html`<option key=${mode} value=${mode} selected=${mode === (effort?.mode ?? '')}>${word}</option>`)}
      </select></label>
      <label>Level of effort <select name="effort">
        ${[...new Set([...EFFORTS, ...(effort ? [effort.effort] : [])])].map((level) => html`<option key=${level} value=${level} selected=${level === (effort?.effort ?? 'medium')}>${level}</option>`)}
      </select></label>
      <label>Most output tokens <input name="max_output_tokens" type="number" min="1" defaultValue=${known?.max_output_tokens ?? ''} placeholder="any" /></label>
      ${LIMITS.map(
        ([name, label]) =>
          html`<label key=${name}>${label} <input name=${name} type="number" min=${name.startsWith('usd') ? '0' : '1'} step=${name.startsWith('usd') ? 'any' : '1'} defaultValue=${limits.get(name) ?? ''} placeholder="no limit" /></label>`,
      )}
      <p class="actions"><button type="submit" class="primary" disabled=${busy !== ''}>${busy === '' ? (known ? 'Save' : 'Create') : 'Saving …'}</button><${SaidText} said=${said} /></p>
    </form>
  </${Dialog}>`;
}

/** @param {FormData} form @param {string} name */
const textOf = (form, name) => String(form.get(name) ?? '').trim();

/** @param {FormData} form @param {string} name */
const numberOf = (form, name) => (textOf(form, name) === '' ? null : Number(textOf(form, name)));

/**
 * The policies in the form. Null for an empty field.
 * @param {FormData} form
 * @param {{ expires_at: string | null }} [known]
 */
function policiesOf(form, known) {
  const models = textOf(form, 'models')
    .split(/[\s,]+/)
    .filter(Boolean);
  const mode = textOf(form, 'effort_mode');
  const most = numberOf(form, 'max_output_tokens');
  const expires = textOf(form, 'expires_at');
  return {
    // Absent if it was not changed, because the field has no seconds.
    expires_at: expires === localOf(known?.expires_at) ? undefined : expires === '' ? null : new Date(expires).toISOString(),
    models: models.length === 0 ? null : models,
    reasoning_effort: mode === '' ? null : { [mode]: textOf(form, 'effort') },
    output_tokens: most === null ? null : { max: most },
    limits: Object.fromEntries(LIMITS.map(([name]) => [name, numberOf(form, name)])),
  };
}

/** The policies that are set, for a new key. @param {ReturnType<typeof policiesOf>} policies */
function stated(policies) {
  const without = (/** @type {object} */ of) => Object.fromEntries(Object.entries(of).filter(([, value]) => value !== null));
  return { ...without(policies), limits: without(policies.limits) };
}

/** The time in the form that the field takes. @param {string | null | undefined} iso */
function localOf(iso) {
  if (!iso) return '';
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
