// Elements that all pages share: tables that scroll separately, states with colour and word, bars, errors, and texts for empty lists.
import { html } from '../base/html.js';

/** @typedef {'good' | 'warn' | 'bad' | 'idle'} Tone */

/**
 * @template Row
 * @typedef {{ head: string, cell: (row: Row) => unknown, number?: boolean }} Column
 */

/**
 * @template Row
 * @param {{ caption: string, columns: readonly Column<Row>[], rows: readonly Row[], keyOf: (row: Row) => string, empty: unknown }} props
 */
export function Table({ caption, columns, rows, keyOf, empty }) {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>${caption}</caption>
      <thead>
        <tr>${columns.map(({ head, number }) => html`<th scope="col" key=${head} class=${number ? 'number' : undefined}>${head}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr key=${keyOf(row)}>
              ${columns.map(({ head, cell, number }) => html`<td key=${head} data-head=${head} class=${number ? 'number' : undefined}><div>${cell(row)}</div></td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ tone: Tone, children?: import('../base/html.js').Children }} props */
export const State = ({ tone, children }) => html`<span class=${`state ${tone}`}>${children}</span>`;

/** @param {{ share: number, label: string, tone?: Tone }} props share: 0 to 1 */
export function Bar({ share, label, tone = 'good' }) {
  const value = Math.max(0, Math.min(1, share));
  return html`<meter class=${tone} min="0" max="1" value=${value} aria-label=${label}></meter>`;
}

/** @param {{ error: import('../base/api.js').ApiError | undefined, hasData: boolean }} props */
export function Failure({ error, hasData }) {
  if (!error) return null;
  const text = hasData && error.status === 0 ? 'The gateway does not answer; this is what it answered last.' : error.message;
  return html`<p class="notice" role="alert">${text}</p>`;
}

/** A text in which words between backquotes are code. @param {{ text: string }} props */
export const Prose = ({ text }) => html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code key=${i}>${part}</code>` : part))}`;

/** @param {{ title: string, children?: import('../base/html.js').Children }} props */
export const Section = ({ title, children }) => html`<section><h2>${title}</h2>${children}</section>`;

/** @param {{ isWaiting: boolean }} props */
export const Waiting = ({ isWaiting }) => (isWaiting ? html`<p role="status" class="hint">Asking the gateway …</p>` : null);
