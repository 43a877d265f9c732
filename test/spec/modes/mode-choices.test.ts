// An operator's choice of a serving mode over the wire: its scope and duration, and that nothing else sets the mode.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { type Draft, loadedFrom } from '../../support/gateway.ts';
import { replyJson } from '../../support/rehearsal-replies.ts';
import { entrySaying, ModeStage } from '../../support/stages/mode-stage.ts';
import { BACKEND_MODELS } from '../../support/stages/model-lists.ts';

const asOther = { headers: { authorization: 'Bearer other' } };

const stage = await ModeStage.start();
after(() => stage.gate.close());
afterEach(() => stage.reset());

test('[PL3] auto is the same as no override: the two have one ETag', async () => {
  const etag = await stage.etag();
  await stage.set({ serving_modes: { lite: 'auto', full: 'auto' } });
  assert.equal(await stage.etag(), etag);
});

test('[PL4] a choice applies to one model of one Pool, for every key of the Pool and for no other Pool', async () => {
  await stage.set({ serving_modes: { full: 'lite' } });
  const second = { headers: { authorization: 'Bearer second' } };
  assert.deepEqual(
    [await stage.dialect('full'), await stage.dialect('full', second), await stage.dialect('full', asOther)],
    ['lite', 'lite', 'full'],
  );
  assert.deepEqual([await stage.shown('full'), await stage.shown('full', second), await stage.shown('full', asOther)], [true, true, false]);
  assert.equal(await stage.dialect('model-a', asOther), 'lite', 'another model keeps its own');
});

test('[PL4] a choice applies to the exposed id, not to an account’s name for the model', async () => {
  await stage.gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { outer: 'lite', full: 'lite' };
    for (const account of draft.accounts) account.models = { outer: 'full' };
  });
  assert.deepEqual([await stage.shown('outer'), await stage.shown('full')], [true, undefined]);
  assert.equal(await stage.dialect('outer'), 'lite');
  await stage.gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { full: 'lite' };
  });
  assert.deepEqual([await stage.shown('outer'), await stage.dialect('outer')], [false, 'full']);
});

test('[PL5] a choice persists while its model is suppressed, stays editable, and re-applies when it returns', async () => {
  await stage.set({ serving_modes: { full: 'lite' }, models: { full: { suppressed: true } } });
  assert.equal(await stage.shown('full'), undefined);
  await stage.set({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await stage.shown('full'), await stage.dialect('full')], [true, 'lite']);
  await stage.set({ serving_modes: { lite: 'full' }, models: { lite: { suppressed: true } } });
  await stage.set({ serving_modes: { lite: 'full' } });
  assert.deepEqual([await stage.shown('lite'), await stage.dialect('lite')], [false, 'full']);
});

test('[PL5] a choice persists while its model is retired or stale, and re-applies when it returns', async () => {
  const without = replyJson({ models: [entrySaying('model-a', false)] });
  stage.gate.upstream.nextOn('north', BACKEND_MODELS, without);
  stage.gate.upstream.nextOn('south', BACKEND_MODELS, without);
  await stage.set({ serving_modes: { full: 'lite' } });
  assert.equal(await stage.shown('full'), undefined, 'retired');
  await stage.set({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await stage.shown('full'), await stage.dialect('full')], [true, 'lite'], 'returned');
  stage.gate.upstream.nextOn('north', BACKEND_MODELS, 'refuse 503');
  stage.gate.upstream.nextOn('south', BACKEND_MODELS, 'refuse 503');
  await stage.set({ serving_modes: { full: 'lite' } });
  assert.deepEqual([await stage.shown('full'), await stage.dialect('full')], [true, 'lite'], 'stale');
});

test('[PL6] only a literal word sets a mode: every reference to an outside source is refused', async () => {
  const draft = (mode: unknown): Draft => ({
    accounts: [{ id: 'north', base_url: 'rehearsal:' }],
    pools: [{ id: 'team', assignments: [{ account: 'north' }], serving_modes: { 'model-a': mode } }],
  });
  for (const mode of ['$' + '{MODE}', '$MODE', { env: 'MODE' }, { file: '/mode' }, true, 'LITE', 'light']) {
    await assert.rejects(loadedFrom(draft(mode)), /serving_modes\.model-a: a serving mode is the literal word auto, lite or full/);
  }
  for (const mode of ['auto', 'lite', 'full']) await loadedFrom(draft(mode));
});
