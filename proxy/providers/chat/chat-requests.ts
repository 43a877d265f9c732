// The requests to Chat accounts: turns as Chat Completions, and audio, which passes unread.
import { turnBytes } from '../../turn/json/encode-body.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { apiAccountOf } from '../../turn/provider/api-account.ts';
import type { EncodedAttempt, EncodedRequest, ProviderRequests } from '../../turn/provider/provider-requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { CacheKeys } from '../api-accounts/cache-key.ts';
import { isSummary, summaryRequest } from '../api-accounts/compaction/summary-request.ts';
import { embeddingRequest, transcriptionField, transcriptionHead } from '../api-accounts/other-requests.ts';
import { apiHeaders, beginHeaders } from '../api-accounts/request-headers.ts';
import type { ProviderServices } from '../provider-services.ts';
import { chatBody } from './request/chat-body.ts';

const TURNS = '/chat/completions';

export class ChatRequests implements ProviderRequests {
  readonly passed = transcriptionHead;
  readonly field = transcriptionField;
  readonly #cacheKeys: CacheKeys;

  constructor(services: ProviderServices) {
    this.#cacheKeys = new CacheKeys(services);
  }

  begin(turn: LiveTurn): { readonly path: string; readonly headers: Record<string, string> } {
    return { path: TURNS, headers: beginHeaders(turn) };
  }

  json(out: Outgoing, context: EncodedAttempt): EncodedRequest {
    const { turn, model } = context;
    if (turn.route.kind === 'embeddings') return embeddingRequest(out, context);
    const account = apiAccountOf(context);
    const isWithoutTools = isSummary(turn, out.body);
    if (isWithoutTools) out.body = summaryRequest(out.body);
    const cacheKeyOf = (stated: string): string => this.#cacheKeys.of(stated, turn);
    const { body, streams, adapted } = chatBody(out.body, { turn, account, model, isWithoutTools, cacheKeyOf });
    const accept = streams ? 'text/event-stream' : 'application/json';
    const headers = apiHeaders(out, context, { 'content-type': 'application/json', accept });
    return { method: 'POST', path: TURNS, headers, body: turnBytes(body, turn), ...(adapted && { adapted }) };
  }
}
