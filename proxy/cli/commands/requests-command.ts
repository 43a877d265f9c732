// `requests`: prints the request log for people, once or continuously.
import type { Command } from 'commander';
import type { RequestRow } from '../../../store/schema/logged-rows.ts';
import { msOfIso } from '../../base/time/iso-time.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json } from '../command.ts';
import { adminIn } from '../gateway/address.ts';
import { fetchRequests } from '../gateway/calls.ts';
import { unknownNames } from '../gateway/unknown-names.ts';
import { RequestLines } from '../text/request-lines.ts';

interface RequestsOptions extends CommonOptions {
  readonly key?: string;
  readonly account?: string;
  readonly model?: string;
  readonly status?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly follow?: boolean;
}

const POLL_MS = 1_000;
/** The time in which a row surely reaches the store. It usually takes 100 ms. */
const WRITTEN_WITHIN_MS = 1_000;
/** The overlap of two polls, so that no row is missed between them. */
const OVERLAP_MS = 5_000;

export function addRequests(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'requests',
    description: 'list the requests of the running gateway from its log, newest last; --follow prints further ones as they end',
    examples: [
      'poolgate requests --since 1h --status 5xx',
      'poolgate requests --key ci --follow',
      "poolgate requests --account north --json | jq '.rows[].duration_ms'",
    ],
  })
    .option('--key <id>', 'of this Pool API key')
    .option('--account <id>', 'that this account answered, or was the last to be tried for')
    .option('--model <id>', 'of this exposed model id')
    .option('--status <status>', 'with this status, such as 429, or of this class, such as 5xx')
    .option('--since <time>', 'that began within this time (90s, 15m, 2h, 7d), or since 2027-01-01T00:00:00Z')
    .option('--limit <count>', 'the newest ones, at most 999', '100')
    .option('-f, --follow', 'continue until Ctrl-C; with --json one row a line')
    .action(async ({ config: path, json: asJson, follow, since, ...options }: RequestsOptions) => {
      const admin = await adminIn(path, io);
      const { key, account, model, status, limit } = options;
      const filters = given({ key, account, model, status });
      let reply = await fetchRequests(admin, { ...filters, ...given({ limit, since: since && sinceOf(since) }) });
      if (reply.rows.length === 0) io.err(await unknownNames(admin, options));
      if (asJson && !follow) return io.out(json(reply));
      const lines = new RequestLines();
      const show = (rows: readonly RequestRow[]): void => {
        if (asJson) for (const one of rows) io.out(`${JSON.stringify(one)}\n`);
        else io.out(lines.of(rows));
      };
      if (reply.more && !asJson) io.err(`only the newest ${reply.rows.length}; --limit shows up to 999, and filters show fewer\n`);
      if (reply.unwritten !== undefined && !asJson)
        io.err(`the store cannot be written: the newest requests may be among ${reply.unwritten} rows that wait in memory\n`);
      show(reply.rows.toReversed());
      if (!follow) return;
      let shown = new Set(reply.rows.map(({ id }) => id));
      // Turns that ended before the list was made are in the list, or were excluded by its filters.
      const from = reply.now - WRITTEN_WITHIN_MS;
      for await (const _ of io.every(POLL_MS)) {
        const next = await fetchRequests(admin, { ...filters, limit: '999', ended_since: String(reply.now - OVERLAP_MS) }).catch(failureOf);
        if (next instanceof CommandFailure) {
          // The gateway may come back. Requests that end before that are then read.
          io.err(`${next.message}\n`);
          continue;
        }
        reply = next;
        const fresh = reply.rows.filter((row) => !shown.has(row.id) && endOf(row) >= from);
        // A row that is not in this reply is older than the overlap.
        shown = new Set(reply.rows.map(({ id }) => id));
        if (fresh.length > 0) show(fresh.toSorted((a, b) => endOf(a) - endOf(b)));
        if (reply.more) io.err('more requests ended than can be shown; filters show fewer\n');
      }
    });
}

function failureOf(thrown: unknown): CommandFailure {
  if (thrown instanceof CommandFailure) return thrown;
  throw thrown;
}

const endOf = ({ at, duration_ms }: RequestRow): number => at + duration_ms;

const given = (options: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined));

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Matches the form of `expires_at` in the file. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})$/;

/** The time in Unix milliseconds. @throws {CommandFailure} */
function sinceOf(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const written = TIME.test(text) ? msOfIso(text) : Number.NaN;
  const at = count === undefined ? written : Date.now() - Number(count) * (UNIT_MS[unit] ?? 0);
  if (!(at >= 0)) throw new CommandFailure(`--since takes a time such as 15m, 2h, 7d or 2027-01-01T00:00:00Z`, { exitCode: 2 });
  return String(at);
}
