// One turn at the side of the page: its data, its timeline, and the reason for the choice of its account.
import { filter } from '../../base/address.js';
import { count, firstOf, time, took } from '../../base/format.js';
import { html } from '../../base/html.js';
import { useLive } from '../../base/live.js';
import { Dialog } from '../dialog.js';
import { Failure, Waiting } from '../shown.js';
import { Timeline } from './timeline.js';

/** @param {{ id: string }} props */
export function TurnDrawer({ id }) {
  const { data, error } = useLive(`/api/requests/${encodeURIComponent(id)}`, []);
  return html`<${Dialog} title="Request" isDrawer close=${() => filter({ turn: '' })}>
    <p><code>${id}</code></p>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${Turn} ...${data} />`}
  </${Dialog}>`;
}

/** @param {{ turn: any, attempts: readonly any[], accounts?: readonly { account: string, outcome: string, why: string }[] }} props */
function Turn({ turn, attempts, accounts = [] }) {
  /** @type {readonly (readonly [string, unknown])[]} */
  const facts = [
    ['Began', time(turn.at, { seconds: true })],
    ['Status', statusOf(turn)],
    ['Took', took(turn.duration_ms)],
    ['Endpoint', `${turn.method} ${turn.endpoint}`],
    ['Pool', turn.pool],
    ['Key', turn.key_id],
    ['Model', turn.requested_model ? `${turn.model}, for ${turn.requested_model}` : turn.model],
    ['Mode', turn.effective_mode],
    ['Effort', turn.effort],
    ['Tokens in and out', tokensOf(turn)],
    ['Of it cached', turn.cached_input_tokens === null ? null : count(turn.cached_input_tokens)],
    ['Overflow', turn.overflow && `tier ${turn.tier}: lower tiers were ${turn.overflow}`],
    ['Adapted', turn.adapted],
    ['Refused parameter', turn.upstream_error_param],
  ];
  return html`
    <dl>${facts.map(([name, value]) => value && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <h3>Timeline</h3>
    <${Timeline} turn=${turn} attempts=${attempts} />
    ${accounts.length > 0 && html`<h3>Why this account, and why not each other</h3><${Reasons} accounts=${accounts} />`}
  `;
}

/**
 * The reasons. Accounts with the same reason share a line.
 * @param {{ accounts: readonly { account: string, outcome: string, why: string }[] }} props
 */
function Reasons({ accounts }) {
  /** @type {Map<string, string[]>} */
  const lines = new Map();
  for (const { account, outcome, why } of accounts) {
    const line = `${outcome.replace('_', ' ')}: ${why}`;
    lines.set(line, [...(lines.get(line) ?? []), account]);
  }
  return html`<ul class="plain reasons">${[...lines].map(
    ([line, names]) => html`<li key=${line}><strong>${firstOf(names, MOST_NAMES)}</strong><small>${line}</small></li>`,
  )}</ul>`;
}

const MOST_NAMES = 12;

/** @param {any} row */
export const statusOf = ({ status, outcome, code }) =>
  [status, ...(status < 400 && outcome !== 'completed' ? [outcome] : []), ...(code ? [code] : [])].join(' ');

/** @param {any} row */
export function tokensOf({ input_tokens, output_tokens, tokens_estimated }) {
  if (input_tokens === null && output_tokens === null) return '–';
  return `${tokens_estimated ? '~' : ''}${count(input_tokens)} + ${count(output_tokens)}`;
}
