// Which kept turn a frame is an exact retry of, and what is read of the kept turns to find it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessDigest } from '../../proxy/encryption/digest.ts';
import { type Resumable, ResumableTurns } from '../../proxy/sessions/resumable-turns.ts';
import { TurnIdentity } from '../../proxy/sessions/turn-identity.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const digest = new ProcessDigest();
const item = { type: 'message', role: 'user', content: 'hello' };
const sent = { type: 'message', role: 'assistant', content: 'hi' };
const frame = { model: 'model-a', input: [item] };

/** A kept turn that counts how often its finished items are parsed. */
function kept(turnId: string) {
  const counts = { parsed: 0 };
  const turn: Resumable = {
    identity: new TurnIdentity(turnId, frame, digest),
    get sentItems(): readonly JsonObject[] {
      counts.parsed += 1;
      return [sent];
    },
    isDetached: true,
    keptBytes: 0,
    isOver: true,
    over: Promise.resolve(),
    cancel: () => undefined,
    disown: () => undefined,
  };
  return { turn, counts };
}

test('[Q29] the kept frames of a turn are parsed only for a frame with its id and its settings', () => {
  const turns = new ResumableTurns<Resumable>(new ManualClock());
  const other = kept('turn-1');
  const same = kept('turn-2');
  for (const { turn } of [other, same]) turns.add('session', turn);
  const find = (body: JsonObject) => turns.find('session', new TurnIdentity('turn-2', body, digest), body);
  assert.equal(find({ ...frame, model: 'model-b' }), undefined);
  assert.deepEqual([other.counts.parsed, same.counts.parsed], [0, 0]);
  assert.deepEqual(find({ ...frame, input: [item, sent] }), { turn: same.turn, items: 1 });
  assert.deepEqual([other.counts.parsed, same.counts.parsed], [0, 1]);
});
