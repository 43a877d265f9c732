// The batched writer in isolation, with a disk that the test controls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../../../store/errors.ts';
import type { UsageHourRow, UsageRow } from '../../../store/schema/rows.ts';
import { attempts, audit, catalog, pins, requests, usage, usageHours } from '../../../store/schema/tables.ts';
import { hourRowOf } from '../../../store/schema/usage-sums.ts';
import type { Notice } from '../../../store/writing/notice.ts';
import { Writer, type WriterOptions } from '../../../store/writing/writer.ts';
import { holdTime } from '../../support/clocks/held-time.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';
import { attemptRow, auditEntry, pinRow, requestRow, usageRow } from '../samples.ts';

/** No test lasts so long. */
const LONG_MS = 3_600_000;

/** A disk that keeps the written rows as one array of ids or hashes for each batch, and fails while `error` is set. */
function disk() {
  const state = {
    batches: [] as string[][],
    error: undefined as StoreError | undefined,
    tries: 0,
    busy: false,
    async write(batch: ReadonlyMap<unknown, readonly object[]>) {
      assert.equal(state.busy, false, 'one batch at a time');
      state.busy = true;
      state.tries += 1;
      await setImmediate();
      state.busy = false;
      const rows = [...batch.values()].flat() as { readonly id?: string; readonly hash?: string; readonly request_id?: string }[];
      const seen = rows.map(({ id, hash, request_id }) => id ?? hash ?? request_id ?? '');
      if (seen.includes('bad')) throw new StoreError('bad_row', 'SQLite: SQLITE_CONSTRAINT');
      if (state.error) throw state.error;
      state.batches.push(seen);
    },
  };
  return state;
}

const full = new StoreError('full', 'SQLite: SQLITE_FULL');
const writerOn = (write: ReturnType<typeof disk>['write'], given: Partial<WriterOptions> = {}) =>
  new Writer(write, {
    clock: () => 77,
    queueRows: 1_000,
    batchRows: 200,
    flushMs: 20,
    gatherMs: LONG_MS,
    retryMs: [5, 20],
    notice: () => undefined,
    unmentioned: new Set(),
    ...given,
  });
const auditRow = (id: string) => ({ ...auditEntry(), id });
const hourOf = (account: string) => hourRowOf({ row: requestRow({ account }), attempts: [] });
const numbered = (count: number) => Array.from({ length: count }, (_, n) => requestRow({ id: `r${n}` }));
const names = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
/** Resolves when the writer has done everything that needs no timer. A batch on this disk takes one turn of the event loop. */
const quiet = async () => {
  for (let turns = 0; turns < 20; turns++) await setImmediate();
};
const sizes = (batches: readonly (readonly string[])[]) => batches.map(({ length }) => length);

test('every 200 rows are a batch, and the remaining ones wait for the timer', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write, { flushMs: LONG_MS });
  for (const row of numbered(450)) writer.append(requests, row);
  await quiet();
  assert.deepEqual(sizes(batches), [200, 200]);
  for (const row of numbered(149)) writer.append(requests, row);
  await quiet();
  assert.equal(batches.length, 2, '199 rows wait');
  writer.append(requests, requestRow({ id: 'the 200th' }));
  await quiet();
  assert.deepEqual(batches[2], [...names(numbered(450)).slice(400), ...names(numbered(149)), 'the 200th']);
  assert.equal(writer.stats().written, 600);
});

test('a row without others is written when it has waited long enough', async (context) => {
  const pass = holdTime(context, 1);
  const { write, batches } = disk();
  const writer = writerOn(write, { flushMs: 30 });
  writer.append(requests, requestRow());
  await pass(29);
  assert.equal(batches.length, 0);
  await pass(1);
  assert.equal(batches.length, 1);
});

test('rows that are large fill a batch sooner', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write, { batchRows: 1_000 });
  for (let n = 0; n < 10; n++) writer.put(catalog, { account: `a${n}`, entries: '[]', etag: null, read_at: 1 });
  await writer.flush(PATIENCE_MS);
  assert.deepEqual(sizes(batches), [2, 2, 2, 2, 2]);
});

test('a waiting writer does not keep the process alive', () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  writerOn(disk().write).append(requests, requestRow());
  assert.equal(timers(), before);
});

test('a full queue drops log rows only, and counts them', async () => {
  const state = disk();
  state.error = full;
  const writer = writerOn(state.write, { queueRows: 10 });
  for (const row of numbered(15)) writer.append(requests, row);
  writer.append(attempts, attemptRow());
  writer.put(pins, pinRow({ hash: 'p' }));
  const saved = writer.save(audit, auditRow('a'));
  await quiet();
  assert.equal(writer.stats().dropped, 6);
  state.error = undefined;
  await saved;
  assert.deepEqual(state.batches.flat(), [...names(numbered(10)), 'p', 'a']);
});

