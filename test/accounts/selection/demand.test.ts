// The scope of a turn: the unit for which health and selection keep capacity.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isModelless, modelOf, scopeOf } from '../../../proxy/accounts/selection/demand.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import { KEY, POOL } from '../../support/turn.ts';

const scope = (kind: RouteKind | undefined, id?: string): string =>
  scopeOf({
    ...{ id: 'req', wire: { agent: 'agent' }, pool: POOL, key: KEY, generation: { accounts: new Map(), loaded: { bearers: new Map() } } },
    route: { kind, class: 'stream' },
    model: id === undefined ? undefined : { id },
  });

test('the turns of a model share its scope, whatever their surface', () => {
  for (const kind of ['responses', 'public-responses', 'chat', 'compact'] as const) assert.equal(scope(kind, 'model-a'), 'model-a');
});

test('[A10] requests that a model hosts have a scope of their own, from which the model can be derived', () => {
  for (const kind of ['image', 'public-image', 'public-image-edit'] as const) {
    const hosted = scope(kind, 'model-a');
    assert.notEqual(hosted, 'model-a');
    assert.deepEqual([modelOf(hosted), isModelless(hosted)], ['model-a', false]);
  }
});

test('a route without a model has its kind, and a model with parentheses in its id stays itself', () => {
  for (const kind of ['forward', 'image', undefined] as const) assert.ok(isModelless(scope(kind)));
  for (const id of ['model-a', 'model(image)', 'model (other)', 'a) (b)']) assert.equal(modelOf(scope('responses', id)), id);
});
