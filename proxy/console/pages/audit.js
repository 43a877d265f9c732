// Audit: who changed what, newest first.
import { address, filter } from '../base/address.js';
import { withQuery } from '../base/api.js';
import { time } from '../base/format.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { Field } from '../parts/field.js';
import { Failure, Table, Waiting } from '../parts/shown.js';

const FILTERS = /** @type {const} */ ([
  ['actor', 'Actor'],
  ['action', 'Action', 'key.change'],
  ['target', 'Target'],
]);

export function Audit() {
  const { cursor, ...query } = address.value.query;
  const { data, error } = useLive(withQuery('/api/audit', { ...query, cursor, limit: 50 }), cursor ? [] : ['configuration', 'accounts']);
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Time', cell: ({ at }) => time(at, { seconds: true }) },
    { head: 'Actor', cell: ({ actor }) => actor },
    { head: 'Action', cell: ({ action }) => action },
    { head: 'Target', cell: ({ target, pool }) => html`${target}${pool && html`<small>Pool ${pool}</small>`}` },
    {
      head: 'Changes',
      cell: ({ fields }) =>
        fields.length === 0
          ? '–'
          : html`<ul class="plain">${fields.map((/** @type {any} */ { path, from, to }) => html`<li key=${path}><code>${path}</code>${changeOf(from, to)}</li>`)}</ul>`,
    },
  ];
  const isFiltered = Object.keys(query).length > 0;
  const empty = isFiltered
    ? html`No row matches. <button type="button" onClick=${() => filter(Object.fromEntries(FILTERS.map(([name]) => [name, ''])))}>Show all</button>`
    : 'Nothing was changed yet. A change of the file, a key or an account leaves a row here.';
  return html`
    <h1>Audit</h1>
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${FILTERS.map(
        ([name, label, hint]) =>
          html`<${Field} key=${name} label=${label} value=${query[name]} hint=${hint} change=${(/** @type {string} */ to) => filter({ [name]: to, cursor: '' })} />`,
      )}
    </form>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Table} caption="Changes, newest first" columns=${columns} rows=${data.audit} keyOf=${(/** @type {any} */ row) => row.id} empty=${empty} />`}
    <p class="pages">
      ${cursor && html`<button type="button" onClick=${() => filter({ cursor: '' })}>Newest</button>`}
      ${data?.next_cursor && html`<button type="button" onClick=${() => filter({ cursor: data.next_cursor })}>Older</button>`}
    </p>
  `;
}

/** A row or setting that was added or removed as a whole has neither value, and its path says so. @param {string | null} from @param {string | null} to */
const changeOf = (from, to) => (from === null && to === null ? '' : `: ${from ?? 'none'} → ${to ?? 'none'}`);
