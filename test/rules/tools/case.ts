// One row of a rule's case table: a whole request, and its result. The tables are data, so that they also run over the wire.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import { asRulesGetIt, refusalBy, run, type TurnOptions } from '../../support/turn.ts';

export interface Case {
  /** The clause of the contract, or of the decisions, that the row shows. */
  readonly clause: string;
  readonly name: string;
  readonly kind: RouteKind;
  readonly body: JsonObject;
  readonly refused?: Refused;
  /** Top-level members as they are sent, undefined for one that is removed. Every other member is sent as it came. */
  readonly sends?: Readonly<Record<string, Json | undefined>>;
  /** A smaller limit on decoded audio. */
  readonly audioBytes?: number;
}

export interface Refused {
  readonly code: ErrorCode;
  readonly param: string;
}

export const invalidAt = (param: string): Refused => ({ code: 'invalid_request', param });

/** A complete request, with these members besides or instead of its own. */
export function asks(members: JsonObject): JsonObject {
  return { model: 'model-a', input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }], ...members };
}

/** The same on Chat. */
export const asksOnChat = (members: JsonObject): JsonObject => ({
  model: 'model-a',
  messages: [{ role: 'user', content: 'hi' }],
  ...members,
});

export const titleOf = ({ clause, name, kind }: Case): string => `[${clause}] ${kind}: ${name}`;

/** Runs each row through those of the rules that take part in its route. A rule cannot see how a client is connected. */
export function testCases(rules: readonly Rule[], cases: readonly Case[]): void {
  for (const row of cases) {
    test(titleOf(row), async () => {
      const body = asSent(row.body);
      const options: TurnOptions = { kind: row.kind, ...(row.audioBytes === undefined ? {} : { audioBytes: row.audioBytes }) };
      if (row.refused) await refuses(rules, body, row.refused, options);
      else {
        // A row of Chat that is about one rule says nothing of the translation.
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

/** Through JSON, where undefined members are gone and `__proto__` is a plain one. */
const asSent = (body: JsonObject): JsonObject => JSON.parse(JSON.stringify(body)) as JsonObject;
