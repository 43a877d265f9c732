// The parts of undici that the gateway loads separately are those that its entry point exports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as undici from 'undici';
import { buildConnector, Pool } from '../../proxy/upstream/undici-parts.ts';

test('the parts are those of the entry point of undici', () => {
  assert.equal(Pool, undici.Pool);
  assert.equal(buildConnector, undici.buildConnector);
});
