// The key rule in isolation: which headers open a route, and that unknown and absent keys get the same answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Turn } from '../../../proxy/turn/turn.ts';
import { authenticate } from '../../../rules/access/authenticate.ts';
import { KEY, phase, turnOf } from '../../support/turns/turn.ts';
import { AUTHENTICATION, type AuthenticationCase, NOW } from './authenticate.cases.ts';

const SECRET = 'pk-abc.DEF_123~+/=';

/** A turn before authentication: its key is not accessible until the secret matches. An expiry is a date, so the wall clock counts. */
function arriving({ authorization, key }: AuthenticationCase): Turn {
  const known = { ...KEY, ...key };
  const headers = authorization === undefined ? {} : { authorization: authorization.replaceAll('<KEY>', SECRET) };
  return { ...turnOf({ headers }), arrivedAt: NOW, identify: (secret) => (secret === SECRET ? known : undefined) };
}

function refusalOn(turn: Turn): Refusal | undefined {
  try {
    phase(authenticate, 'admit')(turn);
    return undefined;
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal);
    return thrown;
  }
}

for (const one of AUTHENTICATION) {
  test(one.name, () => {
    const refusal = refusalOn(arriving(one));
    assert.equal(refusal?.code, one.code);
    if (refusal) assert.deepEqual([refusal.status, refusal.headers['www-authenticate']], [401, 'Bearer']);
  });
}

test('[AU1] absent, malformed and unknown credentials get the very same answer', () => {
  const answers = AUTHENTICATION.filter(({ code }) => code === 'invalid_api_key').map((one) =>
    JSON.stringify(refusalOn(arriving(one))?.error),
  );
  assert.equal(new Set(answers).size, 1);
});

test('[AU2] /mcp has a credential of its own, so this rule passes it', () => {
  const turn = turnOf();
  assert.equal(refusalOn({ ...turn, headers: {}, route: { ...turn.route, family: 'mcp', kind: 'mcp' } }), undefined);
});

test('[AU1] a header of many blanks is refused like any other', () => {
  const turn = turnOf({ headers: { authorization: `Bearer ${' '.repeat(32_000)}, ${' '.repeat(32_000)}` } });
  assert.equal(refusalOn(turn)?.code, 'invalid_api_key');
});
