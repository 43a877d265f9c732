// The model rules in isolation: access in the order of Q4, and the eligibility of the model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelView, SafeFields, Turn } from '../../../proxy/turn/turn.ts';
import { eligibility } from '../../../rules/access/eligibility.ts';
import { modelAccess } from '../../../rules/access/model-access.ts';
import { effortPolicy } from '../../../rules/effort/effort-policy.ts';
import { allowsModel } from '../../../rules/helpers/key-policy.ts';
import { KEY, phase, refusalBy, turnOf } from '../../support/turns/turn.ts';
import { testCases } from '../dialect/case.ts';
import { MODEL_ACCESS } from './model-access.cases.ts';

testCases([modelAccess, effortPolicy], MODEL_ACCESS);

type NotedTurn = Turn & { readonly noted: Partial<SafeFields> };

/** A turn whose model has not been looked up yet. */
const unsettled = (findModel: Turn['findModel']): NotedTurn => ({ ...turnOf(), model: undefined, findModel });

const found: ModelView = { id: 'model-a', entry: {}, routable: true, mode: undefined };

test('[Q4] the model that was found is the one of the turn and of its row', async () => {
  const turn = unsettled(() => found);
  await phase(modelAccess, 'request')({ body: { model: 'model-a' } }, turn);
  assert.equal(turn.model, found);
});

test('[Q12] a catalog that has to be read again is awaited, and only then', async () => {
  const late = unsettled(() => Promise.resolve(found));
  const waiting = phase(modelAccess, 'request')({ body: { model: 'model-a' } }, late);
  assert.ok(waiting instanceof Promise);
  await waiting;
  assert.equal(late.model, found);
  assert.equal(
    phase(modelAccess, 'request')(
      { body: { model: 'model-a' } },
      unsettled(() => found),
    ),
    undefined,
  );
});

test('[Q12] a model that is still unknown after that is invalid_model', async () => {
  const turn = unsettled(() => Promise.resolve(undefined));
  await assert.rejects(async () => phase(modelAccess, 'request')({ body: { model: 'model-z' } }, turn), { code: 'invalid_model' });
});

test('[S4] the client’s name for a model is not noted unless the Pool has it', () => {
  const turn = unsettled(() => undefined);
  assert.throws(() => phase(modelAccess, 'request')({ body: { model: 'my secret' } }, turn), { code: 'invalid_model' });
  assert.deepEqual(turn.noted, {});
});

test('[CR1] a key without a list may use every model', () => {
  assert.equal(allowsModel(KEY, 'anything'), true);
  assert.equal(allowsModel({ ...KEY, models: ['a'] }, 'b'), false);
});

test('[SM5] a pair without a routable source is a 503 with the time to wait', async () => {
  const refusal = await refusalBy([eligibility], { model: 'model-a' }, { model: { routable: false, mode: undefined } });
  assert.deepEqual([refusal?.code, refusal?.status, refusal?.headers['retry-after']], ['no_eligible_account', 503, '1']);
});

test('[SM5] a pair with a routable source passes', async () => {
  assert.equal(await refusalBy([eligibility], { model: 'model-a' }), undefined);
});
