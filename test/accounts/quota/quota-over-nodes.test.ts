// The quota of accounts over nodes: the newest statement counts, whichever node received it, and a node that overwrote it is notified.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountRecords } from '../../../proxy/accounts/account-record.ts';
import { Quota } from '../../../proxy/accounts/quota/quota.ts';
import type { QuotaStatement } from '../../../proxy/turn/provider/quota-statement.ts';
import { account } from '../../models/support.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';

/** Two nodes over one column, which each of them replaces as a whole. */
function world() {
  const clock = new ManualClock();
  const stored = new Map<string, object>();
  const writes: string[] = [];
  const node = (name: string): Quota => {
    const quota = new Quota({
      clock,
      records: new AccountRecords(),
      shared: true,
      load: (id) => stored.get(id) ?? null,
      save: (id, written) => {
        writes.push(name);
        stored.set(id, JSON.parse(JSON.stringify(written)));
      },
    });
    quota.configure([account('north')]);
    return quota;
  };
  return { clock, stored, writes, one: node('one'), other: node('other') };
}

const HOUR_S = 3_600;

const says = (clock: ManualClock, used: number, reached: boolean | undefined = false): QuotaStatement => ({
  source: 'headers',
  windows: [{ seconds: 18_000, used, resetsAt: Math.floor(clock.now() / 1000) + HOUR_S }],
  reached,
});

test('[Q34] a later statement of another node replaces an earlier one of this node, and never the other way round', async () => {
  const { clock, one, other } = world();
  one.record('north', says(clock, 30));
  await clock.advance(10_000);
  other.record('north', says(clock, 60));
  await clock.advance(10_000);
  one.refresh('north');
  assert.equal(one.stateAt('north', clock.now())?.remaining, 0.4);
  one.record('north', says(clock, 70));
  one.refresh('north');
  assert.equal(one.stateAt('north', clock.now())?.remaining, 0.3, 'its own statement is newer');
});

test('[Q34] an exhaustion that another node overwrote in the same moment is stored again', async () => {
  const { clock, one, other, writes } = world();
  one.recordRefusal('north', Math.floor(clock.now() / 1000) + HOUR_S);
  other.record('north', says(clock, 100));
  assert.deepEqual(writes, ['one', 'other'], 'the other one did not know of it');
  one.refresh('north');
  assert.deepEqual(writes, ['one', 'other', 'one']);
  other.refresh('north');
  one.refresh('north');
  assert.deepEqual(writes.length, 3, 'both agree, and neither writes again');
  for (const node of [one, other]) assert.ok(node.stateAt('north', clock.now())?.exhausted);
});

test('[Q34] a recovery that one node observed ends the exhaustion at the other one, and is not undone by it', async () => {
  const { clock, one, other } = world();
  one.recordRefusal('north', Math.floor(clock.now() / 1000) + HOUR_S);
  other.refresh('north');
  assert.ok(other.stateAt('north', clock.now())?.exhausted);
  const recovered: string[] = [];
  one.onRecovery((id) => recovered.push(id));
  await clock.advance(120_000);
  other.record('north', says(clock, 5));
  assert.equal(other.stateAt('north', clock.now())?.exhausted, undefined);
  one.refresh('north');
  assert.equal(one.stateAt('north', clock.now())?.exhausted, undefined);
  assert.deepEqual(recovered, ['north']);
  other.refresh('north');
  assert.equal(other.stateAt('north', clock.now())?.exhausted, undefined);
});

test('[Q34] nodes agree about an account that recovered and was exhausted again, and stop writing in reply to each other', async () => {
  const { clock, one, other, writes } = world();
  one.recordRefusal('north', Math.floor(clock.now() / 1000) + HOUR_S);
  other.refresh('north');
  await clock.advance(120_000);
  other.record('north', says(clock, 5));
  await clock.advance(1_000);
  // This node has not read the recovery.
  one.recordRefusal('north', Math.floor(clock.now() / 1000) + HOUR_S);
  for (let round = 0; round < 3; round++) for (const node of [other, one]) node.refresh('north');
  const { length } = writes;
  for (let round = 0; round < 10; round++) for (const node of [other, one]) node.refresh('north');
  await clock.advance(20_000);
  assert.equal(writes.length, length);
  for (const node of [one, other]) assert.ok(node.stateAt('north', clock.now())?.exhausted, 'the second exhaustion holds');
});

test('[Q34] of two statements of one millisecond the nodes keep the same one', async () => {
  const { clock, one, other, writes } = world();
  const until = Math.floor(clock.now() / 1000);
  one.recordRefusal('north', until + HOUR_S);
  other.recordRefusal('north', until + 2 * HOUR_S);
  one.record('north', says(clock, 100, undefined));
  other.record('north', says(clock, 99, undefined));
  for (let round = 0; round < 3; round++) {
    for (const node of [one, other]) node.refresh('north');
    await clock.advance(10_000);
  }
  const { length } = writes;
  for (let round = 0; round < 10; round++) {
    for (const node of [one, other]) node.refresh('north');
    await clock.advance(10_000);
  }
  assert.equal(writes.length, length);
  assert.deepEqual(one.windows('north'), other.windows('north'));
  for (const node of [one, other]) assert.equal(node.stateAt('north', clock.now())?.exhausted?.until, (until + 2 * HOUR_S) * 1000);
});

test('[Q34] unchanged evidence is stored again before another node would read the account for it', async () => {
  const { clock, one, other, writes } = world();
  for (let minute = 0; minute < 10; minute++) {
    one.record('north', { ...says(clock, 30), windows: [{ seconds: 18_000, used: 30, resetsAt: 9_999_999_999 }] });
    await clock.advance(60_000);
  }
  assert.ok(writes.length >= 4 && writes.length <= 6, `${writes.length} writes`);
  other.refresh('north');
  assert.ok(other.age('north') < 4 * 60_000);
});
