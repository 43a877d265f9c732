// The rules of /mcp in isolation: the token, and the hosts that a request may name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../../proxy/turn/turn.ts';
import { authenticateOperator } from '../../../rules/access/authenticate-operator.ts';
import { operatorHost } from '../../../rules/access/operator-host.ts';
import { phase, turnOf } from '../../support/turns/turn.ts';

function refusalBy(rule: Rule, turn: Partial<Turn>, method = 'POST'): Refusal | undefined {
  const plain = turnOf({ kind: 'mcp' });
  try {
    phase(rule, 'admit')({ ...plain, route: { ...plain.route, method, family: 'mcp' }, ...turn });
    return undefined;
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal);
    return thrown;
  }
}

const identifyOperator = (token: string): boolean => token === 'pg-mcp-good';

test('[AU2] the token of an operator is accepted for POST', () => {
  assert.equal(refusalBy(authenticateOperator, { identifyOperator, headers: { authorization: 'Bearer pg-mcp-good' } }), undefined);
});

test('[AU2] absent, malformed and unknown tokens get the very same refusal', () => {
  const headers = [
    {},
    { authorization: 'Basic pg-mcp-good' },
    { authorization: 'Bearer bad' },
    { authorization: 'Bearer pg-mcp-good, Bearer bad' },
  ];
  const refusals = headers.map((own) => refusalBy(authenticateOperator, { identifyOperator, headers: own }));
  assert.equal(new Set(refusals).size, 1);
  assert.deepEqual([refusals[0]?.status, refusals[0]?.headers['www-authenticate']], [401, 'Bearer']);
});

test('[Q25] GET and OPTIONS need no token', () => {
  for (const method of ['GET', 'OPTIONS']) assert.equal(refusalBy(authenticateOperator, { identifyOperator }, method), undefined);
});

test('[Q25] Host must be one of the gateway, and Origin too where there is one', () => {
  const isOwnHost = (host: string): boolean => host === 'own:4000';
  const status = (headers: Turn['headers']): number | undefined => refusalBy(operatorHost, { isOwnHost, headers })?.status;
  assert.equal(status({ host: 'own:4000' }), undefined);
  assert.equal(status({ host: 'own:4000', origin: 'https://own:4000' }), undefined);
  assert.equal(status({}), 403);
  assert.equal(status({ host: 'other:4000' }), 403);
  for (const origin of ['https://other', 'null', '', 'own:4000', 'https://own:4000/', 'ftp://own:4000', 'https://a@own:4000']) {
    assert.equal(status({ host: 'own:4000', origin }), 403, origin);
  }
});
