// The gateway's own headers on every answer that came from an account, and on the answer to an upgrade (Q1, Q14, AA77).
import type { LiveTurn } from '../turn/live-turn.ts';
import type { KeyConfig, PoolConfig } from '../turn/settings.ts';
import { type ClientVersion, clientVersionOf } from '../turn/wire/client-version.ts';

/** The tags of model lists. A client that gets an unknown tag reads the list again. */
export interface ModelTags {
  etag(pool: PoolConfig, key: KeyConfig, version: ClientVersion | undefined): string;
}

export function ownHeaders(turn: LiveTurn, models: ModelTags): Readonly<Record<string, string>> {
  const own = turn.idHeaders();
  if (turn.kind?.served === 'dispatch' && turn.kind.model && turn.surface.agentProtocol) {
    own['x-models-etag'] = models.etag(turn.pool, turn.key, clientVersionOf(turn.headers));
  }
  if (turn.requestedModel !== undefined && turn.model) own['x-poolgate-model'] = turn.model.id;
  return own;
}
