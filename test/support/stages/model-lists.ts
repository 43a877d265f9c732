// The two model lists of a gateway as clients read them, and accounts whose lists change.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Draft, TestGateway } from '../gateway.ts';
import type { Script } from '../rehearsal.ts';
import { replyJson } from '../rehearsal-replies.ts';
import { nativeCatalog } from './native-catalog.ts';

export const BACKEND_MODELS = '/backend-api/agent/models';
export const BACKEND_MODELS_ALIAS = '/backend-api/agent/v1/models';
export const PUBLIC_MODELS = '/v1/models';

type Init = Parameters<TestGateway['send']>[1];

/** The models by slug, in order. Fails if a native client would drop the catalog. */
export async function backendModels(gate: TestGateway, init: Init = {}): Promise<ReadonlyMap<string, JsonObject>> {
  return nativeCatalog((await gate.send(BACKEND_MODELS, init)).text);
}

/** The models by id, in order. */
export async function publicModels(gate: TestGateway, init: Init = {}): Promise<ReadonlyMap<string, JsonObject>> {
  const { json } = await gate.send(PUBLIC_MODELS, init);
  return new Map(json.data.map((entry: JsonObject) => [entry.id, entry]));
}

/** Makes the gateway read the lists of its accounts again. Each account answers this read with its script. */
export async function reread(
  gate: TestGateway,
  answers: Readonly<Record<string, Script>>,
  edit: (draft: Draft) => void = () => undefined,
): Promise<void> {
  for (const [account, answer] of Object.entries(answers)) gate.upstream.nextOn(account, BACKEND_MODELS, answer);
  await gate.reconfigure(edit);
}

/** The answer of a catalog with any body. */
export const catalogAnswer = (body: unknown): Script => replyJson(body as JsonObject);

/** The fields of an entry that state its context window. */
export const windowOf = (tokens: number): JsonObject => ({
  context_window: tokens,
  max_context_window: tokens,
  auto_compact_token_limit: Math.floor(tokens * 0.9),
});
