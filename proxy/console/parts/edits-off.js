// Why nothing can be edited here, where that is so.
import { html } from '../base/html.js';
import { session } from '../base/session.js';

export const editsOff = () => session.value?.edits.off ?? null;

export function EditsOff() {
  const off = editsOff();
  return off === null ? null : html`<p class="notice quiet">Edits are off: ${off}.</p>`;
}