test('a failing disk is tried again with longer and longer pauses, throws nothing, and shows in the counters', async (context) => {
  const pass = holdTime(context, 1);
  const state = disk();
  state.error = full;
  const writer = writerOn(state.write, { flushMs: 1, retryMs: [10, 20] });
  writer.append(requests, requestRow());
  for (const [n, pause] of [1, 10, 20, 20].entries()) {
    await pass(pause - 1);
    assert.equal(state.tries, n, 'in the pause');
    await pass(1);
    assert.equal(state.tries, n + 1);
  }
  await quiet();
  assert.deepEqual(writer.stats(), { queued: 1, written: 0, dropped: 0, rejected: 0, failures: 4, last_error: 'full', failing_since: 77 });
  state.error = undefined;
  assert.equal(await writer.flush(PATIENCE_MS), true);
  assert.deepEqual(writer.stats(), {
    queued: 0,
    written: 1,
    dropped: 0,
    rejected: 0,
    failures: 4,
    last_error: 'full',
    failing_since: null,
  });
});

test('many callers that wait for a failing disk do not cause more tries', async (context) => {
  const pass = holdTime(context, 1);
  const state = disk();
  state.error = full;
  const writer = writerOn(state.write, { retryMs: [30, 30] });
  const saved: Promise<void>[] = [];
  for (let n = 0; n < 50; n++) {
    saved.push(writer.save(audit, auditRow(`a${n}`)));
    await pass(1);
  }
  assert.ok(state.tries <= 3 + 50 / 30, `${state.tries} tries`);
  state.error = undefined;
  await pass(30);
  await Promise.all(saved);
});

test('of the rows of one key that wait only the last is written, in the place of the first', async () => {
  const { write, batches } = disk();
  const seen: object[] = [];
  const writer = writerOn(async (batch) => {
    seen.push(...(batch.get(pins) ?? []));
    await write(batch);
  });
  writer.put(pins, pinRow({ account: 'one' }));
  writer.append(requests, requestRow({ id: 'r' }));
  writer.put(pins, pinRow({ account: 'two' }));
  await writer.flush(PATIENCE_MS);
  writer.put(pins, pinRow({ account: 'three' }));
  await writer.flush(PATIENCE_MS);
  assert.deepEqual(batches, [['ab12', 'r'], ['ab12']]);
  assert.deepEqual(seen, [pinRow({ account: 'two' }), pinRow({ account: 'three' })]);
});

test('a newer row of a key whose older row is being written comes after it, also when that had to be tried again', async () => {
  const state = disk();
  const seen: string[] = [];
  const writer = writerOn(async (batch) => {
    await state.write(batch);
    for (const row of batch.get(pins) ?? []) seen.push((row as { readonly account: string }).account);
  });
  state.error = full;
  const first = writer.save(pins, pinRow({ account: 'one' }));
  await quiet();
  const second = writer.save(pins, pinRow({ account: 'two' }));
  state.error = undefined;
  await Promise.all([first, second]);
  assert.deepEqual(seen, ['one', 'two']);
});

test('only the row that can never be written is rejected', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write);
  for (const row of numbered(150)) writer.append(requests, row);
  const bad = writer.save(audit, auditRow('bad'));
  const good = writer.save(audit, auditRow('good'));
  await assert.rejects(bad, { code: 'bad_row' });
  await good;
  assert.deepEqual(batches.flat(), [...names(numbered(150)), 'good']);
  const { written, rejected, queued, failing_since } = writer.stats();
  assert.deepEqual({ written, rejected, queued, failing_since }, { written: 151, rejected: 1, queued: 0, failing_since: null });
});

test('flush returns whether it was done before its deadline', async () => {
  const state = disk();
  const writer = writerOn(state.write);
  assert.equal(await writer.flush(1), true);
  state.error = full;
  writer.append(requests, requestRow());
  assert.equal(await writer.flush(15), false);
  state.error = undefined;
  assert.equal(await writer.flush(PATIENCE_MS), true);
});

test('flush waits for the rows that were queued when it was called, not for later ones', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write, { batchRows: 2, flushMs: LONG_MS });
  writer.append(requests, requestRow({ id: 'r' }));
  const coming = setInterval(() => writer.append(requests, requestRow({ id: 'more' })), 0);
  assert.equal(await writer.flush(PATIENCE_MS), true);
  clearInterval(coming);
  assert.equal(batches[0]?.[0], 'r');
  await writer.close(PATIENCE_MS);
});

