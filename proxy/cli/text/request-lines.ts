// Rows of the request log as lines of a table. Its columns only grow, so that rows that come later stay below their heads.
import type { RequestRow } from '../../../store/schema/rows.ts';
import { cell, timeSpan } from './text-cells.ts';

const HEAD = ['TIME (UTC)', 'KEY', 'MODEL', 'EFFORT', 'ACCOUNT', 'STATUS', 'CODE', 'TOOK', 'AWAY', 'TOKENS', 'RETRIES', 'WHY'] as const;
/** The largest width of a cell; ids and codes are usually shorter. */
const MOST_WIDTH = 40;
/** Numbers are read from the right. */
const RIGHT: ReadonlySet<(typeof HEAD)[number]> = new Set(['TOOK', 'AWAY', 'TOKENS', 'RETRIES']);

export class RequestLines {
  #widths: readonly number[] = HEAD.map(({ length }) => length);
  #headed = false;

  /** @param rows in the order of the lines; the first lines have the heads above them */
  of(rows: readonly RequestRow[]): string {
    const cells = rows.map(cellsOf);
    this.#widths = this.#widths.map((width, i) => Math.max(width, ...cells.map((row) => row[i]?.length ?? 0)));
    const head = this.#headed ? [] : [HEAD];
    this.#headed = true;
    return [...head, ...cells].map((row) => `${this.#line(row)}\n`).join('');
  }

  #line(row: readonly string[]): string {
    const padded = HEAD.map((name, i) => {
      const [text = '', width = 0] = [row[i], this.#widths[i]];
      return RIGHT.has(name) ? text.padStart(width) : text.padEnd(width);
    });
    return padded.join('  ').trimEnd();
  }
}

const cellsOf = (row: RequestRow): readonly string[] =>
  [
    new Date(row.at).toISOString().slice(0, 19).replace('T', ' '),
    row.key_id ?? '-',
    row.model ?? '-',
    row.effort ?? '-',
    row.account ?? '-',
    statusOf(row),
    row.code ?? row.error_class ?? '-',
    took(row.duration_ms),
    row.detached_ms ? took(row.detached_ms) : '-',
    tokensOf(row),
    String(row.retries),
    row.why?.reason ?? '-',
  ].map((text) => cell(text, MOST_WIDTH));

const took = (ms: number): string => (ms < 10_000 ? `${ms}ms` : timeSpan(ms));

/** The outcome is shown where the status does not imply it: a reply that was cut has status 200. */
const statusOf = ({ status, outcome }: RequestRow): string =>
  status < 400 && outcome !== 'completed' ? `${status} ${outcome}` : String(status);

/** `1200+340`: input and output; `~` before an estimate. */
function tokensOf({ input_tokens, output_tokens, tokens_estimated }: RequestRow): string {
  if (input_tokens === null && output_tokens === null) return '-';
  return `${tokens_estimated ? '~' : ''}${input_tokens ?? '?'}+${output_tokens ?? '?'}`;
}
