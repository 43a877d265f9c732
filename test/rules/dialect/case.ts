// One row of a rule's case table, and how it runs with the rules in isolation; the same rows also run over HTTP, SSE and websocket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import type { ModeDecision } from '../../../proxy/turn/turn.ts';
import { asRulesGetIt, refusalBy, run, type TurnOptions } from '../../support/turns/turn.ts';

export interface ExpectedRefusal {
  readonly code: string;
  readonly status: number;
  readonly param?: string;
}

export interface Case {
  /** A sentence that begins with the id of its clause. */
  readonly name: string;
  readonly options?: TurnOptions;
  readonly body: JsonObject;
  /** The refusal that the client gets; no account gets a request then. */
  readonly refusal?: ExpectedRefusal;
  /** Top-level members that are changed before sending; undefined means removed. All others are sent unchanged. */
  readonly changes?: JsonObject;
}

export const LITE: ModeDecision = { configured: 'lite', effective: 'lite', source: 'override' };
export const AUTO_LITE: ModeDecision = { configured: 'auto', effective: 'lite', source: 'catalog' };
export const FULL: ModeDecision = { configured: 'full', effective: 'full', source: 'override' };
export const AUTO_FULL: ModeDecision = { configured: 'auto', effective: 'full', source: 'catalog' };

/** The body that a case expects to be sent. */
const expectedBody = ({ body, changes }: Case): Json => plain({ ...body, ...changes });

/** The value as JSON, so without undefined members. */
export const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

export function testCases(rules: readonly Rule[], cases: readonly Case[]): void {
  for (const one of cases) {
    test(one.name, async () => {
      if (one.refusal) {
        const refusal = await refusalBy(rules, one.body, one.options);
        const { code, status, param } = one.refusal;
        assert.deepEqual(refusal && [refusal.code, refusal.status, refusal.error.param], [code, status, param ?? null]);
        return;
      }
      const { body } = await run(rules, one.body, one.options);
      assert.deepEqual(plain(body), expectedBody({ ...one, body: (await asRulesGetIt(one.body, one.options)) as JsonObject }));
      const again = await run(rules, plain(body), one.options);
      assert.deepEqual(plain(again.body), plain(body), 'a second pass changes nothing');
    });
  }
}
