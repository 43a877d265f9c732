// A gateway on its own file with several operators, for tests of edits over the admin API.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import { poolgate, type Ran } from '../../cli/run.ts';
import { folderFor } from '../../config/files.ts';
import { bearerOf, type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { operatorRow, tokenOf } from '../../support/mcp.ts';
import { portOfOurs } from '../../support/network/ports.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

export interface Asking {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Stage {
  readonly gate: TestGateway;
  readonly path: string;
  /** Sends a request to the API. @param name such as `POST /api/keys` */
  as(operator: string | null, name: string, asking?: Asking): Promise<Answer>;
  file(): string;
  /** The parsed content of the file. */
  content(): Draft;
  /** Runs a command on this file; with `operator`, the command sends the token of that operator. */
  run(args: readonly string[], operator?: string): Promise<Ran>;
}

/**
 * Starts a gateway with two Pools, both served by `north`. The operator `ops` owns `team` and sees `lab`, `lab` owns `lab`, `root` sees and
 * changes everything.
 * @param comment edits the written text, like an operator who adds comments
 */
export async function stage(
  context: TestContext,
  {
    config,
    comment,
    onLoopback = false,
  }: { config?: (draft: Draft) => void; comment?: (text: string) => string; onLoopback?: boolean } = {},
): Promise<Stage> {
  const folder = folderFor(context);
  const port = await portOfOurs();
  const path = join(folder, 'config.yaml');
  for (const id of ['north', 'south']) writeFileSync(join(folder, id), bearerOf(id));
  const gate = await startGateway({
    path,
    config: (draft) => {
      for (const account of draft.accounts) account.credential = { bearer: { file: join(folder, account.id) } };
      draft.admin = { host: onLoopback ? '127.0.0.1' : '0.0.0.0', port };
      draft.pools.push({ id: 'lab', label: 'Lab', assignments: [{ account: 'north' }] });
      draft.keys.push({ id: 'bench', pool: 'lab', secret_sha256: ['b'.repeat(64)] });
      draft.operators = [operatorRow('ops', ['team'], ['lab']), operatorRow('lab', ['lab']), { ...operatorRow('root', []), admin: true }];
      config?.(draft);
    },
  });
  context.after(() => gate.close());
  if (comment) writeFileSync(path, comment(readFileSync(path, 'utf8')));
  const file = (): string => readFileSync(path, 'utf8');
  return {
    gate,
    path,
    file,
    content: () => parse(file()) as Draft,
    run: (args, operator) => poolgate([...args, '--config', path], operator === undefined ? {} : { POOLGATE_TOKEN: tokenOf(operator) }),
    async as(operator, name, { body, headers = {} } = {}) {
      const [method = '', to = ''] = name.split(' ');
      const response = await fetch(gate.adminUrl + to, {
        method,
        headers: {
          'x-poolgate-command': '1',
          ...(operator !== null && { authorization: `Bearer ${tokenOf(operator)}` }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, text, json: JSON.parse(text) };
    },
  };
}
