// Shows a new secret once. It is gone when the dialog is closed.
import { html } from '../../base/html.js';
import { Copied } from '../copied.js';
import { Dialog } from '../dialog.js';

/** @param {{ title: string, secret: string, close: () => void }} props */
export const SecretShown = ({ title, secret, close }) => html`<${Dialog} title=${title} close=${close}>
  <p>This is the only time that it is shown: the gateway keeps its hash alone.</p>
  <${Copied} text=${secret} label="Secret" />
</${Dialog}>`;
