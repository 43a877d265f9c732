// Asks for confirmation of an action that cannot be undone.
import { html } from '../base/html.js';
import { Dialog } from './dialog.js';

/** @param {{ title: string, text: string, word: string, close: () => void, act: () => void }} props word: of the button */
export const Sure = ({ title, text, word, close, act }) => html`<${Dialog} title=${title} close=${close}>
  <p>${text}</p>
  <p class="actions"><button type="button" class="primary" onClick=${act}>${word}</button></p>
</${Dialog}>`;
