// A text with a button that copies it to the clipboard.
import { useState } from 'preact/hooks';
import { html } from '../base/html.js';

/** @param {{ text: string, label: string }} props label: what the text is, for those who hear the page */
export function Copied({ text, label }) {
  const [said, setSaid] = useState('');
  const copy = () =>
    // Browsers offer the clipboard only on https and on loopback.
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))).then(
      () => setSaid('Copied.'),
      () => setSaid('Select the text and copy it: this browser permits no more here.'),
    );
  return html`<div class="copied">
    <pre tabindex="0" role="region" aria-label=${label}>${text}</pre>
    <p><button type="button" onClick=${copy}>Copy</button> <span role="status" class="hint">${said}</span></p>
  </div>`;
}
