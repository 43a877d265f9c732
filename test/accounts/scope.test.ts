// The scope of a turn: the unit for which health and selection keep capacity.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPACT_PATH, isModelless, modelOf, pathOf, scopeOf, TURNS_PATH } from '../../proxy/accounts/scope.ts';
import type { RouteKind } from '../../proxy/turn/routes/kinds.ts';

const scope = (kind: RouteKind | undefined, id?: string): string =>
  scopeOf({ route: { kind }, model: id === undefined ? undefined : { id } });

test('the turns of a model share its scope, whatever their surface', () => {
  for (const kind of ['responses', 'public-responses', 'chat'] as const) {
    assert.equal(scope(kind, 'model-a'), 'model-a');
    assert.equal(pathOf('model-a'), TURNS_PATH);
  }
});

test('[RB4] compactions have a path of their own, whatever their surface', () => {
  for (const kind of ['compact', 'public-compact'] as const) {
    const compaction = scope(kind, 'model-a');
    assert.deepEqual([modelOf(compaction), pathOf(compaction), isModelless(compaction)], ['model-a', COMPACT_PATH, false]);
  }
});

test('[RB4] a public image is a turn at its account, a native one goes to the path of images, and both transcriptions to one path', () => {
  const paths = (['public-image', 'public-image-edit', 'image'] as const).map((kind) => pathOf(scope(kind, 'model-a')));
  assert.deepEqual(paths, [TURNS_PATH, TURNS_PATH, '(image)']);
  assert.deepEqual([pathOf(scope('transcribe')), pathOf(scope('public-transcription'))], ['(transcribe)', '(transcribe)']);
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
  for (const id of ['model-a', 'model(image)', 'model (other)', 'a) (b)']) assert.deepEqual([modelOf(id), pathOf(id)], [id, TURNS_PATH]);
});