test('the operator is notified once that writes fail, once that they succeed again, and not of a bad row', async () => {
  const state = disk();
  const heard: string[] = [];
  const writer = writerOn(state.write, {
    flushMs: 1,
    notice: (event, { message = '' } = {}) => void heard.push(`${event} ${message}`.trim()),
  });
  await assert.rejects(writer.save(audit, auditRow('bad')), { code: 'bad_row' });
  for (const code of ['full', 'locked'] as const) {
    state.error = new StoreError(code, 'SQLite');
    const { tries } = state;
    const saved = writer.save(audit, auditRow(code));
    await until('three tries', () => state.tries >= tries + 3 || undefined);
    state.error = undefined;
    await saved;
  }
  assert.deepEqual(heard, [
    'store_not_writable the disk is full: free some space. Until then rows wait in memory, and are lost at a stop',
    'store_writable',
    'store_not_writable another process has locked the database: end it. Until then rows wait in memory, and are lost at a stop',
    'store_writable',
  ]);
  assert.equal(await writer.close(PATIENCE_MS), 0, 'nothing was lost by the stop');
});

test('the operator is not notified of failures that are reported elsewhere, but of others among them', async () => {
  const state = disk();
  const heard: (string | number | undefined)[][] = [];
  const notice: Notice = (event, { code } = {}) => void heard.push(code === undefined ? [event] : [event, code]);
  const writer = writerOn(state.write, { flushMs: 1, notice, unmentioned: new Set(['unreachable']) });
  for (const [first, second] of [
    ['unreachable', 'unreachable'],
    ['unreachable', 'not_writable'],
  ] as const) {
    state.error = new StoreError(first, 'PostgreSQL');
    const { tries } = state;
    const saved = writer.save(audit, auditRow(`${first} ${second}`));
    await until('two tries', () => state.tries >= tries + 2 || undefined);
    state.error = new StoreError(second, 'PostgreSQL');
    await until('two more', () => state.tries >= tries + 4 || undefined);
    state.error = undefined;
    await saved;
  }
  assert.deepEqual(heard, [['store_not_writable', 'not_writable'], ['store_writable']]);
  await writer.close(PATIENCE_MS);
});

test('many flushes, saves and a close at once end together, with every row written once', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write, { batchRows: 7 });
  const work: Promise<unknown>[] = [];
  for (let n = 0; n < 100; n++) {
    writer.append(requests, requestRow({ id: `r${n}` }));
    if (n % 9 === 0) work.push(writer.flush(PATIENCE_MS), writer.save(audit, auditRow(`a${n}`)));
  }
  work.push(writer.close(PATIENCE_MS), writer.close(PATIENCE_MS), writer.flush(PATIENCE_MS));
  await Promise.all(work);
  assert.equal(new Set(batches.flat()).size, 112);
  assert.equal(batches.flat().length, 112);
  assert.deepEqual(writer.stats(), {
    queued: 0,
    written: 112,
    dropped: 0,
    rejected: 0,
    failures: 0,
    last_error: null,
    failing_since: null,
  });
});

test('close gives up at its deadline, counts the lost rows, and rejects waiting callers', async (context) => {
  const pass = holdTime(context, 1);
  const state = disk();
  state.error = full;
  const writer = writerOn(state.write, { batchRows: 10 });
  for (const row of numbered(25)) writer.append(requests, row);
  const saved = assert.rejects(writer.save(audit, auditRow('a')), { code: 'closed' });
  const closed = writer.close(20);
  await pass(20);
  assert.equal(await closed, 26);
  await saved;
  const { queued, written, dropped } = writer.stats();
  assert.deepEqual({ queued, written, dropped }, { queued: 0, written: 0, dropped: 26 });
  const { tries } = state;
  await pass(50);
  assert.equal(state.tries, tries);
});

test('[Q18] the usage of turns and their rows are in the same batch, however batches are cut', async () => {
  const stored: { rows: number; requests: number }[] = [];
  const writer = writerOn(
    async (batch) => {
      await setImmediate();
      const rows = batch.get(requests)?.length ?? 0;
      const sums = (batch.get(usage) ?? []) as readonly UsageRow[];
      assert.ok(sums.length <= 2, 'one row for each key');
      stored.push({ rows, requests: sums.reduce((sum, row) => sum + row.requests, 0) });
    },
    { batchRows: 7 },
  );
  for (let n = 0; n < 100; n++) {
    const key_id = n % 3 === 0 ? 'ci' : 'other';
    writer.putTogether(
      [usage, usageRow({ key_id, requests: 1 })],
      [
        [requests, requestRow({ id: `r${n}` })],
        [attempts, attemptRow({ request_id: `r${n}` })],
      ],
    );
    if (n % 10 === 0) await quiet();
  }
  assert.equal(await writer.close(PATIENCE_MS), 0);
  assert.ok(stored.length > 10);
  for (const { rows, requests: used } of stored) assert.equal(used, rows);
  assert.equal(
    stored.reduce((sum, { rows }) => sum + rows, 0),
    100,
  );
  assert.equal(writer.stats().written, 300);
});

