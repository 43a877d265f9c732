// The two model lists of a gateway under test, as their clients read them, and accounts whose answers change.
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { Draft, TestGateway } from './gateway.ts';
import { nativeCatalog } from './native-catalog.ts';
import type { Script } from './rehearsal.ts';
import { replyJson } from './rehearsal-replies.ts';

export const BACKEND_MODELS = '/backend-api/agent/models';
export const BACKEND_MODELS_ALIAS = '/backend-api/agent/v1/models';
export const PUBLIC_MODELS = '/v1/models';

type Init = Parameters<TestGateway['send']>[1];

/** By slug, in order; fails if a native client would drop the catalog. */
export async function backendModels(gate: TestGateway, init: Init = {}): Promise<ReadonlyMap<string, JsonObject>> {
  return nativeCatalog((await gate.send(BACKEND_MODELS, init)).text);
}

/** By id, in order. */
export async function publicModels(gate: TestGateway, init: Init = {}): Promise<ReadonlyMap<string, JsonObject>> {
  const { json } = await gate.send(PUBLIC_MODELS, init);
  return new Map(json.data.map((entry: JsonObject) => [entry.id, entry]));
}

/** Makes the gateway read its accounts again, each answering so once. */
export async function reread(
  gate: TestGateway,
  answers: Readonly<Record<string, Script>>,
  edit: (draft: Draft) => void = () => undefined,
): Promise<void> {
  for (const [account, answer] of Object.entries(answers)) gate.upstream.nextOn(account, BACKEND_MODELS, answer);
  await gate.reconfigure(edit);
}

/** A provider's catalog of any shape. */
export const catalogAnswer = (body: unknown): Script => replyJson(body as JsonObject);

/** The fields of an entry that state a window. */
export const windowOf = (tokens: number): JsonObject => ({
  context_window: tokens,
  max_context_window: tokens,
  auto_compact_token_limit: Math.floor(tokens * 0.9),
});
