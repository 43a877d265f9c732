// The provider codes that a row may have: an unknown code is excluded, because it may repeat a text of the client (S4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loggedCode } from '../../../proxy/turn/errors/error-codes.ts';

describe('[S4] the code in rows', () => {
  for (const [code, logged] of [
    ['usage_limit_reached', 'usage_limit_reached'],
    ['invalid_encrypted_content', 'invalid_encrypted_content'],
    ['model_not_found', 'model_not_found'],
    ['a secret of the prompt', 'upstream_error'],
    ['constructor', 'upstream_error'],
    ['', 'upstream_error'],
    [null, 'upstream_error'],
  ] as const) {
    test(`of ${JSON.stringify(code)} is ${logged}`, () => assert.equal(loggedCode(code), logged));
  }
});
