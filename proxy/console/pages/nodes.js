// Nodes: the gateways on one store, whether each runs, and whether their configurations agree.
import { time } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { Failure, State, Table, Waiting } from '../parts/shown.js';

/** @type {Readonly<Record<string, readonly [import('../parts/shown.js').Tone, string]>>} */
const STATES = { this: ['good', 'runs, this node'], alive: ['good', 'runs'], dead: ['bad', 'dead'] };

/** @type {Readonly<Record<string, string>>} */
const STANDINGS = {
  member: 'It is a member: its leases are renewed.',
  unsure: 'It is unsure: its last renewal is late.',
  cut_off: 'It is cut off: its leases have ended, and others may have taken them.',
};

export function Nodes() {
  const { data, error } = useLive('/api/nodes', ['accounts', 'requests', 'configuration']);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Node', cell: ({ node, address }) => html`<strong>${node}</strong><small>${address ?? 'no internal address'}</small>` },
    { head: 'State', cell: ({ state }) => html`<${State} tone=${STATES[state]?.[0] ?? 'idle'}>${STATES[state]?.[1] ?? state}</${State}>` },
    {
      head: 'Configuration',
      cell: ({ config, differs }) =>
        differs
          ? html`<${State} tone="warn">differs</${State}><small><code>${config.slice(0, 12)}</code></small>`
          : html`<code>${config.slice(0, 12)}</code>`,
    },
    { head: 'Version', cell: ({ version }) => version },
    { head: 'Started', cell: ({ started_at }) => time(started_at) },
    { head: 'Lease until', cell: ({ lease_until }) => time(lease_until, { seconds: true }) },
    { head: 'Slots', cell: ({ slots }) => slots, number: true },
    { head: 'Leases', cell: ({ leases }) => leases, number: true },
  ];
  return html`
    <h1>Nodes</h1>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && (data.sharing === null ? html`<p class="empty">This gateway is the only one on its SQLite store. With a PostgreSQL store several can share it: set <code>store</code> and <code>node</code>.</p>` : html`<${Sharing} sharing=${data.sharing} columns=${columns} />`)}
  `;
}

/** @param {{ sharing: any, columns: readonly import('../parts/shown.js').Column<any>[] }} props */
function Sharing({ sharing, columns }) {
  const waits = sharing.settlements_waiting;
  return html`<p class="lead">${STANDINGS[sharing.standing] ?? sharing.standing} The database is ${sharing.store}; changes of other nodes ${
    sharing.feed === 'connected' ? 'arrive at once' : 'are asked for'
  }${waits === 0 ? '' : `; ${waits} settlements wait to be written`}.</p>
    <p></p>
    <${Table} caption="Nodes on the store" columns=${columns} rows=${sharing.nodes} keyOf=${(/** @type {any} */ { node }) => node} empty="No node has registered yet." />`;
}
