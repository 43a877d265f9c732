// Shows the reason why the file cannot be edited here, if there is one.
import { html } from '../base/html.js';
import { session } from '../base/session.js';

export const editsOff = () => session.value?.edits.off ?? null;

export function EditsOff() {
  const off = editsOff();
  return off === null ? null : html`<p class="notice quiet">Edits are off: ${off}.</p>`;
}
