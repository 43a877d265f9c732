// The use of one key by day, at the side of the page.
import { useState } from 'preact/hooks';
import { filter } from '../../base/address.js';
import { withQuery } from '../../base/api.js';
import { count, dollars } from '../../base/format.js';
import { html } from '../../base/html.js';
import { clock, useLive } from '../../base/live.js';
import { Days, lastDays } from '../days.js';
import { Dialog } from '../dialog.js';
import { Failure, Table, Waiting } from '../shown.js';

const DAYS = 28;

/** @type {Readonly<Record<string, string>>} */
const LABELS = { cost_usd: 'Cost by day', request_count: 'Requests by day', output_tokens: 'Tokens out by day' };

/** @param {{ id: string }} props */
export function KeyDays({ id }) {
  const [by, setBy] = useState('cost_usd');
  const { data, error } = useLive(withQuery('/api/usage', { by: ['key', 'day'], key: id, since: `${DAYS - 1}d`, limit: DAYS + 1 }), [
    'requests',
  ]);
  const shown = by === 'cost_usd' ? dollars : count;
  /** @type {Map<string, number>} */
  const amounts = new Map((data?.rows ?? []).map((/** @type {any} */ row) => [row.from.slice(0, 10), row[by]]));
  /** @type {readonly import('../shown.js').Column<any>[]} */
  const columns = [
    { head: 'Day', cell: ({ from }) => from.slice(0, 10) },
    { head: 'Requests', cell: ({ request_count }) => count(request_count), number: true },
    { head: 'Tokens in', cell: ({ input_tokens }) => count(input_tokens), number: true },
    { head: 'Tokens out', cell: ({ output_tokens }) => count(output_tokens), number: true },
    { head: 'Cost', cell: ({ cost_usd }) => dollars(cost_usd), number: true },
  ];
  return html`<${Dialog} title=${`Key ${id} by day`} isDrawer close=${() => filter({ days: '' })}>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${
      data &&
      html`<div class="filters"><label>Amount <select value=${by} onChange=${(/** @type {any} */ event) => setBy(event.currentTarget.value)}>
          ${Object.entries(LABELS).map(([name, label]) => html`<option key=${name} value=${name}>${label.replace(' by day', '')}</option>`)}
        </select></label></div>
        <${Days} label=${LABELS[by] ?? ''} days=${lastDays(amounts, DAYS, clock.peek())} shown=${shown} />
        <h3>Days of UTC with requests: ${dollars(data.total.cost_usd)} in all</h3>
        <${Table} caption="Use by day, newest first" columns=${columns} rows=${data.rows} keyOf=${(/** @type {any} */ { from }) => from} empty="No request in these days." />`
    }
  </${Dialog}>`;
}
