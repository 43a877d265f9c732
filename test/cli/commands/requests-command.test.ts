// `requests` against a running gateway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileAt } from '../../config/files.ts';
import { requestRow } from '../../store/samples.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { poolgate } from '../run.ts';

const turn = (gate: TestGateway) => gate.send('/backend-api/agent/responses', { body: turnBody('hello') });

test('requests lists the log newest last, in columns', async (context) => {
  await using gate = await startGateway();
  await gate.send('/v1/models');
  await turn(gate);
  await gate.send('/v1/nothing');
  const { code, out, err } = await poolgate(['requests', '--config', fileAt(context, gate)]);
  assert.deepEqual([code, err], [0, '']);
  const [head, ...lines] = out.trimEnd().split('\n');
  assert.match(head ?? '', /^TIME \(UTC\) +KEY +MODEL +EFFORT +ACCOUNT +STATUS +CODE +TOOK +AWAY +TOKENS +RETRIES +WHY$/);
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +ci +- +- +- +200 +- +\d+ms +- +- +0 +-$/);
  assert.match(lines[1] ?? '', / ci +model-a +medium +NORTH +200 +- +\d+ms +- +\d+\+\d+ +0 +\w+$/);
  assert.match(lines[2] ?? '', / 404 +unknown_endpoint +\d+ms +- +- +0 +-$/);
});

test('filters choose rows by key, account, model, status, class and time', async (context) => {
  await using gate = await startGateway();
  const path = fileAt(context, gate);
  await turn(gate);
  await gate.send('/v1/nothing');
  const statuses = async (...args: readonly string[]): Promise<readonly number[]> => {
    const { code, out, err } = await poolgate(['requests', ...args, '--json', '--config', path]);
    assert.equal(code, 0, err);
    return JSON.parse(out).rows.map(({ status }: { status: number }) => status);
  };
  assert.deepEqual(await statuses(), [404, 200]);
  assert.deepEqual(await statuses('--account', 'north'), [200], 'by id');
  assert.deepEqual(await statuses('--account', 'NORTH'), [200], 'by label');
  assert.deepEqual(await statuses('--account', 'south'), []);
  assert.deepEqual(await statuses('--model', 'model-a'), [200]);
  assert.deepEqual(await statuses('--status', '404'), [404]);
  assert.deepEqual(await statuses('--status', '2xx'), [200]);
  assert.deepEqual(await statuses('--key', 'other'), []);
  assert.deepEqual(await statuses('--since', '1h'), [404, 200]);
  assert.deepEqual(await statuses('--since', '2999-01-01T00:00:00Z'), []);
  assert.deepEqual(await statuses('--limit', '1'), [404]);
});

test('a name that the gateway does not have is reported with the nearest one, unless rows have it', async (context) => {
  await using gate = await startGateway();
  const path = fileAt(context, gate);
  await turn(gate);
  await gate.leave({ requests: [requestRow({ key_id: 'former', pool: 'team' })] });
  const requests = (...args: readonly string[]) => poolgate(['requests', ...args, '--config', path]);
  const { code, out, err } = await requests('--key', 'cj');
  assert.deepEqual([code, err], [0, "the gateway has no key 'cj'; did you mean 'ci'?\n"]);
  assert.match(out, /^TIME .*\n$/);
  assert.equal(
    (await requests('--account', 'nroth', '--model', 'modle-a', '--json')).err,
    "the gateway has no account 'nroth'; did you mean 'north'?\nthe gateway has no model 'modle-a'; did you mean 'model-a'?\n",
  );
  assert.equal((await requests('--account', 'south', '--status', '500')).err, '');
  assert.equal((await requests('--account', 'SOUTH')).err, '', 'a label');
  const old = await requests('--key', 'former');
  assert.match(old.out, / former /);
  assert.equal(old.err, '');
});

