// One row of a rule's case table: a complete request and its result. The tables are data, so they also run over the wire.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import { asRulesGetIt, refusalBy, run, type TurnOptions } from '../../support/turns/turn.ts';

export interface Case {
  /** The clause of the contract, or of the decisions, that the row tests. */
  readonly clause: string;
  readonly name: string;
  readonly kind: RouteKind;
  readonly body: JsonObject;
  readonly refused?: Refused;
  /** Top-level members as they are sent; undefined for a removed one. All other members are sent unchanged. */
  readonly sends?: Readonly<Record<string, Json | undefined>>;
  /** A smaller limit on decoded audio. */
  readonly audioBytes?: number;
}

export interface Refused {
  readonly code: ErrorCode;
  readonly param: string;
}

export const invalidAt = (param: string): Refused => ({ code: 'invalid_request', param });

/** A complete request with these members, which replace default ones. */
export function asks(members: JsonObject): JsonObject {
  return { model: 'model-a', input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }], ...members };
}

/** The same request on Chat. */
export const asksOnChat = (members: JsonObject): JsonObject => ({
  model: 'model-a',
  messages: [{ role: 'user', content: 'hi' }],
  ...members,
});

export const titleOf = ({ clause, name, kind }: Case): string => `[${clause}] ${kind}: ${name}`;

/** Runs each row through the rules that apply to its route. A rule cannot see how a client is connected. */
export function testCases(rules: readonly Rule[], cases: readonly Case[]): void {
  for (const row of cases) {
    test(titleOf(row), async () => {
      const body = asSent(row.body);
      const options: TurnOptions = { kind: row.kind, ...(row.audioBytes === undefined ? {} : { audioBytes: row.audioBytes }) };
      if (row.refused) await refuses(rules, body, row.refused, options);
      else {
        // A Chat row about one rule does not test the translation.
        const base = row.sends && 'input' in row.sends ? row.body : ((await asRulesGetIt(body, options)) as JsonObject);
        assert.deepEqual((await run(rules, body, options)).body, asSent({ ...base, ...row.sends }));
      }
    });
  }
}

async function refuses(rules: readonly Rule[], body: JsonObject, refused: Refused, options: TurnOptions): Promise<void> {
  const refusal = await refusalBy(rules, body, options);
  assert.deepEqual({ status: refusal?.status, code: refusal?.code, param: refusal?.error.param }, { status: 400, ...refused });
}

/** Passes the body through JSON, which removes undefined members and makes `__proto__` an ordinary one. */
const asSent = (body: JsonObject): JsonObject => JSON.parse(JSON.stringify(body)) as JsonObject;
