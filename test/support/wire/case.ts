// One row of a case table in the form in which it runs over the wire. The tables are those of the rules' own tests.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { KeyConfig } from '../../../proxy/turn/settings.ts';
import type { ModeDecision } from '../../../proxy/turn/turn.ts';
import type { Case as DialectCase } from '../../rules/dialect/case.ts';
import { type Case as ToolCase, titleOf } from '../../rules/tools/case.ts';

/** The facts that a case states about its model. Each distinct set gets a separate model id. */
export interface ModelShape {
  readonly mode: ModeDecision | undefined;
  /** Members of the catalog entry that the case is about. */
  readonly entry: JsonObject;
  readonly routable: boolean;
}

export type KeyPolicy = Pick<KeyConfig, 'models' | 'reasoning_effort' | 'output_tokens'>;

export interface WireCase {
  /** A sentence that begins with the clause. */
  readonly title: string;
  readonly kind: RouteKind;
  /** How the client is connected, if the case requires it. */
  readonly client: 'http' | 'websocket' | undefined;
  readonly body: JsonObject;
  /** For a row of Responses in the form of Chat: the body of Responses with the same meaning, to which `changes` apply. */
  readonly equivalent?: JsonObject;
  readonly key: KeyPolicy;
  readonly model: ModelShape;
  readonly audioBytes: number | undefined;
  readonly refusal: { readonly code: string; readonly status: number; readonly param: string | null } | undefined;
  /** The top-level members that change when the request is sent. Undefined: the member is not sent. */
  readonly changes: Readonly<Record<string, Json | undefined>>;
}

const AUTO_FULL: ModeDecision = { configured: 'auto', effective: 'full', source: 'catalog' };

/** The refusal of a turn without a routable source that no other rule refuses (SM5). */
const UNROUTABLE = { code: 'no_eligible_account', status: 503, param: null };

/** Rows of the dialect, effort and access tables. */
export function fromRules(cases: readonly DialectCase[]): readonly WireCase[] {
  return cases.map(({ name, options = {}, body, refusal, changes }): WireCase => {
    const { mode, entry, routable } = { mode: AUTO_FULL, entry: {}, routable: true, ...options.model };
    const { models, reasoning_effort, output_tokens } = options.key ?? {};
    return {
      title: name,
      kind: options.kind ?? 'responses',
      client: options.client,
      body,
      key: {
        ...(models ? { models } : {}),
        ...(reasoning_effort ? { reasoning_effort } : {}),
        ...(output_tokens ? { output_tokens } : {}),
      },
      model: { mode, entry, routable },
      audioBytes: options.audioBytes,
      refusal: refusal ? { param: null, ...refusal } : routable ? undefined : UNROUTABLE,
      changes: changes ?? {},
    };
  });
}

/** Rows of the tool and input tables. */
export function fromTools(cases: readonly ToolCase[]): readonly WireCase[] {
  return cases.map((row) => ({
    title: titleOf(row),
    kind: row.kind,
    client: undefined,
    body: row.body,
    key: {},
    model: { mode: AUTO_FULL, entry: {}, routable: true },
    audioBytes: row.audioBytes,
    refusal: row.refused && { status: 400, ...row.refused },
    changes: row.sends ?? {},
  }));
}