test('a filter that cannot be read is a usage error, and rows that are left off are reported', async (context) => {
  await using gate = await startGateway();
  const path = fileAt(context, gate);
  for (const [args, message] of [
    ...['yesterday', '5', 'May', '2027-01-01', '2027-01-01T00:00:00', '2027-02-30T00:00:00Z', '1969-12-31T23:59:59Z'].map(
      (since) => [['--since', since], '--since takes a time such as 15m, 2h, 7d or 2027-01-01T00:00:00Z\n'] as const,
    ),
    [['--status', 'bad'], 'status takes a status such as 429, or a class such as 4xx\n'],
    [['--limit', '0'], 'limit takes 1 to 999\n'],
    [['--limit', '1000'], 'limit takes 1 to 999\n'],
  ] as const) {
    const { code, err } = await poolgate(['requests', ...args, '--config', path]);
    assert.deepEqual([code, err], [2, message]);
  }
  await turn(gate);
  await turn(gate);
  const { err } = await poolgate(['requests', '--limit', '1', '--config', path]);
  assert.equal(err, 'only the newest 1; --limit shows up to 999, and filters show fewer\n');
});

test('--follow prints each later row once, in the order in which requests ended', async (context) => {
  await using gate = await startGateway();
  await turn(gate);
  const every = async function* (ms: number) {
    assert.equal(ms, 1000);
    yield 0;
    await turn(gate);
    yield 1;
    yield 2;
    await gate.send('/v1/nothing');
    yield 3;
  };
  const { code, out } = await poolgate(['requests', '--follow', '--config', fileAt(context, gate)], {}, { every });
  assert.equal(code, 0);
  const [, ...lines] = out.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => / (200|404) /.exec(line)?.[1]),
    ['200', '200', '404'],
  );
  assert.equal(out.match(/^TIME/gm)?.length, 1);
});

test('--follow --json prints one row a line, with the filters, and continues after a gateway did not answer for a while', async (context) => {
  const gate = await startGateway();
  await turn(gate);
  const every = async function* () {
    await gate.send('/v1/nothing');
    await turn(gate);
    yield 0;
    await gate.close();
    yield 1;
  };
  const path = fileAt(context, gate);
  const { code, out, err } = await poolgate(['requests', '-f', '--json', '--status', '2xx', '--config', path], {}, { every });
  assert.equal(code, 0);
  assert.deepEqual(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).status),
    [200, 200],
  );
  assert.match(err, /^no gateway answers at /);
});

test('a model name cannot send control characters to the terminal', async (context) => {
  await using gate = await startGateway();
  await gate.send('/v1/responses', { body: { model: '\u001b[2Jmodel', input: 'hello' } });
  const { out } = await poolgate(['requests', '--config', fileAt(context, gate)]);
  assert.ok(!out.includes('\u001b'));
});

test('the admin route refuses a parameter that is not a filter', async () => {
  await using gate = await startGateway();
  const response = await fetch(`${gate.adminUrl}/api/requests?colour=red`);
  assert.equal(response.status, 400);
  assert.match(((await response.json()) as { error: string }).error, /^there is no parameter colour; known: id, pool, key, /);
});

test('a search that is too long for one answer goes on until it has what was asked for', async (context) => {
  await using gate = await startGateway();
  const at = Date.now();
  const rows = Array.from({ length: 1_200 }, (_, n) =>
    requestRow({
      id: `req_${String(n).padStart(6, '0')}`,
      at: at - 5_000 + n,
      status: n === 3 ? 418 : 429,
      status_class: '4xx',
      pool: 'team',
    }),
  );
  await gate.leave({ requests: rows });
  const { requestLog } = gate;
  const search = requestLog.search.bind(requestLog);
  // No answer has time left, so each looks at 500 rows.
  const asked = context.mock.method(requestLog, 'search', (filter: Parameters<typeof search>[0]) => search(filter, 0));
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  const reply = (await (await fetch(`${gate.adminUrl}/api/requests?status=418`)).json()) as any;
  assert.deepEqual([reply.rows, reply.more, reply.searched_from], [[], true, at - 5_000 + 700]);
  const { out, err } = await poolgate(['requests', '--status', '418', '--json', '--config', fileAt(context, gate)]);
  assert.equal(err, '');
  const { rows: found, more, next_cursor, searched_from } = JSON.parse(out);
  assert.deepEqual(
    found.map(({ id }: { id: string }) => id),
    ['req_000003'],
  );
  assert.deepEqual([more, next_cursor, searched_from], [false, null, undefined]);
  assert.equal(asked.mock.callCount(), 1 + 3);
});
