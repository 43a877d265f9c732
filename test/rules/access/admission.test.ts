// The rules that run between the key and the body: route status and image permission.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { RouteStatus } from '../../../proxy/turn/settings.ts';
import type { Turn } from '../../../proxy/turn/turn.ts';
import { imagePermission } from '../../../rules/access/image-permission.ts';
import { routeStatus } from '../../../rules/access/route-status.ts';
import { phase, turnOf } from '../../support/turns/turn.ts';

const withStatus = (status: RouteStatus, kind?: RouteKind): Turn => {
  const turn = turnOf();
  return { ...turn, route: { ...turn.route, status, kind } };
};

test('[E1] an unsupported row answers unsupported_endpoint, with or without something that could serve it', () => {
  const refusal = { code: 'unsupported_endpoint', status: 404 };
  assert.throws(() => phase(routeStatus, 'admit')(withStatus('unsupported')), refusal);
  assert.throws(() => phase(routeStatus, 'admit')(withStatus('unsupported', 'responses')), refusal);
});

test('[S8] the other three statuses pass', () => {
  for (const status of ['supported', 'translated', 'partial'] as const) phase(routeStatus, 'admit')(withStatus(status, 'responses'));
});

test('[E1] the status of every row counts, also of rows without a kind', () => {
  assert.equal(routeStatus.routes, '*');
});

test('[F6.1] a Pool without image generation refuses before anything reads a body', () => {
  const turn = turnOf({ kind: 'image', pool: { allow_image_generation: false } });
  assert.throws(() => phase(imagePermission, 'admit')(turn), { code: 'image_generation_disabled', status: 403 });
  assert.equal(imagePermission.request, undefined);
});

test('[PL1] a Pool with image generation passes', () => {
  phase(imagePermission, 'admit')(turnOf({ kind: 'image' }));
});

test('[PL1] the permission applies to the image routes and no other', () => {
  assert.deepEqual(imagePermission.routes, ['image', 'public-image', 'public-image-edit']);
});
