// `usage`: prints requests, tokens and cost of the running gateway by key, Pool, model, account or day.
import type { Command } from 'commander';
import { USAGE_GROUPS, type UsageBy, type UsageReply, type UsageRowReply, type UsageSumsReply } from '../../admin/replies/usage-reply.ts';
import { addCommand, CommandFailure, type CommonOptions, collect, type Io, json, table } from '../command.ts';
import { adminIn } from '../gateway/address.ts';
import { fetchUsage } from '../gateway/calls.ts';
import { unknownNames } from '../gateway/unknown-names.ts';
import { cell } from '../text/text-cells.ts';

interface UsageOptions extends CommonOptions {
  readonly by?: readonly string[];
  readonly since: string;
  readonly until?: string;
  readonly key?: string;
  readonly pool?: string;
  readonly model?: string;
  readonly account?: string;
  readonly csv?: boolean;
}

const PAGE = '200';
const WIDTH = 60;

export function addUsage(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'usage',
    description: 'sum requests, tokens and cost of the running gateway by key, Pool, model, account, day or hour',
    examples: [
      'poolgate usage',
      'poolgate usage --by model --by account --since 24h',
      'poolgate usage --by day --key ci --since 28d --csv > usage.csv',
    ],
  })
    .option('--by <group>', `what a row is of: ${USAGE_GROUPS.join(', ')}; repeat for several; key if absent`, collect)
    .option('--since <time>', 'from this time on: 24h, 7d, or 2027-01-01', '7d')
    .option('--until <time>', 'up to this time; now if absent')
    .option('--key <id>', 'of this Pool API key')
    .option('--pool <id>', 'of this Pool')
    .option('--model <id>', 'of this exposed model id')
    .option('--account <id>', 'of this account')
    .option('--csv', 'print comma-separated values')
    .action(async ({ config: path, json: asJson, csv: asCsv, by, ...filters }: UsageOptions) => {
      const groups = by ?? (filters.model === undefined && filters.account === undefined ? ['key'] : ['model']);
      const admin = await adminIn(path, io);
      const query = [
        ...groups.map((group): [string, string] => ['by', group]),
        ...Object.entries(filters).flatMap(([name, value]): [string, string][] => (typeof value === 'string' ? [[name, value]] : [])),
        ['limit', PAGE] as [string, string],
      ];
      const first = await fetchUsage(admin, query);
      if (first.rows.length === 0) io.err(await unknownNames(admin, filters));
      const rows = [...first.rows];
      for (let { next_cursor: cursor } = first; cursor !== null; ) {
        const next = await fetchUsage(admin, [...query, ['cursor', cursor]]);
        rows.push(...next.rows);
        cursor = next.next_cursor;
      }
      const all = { ...first, rows, next_cursor: null };
      if (asJson && asCsv) throw new CommandFailure('--json and --csv exclude each other', { exitCode: 2 });
      if (asJson) io.out(json(all));
      else if (asCsv) io.out(csvOf(all, groups));
      else io.out(textOf(all, groups));
    });
}

interface Column {
  readonly head: string;
  readonly name: keyof UsageRowReply;
  cell(row: UsageSumsReply): string;
}

const whole = (value: number | null): string => (value === null ? '-' : String(value));

const SUMS: readonly Column[] = [
  { head: 'REQUESTS', name: 'request_count', cell: (row) => whole(row.request_count) },
  { head: 'FAILED', name: 'failed_count', cell: (row) => whole(row.failed_count) },
  { head: 'INPUT', name: 'input_tokens', cell: (row) => whole(row.input_tokens) },
  { head: 'CACHED', name: 'cached_input_tokens', cell: (row) => whole(row.cached_input_tokens) },
  { head: 'OUTPUT', name: 'output_tokens', cell: (row) => whole(row.output_tokens) },
  { head: 'UNKNOWN', name: 'unknown_count', cell: (row) => whole(row.unknown_count) },
  { head: 'USD', name: 'cost_usd', cell: (row) => row.cost_usd.toFixed(4) },
  { head: 'FIRST MS', name: 'first_event_ms', cell: (row) => whole(row.first_event_ms) },
];

/** The name of a row. A day or an hour is named by its beginning. */
const nameOf = (row: UsageRowReply, group: UsageBy): string =>
  group === 'day' ? (row.from ?? '').slice(0, 10) : group === 'hour' ? (row.from ?? '').slice(0, 16) : (row[group] ?? '');

const isGroup = (group: string): group is UsageBy => (USAGE_GROUPS as readonly string[]).includes(group);

/** The groups in the order in which the gateway sorts. */
const inOrder = (groups: readonly string[]): readonly UsageBy[] =>
  (['day', 'hour', 'key', 'pool', 'account', 'model'] as const).filter((group) => groups.includes(group) && isGroup(group));

function textOf({ since, rows, total }: UsageReply, groups: readonly string[]): string {
  if (rows.length === 0) return `no request since ${since}\n`;
  const named = inOrder(groups);
  const isOverTime = named.some((group) => group === 'day' || group === 'hour');
  const shown = isOverTime ? rows : rows.toSorted(byUse);
  const cells = shown.map((row) => [
    ...named.map((group) => cell(nameOf(row, group) || '-', WIDTH)),
    ...SUMS.map((column) => column.cell(row)),
  ]);
  const sum = [...named.map((_, i) => (i === 0 ? 'all' : '')), ...SUMS.map((column) => column.cell(total))];
  return `since ${since}\n${table([...named.map((group) => group.toUpperCase()), ...SUMS.map(({ head }) => head)], [...cells, sum])}`;
}

/** The greatest cost first, and among equal ones the most tokens and requests. */
const byUse = (a: UsageRowReply, b: UsageRowReply): number =>
  b.cost_usd - a.cost_usd || tokensOf(b) - tokensOf(a) || b.request_count - a.request_count;

const tokensOf = ({ input_tokens, output_tokens }: UsageRowReply): number => input_tokens + output_tokens;

function csvOf({ rows }: UsageReply, groups: readonly string[]): string {
  const named = inOrder(groups);
  const lines = rows.map((row) => [...named.map((group) => nameOf(row, group)), ...SUMS.map(({ name }) => String(row[name] ?? ''))]);
  return [[...named, ...SUMS.map(({ name }) => name)], ...lines].map((line) => `${line.map(quoted).join(',')}\r\n`).join('');
}

/** A cell in the form of RFC 4180. A text that a spreadsheet would run as a formula is marked as text. */
function quoted(cell: string): string {
  const text = /^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell)) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
