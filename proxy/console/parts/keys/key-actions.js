// The actions on a key: edit, rotate, pause, resume, revoke.
import { useState } from 'preact/hooks';
import { ask } from '../../base/api.js';
import { html } from '../../base/html.js';
import { session } from '../../base/session.js';
import { SaidText, useAction } from '../action.js';
import { editsOff } from '../edits-off.js';
import { Sure } from '../sure.js';
import { KeyForm } from './key-form.js';
import { SecretShown } from './secret-shown.js';

/** @param {{ row: any, refresh: () => void }} props */
export function KeyActions({ row, refresh }) {
  const { busy, said, run } = useAction();
  const [open, setOpen] = useState('');
  const [secret, setSecret] = useState('');
  const { id, pool, status } = row;
  if (!session.value?.owns.includes(pool)) return html`<span class="hint">only its owner</span>`;
  if (status === 'revoked') return html`<span class="hint">revoked for ever</span>`;
  const isOff = busy !== '' || editsOff() !== null;
  const close = () => setOpen('');
  /** @param {string} name @param {string} text */
  const act = (name, text) =>
    run(name, async () => {
      close();
      const reply = await ask(`/api/keys/${encodeURIComponent(id)}/${name}`, { method: 'POST' });
      if (typeof reply.secret === 'string') setSecret(reply.secret);
      refresh();
      return text;
    });
  return html`<div class="actions">
    <button type="button" disabled=${isOff} onClick=${() => setOpen('edit')}>Edit</button>
    <button type="button" disabled=${isOff} onClick=${() => setOpen('rotate')}>Rotate</button>
    ${
      status === 'paused'
        ? html`<button type="button" disabled=${isOff} onClick=${() => act('resume', 'In use.')}>Resume</button>`
        : html`<button type="button" disabled=${isOff} onClick=${() => act('pause', 'Paused.')}>Pause</button>`
    }
    <button type="button" disabled=${isOff} onClick=${() => setOpen('revoke')}>Revoke</button>
    <${SaidText} said=${said} />
    ${
      open === 'edit' &&
      html`<${KeyForm} known=${row} close=${close} done=${() => {
        close();
        refresh();
      }} />`
    }
    ${open === 'rotate' && html`<${Sure} title=${`Rotate ${id}`} text="A further secret is made. The former ones work until you remove their hashes from the file." word="Make a secret" close=${close} act=${() => act('rotate', 'Rotated.')} />`}
    ${open === 'revoke' && html`<${Sure} title=${`Revoke ${id}`} text="Its requests are refused from now on. That is final." word="Revoke for ever" close=${close} act=${() => act('revoke', 'Revoked.')} />`}
    ${secret !== '' && html`<${SecretShown} title=${`Further secret of ${id}`} secret=${secret} close=${() => setSecret('')} />`}
  </div>`;
}
