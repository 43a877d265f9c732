// The settings of clients for copying, with the address of this page and a model of the key.
import { useState } from 'preact/hooks';
import { html } from '../base/html.js';
import { Copied } from '../parts/copied.js';
import { Prose } from '../parts/shown.js';

/** @typedef {{ name: string, title: string, where: string, note: string, text: string }} Client */

/** @type {{ key: string, clients: readonly Client[] }} */
const DATA = JSON.parse(document.getElementById('data')?.textContent ?? '{"key":"","clients":[]}');

/** @param {{ models: readonly string[] }} props */
export function Clients({ models }) {
  const [name, setName] = useState(DATA.clients[0]?.name ?? '');
  const [chosen, setModel] = useState('');
  const client = DATA.clients.find((one) => one.name === name);
  const model = models.includes(chosen) ? chosen : (models[0] ?? 'MODEL');
  if (!client) return null;
  const text = client.text.replaceAll('{origin}', () => location.origin).replaceAll('{model}', () => model);
  return html`<section>
    <h2>Settings of clients</h2>
    <div class="filters">
      <label>Client <select value=${name} onChange=${(/** @type {any} */ event) => setName(event.currentTarget.value)}>
        ${DATA.clients.map(({ name: value, title }) => html`<option key=${value} value=${value}>${title}</option>`)}
      </select></label>
      ${
        models.length > 0 &&
        html`<label>Model <select value=${model} onChange=${(/** @type {any} */ event) => setModel(event.currentTarget.value)}>
          ${models.map((id) => html`<option key=${id} value=${id}>${id}</option>`)}
        </select></label>`
      }
    </div>
    <p class="hint">For ${client.where === 'shell' || client.where === 'code' ? `a ${client.where === 'code' ? 'program' : 'shell'}` : html`the file <code>${client.where}</code>`}; <code>${DATA.key}</code> is an environment variable with the key.</p>
    <${Copied} text=${text} label=${`Settings of ${client.title}`} />
    ${client.note !== '' && html`<p class="hint"><${Prose} text=${client.note} /></p>`}
  </section>`;
}