test('[Q18] usage is kept where its log rows are dropped, or can never be written', async () => {
  const { write, batches } = disk();
  const full = writerOn(write, { queueRows: 2, flushMs: LONG_MS });
  for (let n = 0; n < 5; n++) full.putTogether([usage, usageRow({ requests: 1 })], [[requests, requestRow({ id: `r${n}` })]]);
  assert.equal(full.stats().dropped, 4);
  assert.equal(await full.close(PATIENCE_MS), 0);
  assert.deepEqual(
    batches.flat().filter((id) => id !== ''),
    ['r0'],
  );
  const writer = writerOn(write, { flushMs: LONG_MS });
  writer.putTogether([usage, usageRow({ requests: 1 })], [[requests, requestRow({ id: 'bad' })]]);
  assert.equal(await writer.flush(1_000), true, 'nothing is left to wait for');
  assert.deepEqual([writer.stats().written, writer.stats().rejected], [1, 1]);
  writer.append(requests, requestRow({ id: 'later' }));
  await quiet();
  assert.equal(writer.stats().queued, 1, 'nobody waits for it');
  assert.equal(await writer.close(PATIENCE_MS), 0);
});

test('sums that many turns add to are written once for all of them, at the latest with a flush', async () => {
  const written: (readonly UsageHourRow[])[] = [];
  const writer = writerOn(
    async (batch) => {
      const rows = (batch.get(usageHours) ?? []) as readonly UsageHourRow[];
      if (rows.length > 0) written.push(rows);
    },
    { flushMs: 1 },
  );
  for (let n = 0; n < 100; n++) {
    writer.append(requests, requestRow({ id: `r${n}` }));
    writer.gather(usageHours, hourOf(n % 2 === 0 ? 'east' : 'west'));
    if (n % 10 === 0) await until('a batch', () => writer.stats().queued <= 2 || undefined);
  }
  assert.equal(written.length, 0);
  await writer.flush(PATIENCE_MS);
  assert.deepEqual(
    written.map((rows) => rows.map(({ account, requests: count }) => [account, count])),
    [
      [
        ['east', 50],
        ['west', 50],
      ],
    ],
  );
  assert.equal(writer.stats().queued, 0);
  writer.gather(usageHours, hourOf('east'));
  assert.equal(await writer.close(PATIENCE_MS), 0);
  assert.equal(written.length, 2);
});

test('sums are written without a flush when they have been gathered for long enough', async () => {
  const { write, batches } = disk();
  const writer = writerOn(write, { flushMs: 1, gatherMs: 1 });
  writer.gather(usageHours, hourOf('east'));
  await until('the sums', () => batches.length === 1 || undefined);
  assert.equal(await writer.close(PATIENCE_MS), 0);
});

test('while the disk is full, pins wait within the bound, soft ones are dropped first, and what must last is kept', async () => {
  const state = disk();
  state.error = full;
  const writer = writerOn(state.write, { queueRows: 100, retryMs: [1_000, 1_000] });
  for (let n = 0; n < 300; n++) writer.offer(pins, pinRow({ hash: `soft${n}` }), 0.8);
  assert.equal(writer.stats().queued, 80);
  for (let n = 0; n < 300; n++) writer.offer(pins, pinRow({ hash: `hard${n}` }), 1);
  assert.deepEqual([writer.stats().queued, writer.stats().dropped], [100, 220 + 280]);
  writer.offer(pins, pinRow({ hash: 'hard0', account: 'moved' }), 1);
  writer.put(audit, auditRow('audited'));
  assert.deepEqual([writer.stats().queued, writer.stats().dropped], [101, 500], 'a newer value of a waiting row takes no room');
  state.error = undefined;
  assert.equal(await writer.close(5_000), 0);
  const stored = state.batches.flat();
  assert.equal(stored.length, 101);
  assert.ok(stored.includes('hard19') && stored.includes('audited') && !stored.includes('soft80') && !stored.includes('hard20'));
});
