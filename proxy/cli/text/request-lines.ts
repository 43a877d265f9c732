// Writes rows of the request log as lines of a table. Columns never get narrower, so that later rows stay below their heads.
import type { RequestRow } from '../../../store/schema/logged-rows.ts';
import { cell, timeSpan } from './text-cells.ts';

interface Column {
  readonly head: string;
  cell(row: RequestRow): string | null;
  /** Whether the column is aligned to the right, as numbers are. */
  readonly isNumber?: true;
}

const COLUMNS: readonly Column[] = [
  { head: 'TIME (UTC)', cell: ({ at }) => new Date(at).toISOString().slice(0, 19).replace('T', ' ') },
  { head: 'KEY', cell: ({ key_id }) => key_id },
  { head: 'MODEL', cell: ({ model }) => model },
  { head: 'EFFORT', cell: ({ effort }) => effort },
  { head: 'ACCOUNT', cell: ({ account }) => account },
  { head: 'STATUS', cell: statusOf },
  { head: 'CODE', cell: ({ code, error_class }) => code ?? error_class },
  { head: 'TOOK', cell: ({ duration_ms }) => took(duration_ms), isNumber: true },
  { head: 'AWAY', cell: ({ detached_ms }) => (detached_ms ? took(detached_ms) : null), isNumber: true },
  { head: 'TOKENS', cell: tokensOf, isNumber: true },
  { head: 'RETRIES', cell: ({ retries }) => String(retries), isNumber: true },
  { head: 'WHY', cell: ({ why }) => why?.reason ?? null },
];
/** The largest width of a cell. Ids and codes are usually shorter. */
const MOST_WIDTH = 40;

export class RequestLines {
  #widths: readonly number[] = COLUMNS.map(({ head }) => head.length);
  #headed = false;

  /** @param rows the rows in the order of the lines; the heads come above the first lines */
  of(rows: readonly RequestRow[]): string {
    const cells = rows.map(cellsOf);
    this.#widths = this.#widths.map((width, i) => Math.max(width, ...cells.map((row) => row[i]?.length ?? 0)));
    const head = this.#headed ? [] : [COLUMNS.map((column) => column.head)];
    this.#headed = true;
    return [...head, ...cells].map((row) => `${this.#line(row)}\n`).join('');
  }

  #line(row: readonly string[]): string {
    const padded = COLUMNS.map(({ isNumber }, i) => {
      const [text = '', width = 0] = [row[i], this.#widths[i]];
      return isNumber ? text.padStart(width) : text.padEnd(width);
    });
    return padded.join('  ').trimEnd();
  }
}

const cellsOf = (row: RequestRow): readonly string[] => COLUMNS.map((column) => cell(column.cell(row) ?? '-', MOST_WIDTH));

const took = (ms: number): string => (ms < 10_000 ? `${ms}ms` : timeSpan(ms));

/** The status. The outcome is added if the status does not show it, as for a reply that was cut, which has status 200. */
function statusOf({ status, outcome }: RequestRow): string {
  return status < 400 && outcome !== 'completed' ? `${status} ${outcome}` : String(status);
}

/** The input and output tokens, such as `1200+340`, with `~` before an estimate. */
function tokensOf({ input_tokens, output_tokens, tokens_estimated }: RequestRow): string | null {
  if (input_tokens === null && output_tokens === null) return null;
  return `${tokens_estimated ? '~' : ''}${input_tokens ?? '?'}+${output_tokens ?? '?'}`;
}
