// The requests to Responses accounts: the paths of the public API, bodies with its members only, and frames for accounts with websockets.
import { encodeForm, encodeJson, turnBytes } from '../../turn/json/encode-body.ts';
import { asList, isAbsent, isObject, type Json } from '../../turn/json/json.ts';
import { isForm } from '../../turn/json/media-type.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { Adaptations } from '../../turn/provider/adapted.ts';
import { type ApiAccountConfig, apiAccountOf } from '../../turn/provider/api-account.ts';
import type {
  EncodedAttempt,
  EncodedFrame,
  EncodedRequest,
  ProviderFrames,
  ProviderRequests,
} from '../../turn/provider/provider-requests.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';
import { CacheKeys } from '../api-accounts/cache-key.ts';
import { embeddingRequest, transcriptionField, transcriptionHead } from '../api-accounts/other-requests.ts';
import { apiHeaders, beginHeaders } from '../api-accounts/request-headers.ts';
import { withoutUntaken } from '../api-accounts/untaken-inputs.ts';
import type { ProviderServices } from '../provider-services.ts';
import { type RefusedMemory, refusedMember } from './refused-members.ts';
import { asCompaction, asksToCompact, type CompactRoutes, compactBody } from './responses-compaction.ts';
import { encodedFileForm } from './responses-files.ts';
import { imageRequest, nativeImagePath } from './responses-images.ts';
import { type TurnBodyOptions, turnBody } from './turn-body.ts';

const TURNS = '/responses';
export const COMPACT = '/responses/compact';

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json' };

export interface RequestServices extends ProviderServices {
  readonly refused: RefusedMemory;
  readonly compactRoutes: CompactRoutes;
}

export class ResponsesRequests implements ProviderRequests {
  readonly passed = transcriptionHead;
  readonly field = transcriptionField;
  readonly frames: ProviderFrames;
  readonly #services: RequestServices;
  readonly #cacheKeys: CacheKeys;

  constructor(services: RequestServices) {
    this.#services = services;
    this.#cacheKeys = new CacheKeys(services);
    this.frames = {
      encode: (out, context) => this.#frame(out, context),
      upgrade: (out, context) => ({ method: 'GET', path: TURNS, headers: apiHeaders(out, context, {}) }),
      maxBytes: 15_728_640,
    };
  }

  begin(turn: LiveTurn): { readonly path: string; readonly headers: Record<string, string> } {
    return { path: TURNS, headers: beginHeaders(turn) };
  }

  json(out: Outgoing, context: EncodedAttempt): EncodedRequest {
    const account = apiAccountOf(context);
    const { turn, work } = context;
    switch (turn.route.kind) {
      case 'embeddings':
        return embeddingRequest(out, context);
      case 'public-file-create': {
        const { contentType, bytes } = encodedFileForm(work ?? { body: out.body });
        return this.#post('/files', bytes, { ...JSON_TYPE, 'content-type': contentType }, { out, context });
      }
      case 'image': {
        const { contentType, bytes } = isForm(turn.headers['content-type']) ? encodeForm(out.body) : encodeJson(out.body);
        const accept = out.body.stream === true ? 'text/event-stream' : 'application/json';
        return this.#post(nativeImagePath(turn.route.upstream), bytes, { 'content-type': contentType, accept }, { out, context });
      }
      case 'public-image':
      case 'public-image-edit':
        if (!account.serves.includes('images')) break;
        return this.#image(out, context);
    }
    return this.#turn(out, context, account);
  }

  #turn(out: Outgoing, context: EncodedAttempt, account: ApiAccountConfig): EncodedRequest {
    const adapted = new Adaptations();
    const joined = withoutUntaken(withJoinedTools(out), { account, model: context.model, adapted });
    const way = asksToCompact(context.turn, joined) ? this.#services.compactRoutes.wayOf(account, 'http') : undefined;
    if (way === 'route') {
      // Set on `out` because the decoding of the reply depends on it.
      out.path = COMPACT;
      const body = compactBody(joined, { account, model: context.model, adapted, places: out.places });
      const request = this.#post(COMPACT, turnBytes(body, context.turn), JSON_TYPE, { out, context, adapted });
      return { ...request, adjusts: ({ status }) => this.#services.compactRoutes.refused(account, status) };
    }
    const body = this.#body(asCompaction(joined, way), context, { account, isFrame: false, adapted, places: out.places });
    // The cap was removed from the body because the account does not take it. The gateway ends the reply at the cap (CR1).
    if (body.max_output_tokens === undefined) delete out.body.max_output_tokens;
    const accept = body.stream === true ? 'text/event-stream' : 'application/json';
    const request = this.#post(TURNS, turnBytes(body, context.turn), { ...JSON_TYPE, accept }, { out, context, adapted });
    return { ...request, adjusts: this.#adjusts(account, body) };
  }

  /** A compaction goes to its path over HTTP, unless it continues a response of the websocket. */
  #frame(out: Outgoing, context: EncodedAttempt): EncodedFrame | undefined {
    const account = apiAccountOf(context);
    const { compactRoutes } = this.#services;
    const adapted = new Adaptations();
    const joined = withoutUntaken(withJoinedTools(out), { account, model: context.model, adapted });
    const compacts = asksToCompact(context.turn, joined);
    if (compacts && isAbsent(joined.previous_response_id) && compactRoutes.wayOf(account, 'http') === 'route') return undefined;
    const way = compacts ? compactRoutes.wayOf(account, 'websocket') : undefined;
    const body = this.#body(asCompaction(joined, way), context, { account, isFrame: true, adapted, places: out.places });
    return { body: encodeJson(body).bytes, ...listed(adapted), adjusts: this.#adjusts(account, body) };
  }

  #image(out: Outgoing, context: EncodedAttempt): EncodedRequest {
    const body = withJoinedTools(out);
    const { path, contentType, bytes } = imageRequest(body, asList(body.tools));
    return this.#post(path, bytes, { ...JSON_TYPE, 'content-type': contentType }, { out, context });
  }

  #body(body: Body, { turn, model }: EncodedAttempt, options: Pick<TurnBodyOptions, 'account' | 'isFrame' | 'adapted' | 'places'>): Body {
    const refused = this.#services.refused.of(options.account.id, String(body.model));
    return turnBody(body, { ...options, model, refused, cacheKeyOf: (stated) => this.#cacheKeys.of(stated, turn) });
  }

  /** Learns from a refusal which member the account does not take (AA30). */
  #adjusts(account: ApiAccountConfig, sent: Body): NonNullable<EncodedRequest['adjusts']> {
    return (failure) => {
      const member = refusedMember(failure, sent);
      if (member !== undefined) this.#services.refused.learn(account.id, String(sent.model), member);
      return member !== undefined;
    };
  }

  #post(
    path: string,
    body: Buffer | Promise<Buffer>,
    described: Readonly<Record<string, string>>,
    { out, context, adapted }: Posted,
  ): EncodedRequest {
    const headers = apiHeaders(out, context, described);
    return { method: 'POST', path, headers, body, ...listed(adapted) };
  }
}

interface Posted {
  readonly out: Outgoing;
  readonly context: EncodedAttempt;
  readonly adapted?: Adaptations;
}

function listed(adapted: Adaptations | undefined): Pick<EncodedRequest, 'adapted'> {
  const names = adapted?.list();
  return names ? { adapted: names } : {};
}

const isAddition = (item: Json): boolean => isObject(item) && item.type === 'additional_tools';

/**
 * Joins the tools that items of the input add with those of the turn, because public accounts do not know such items (AA26). Returns the
 * same body if no item adds tools.
 */
function withJoinedTools({ body, places }: Pick<Outgoing, 'body' | 'places'>): Body {
  const input = asList(body.input);
  if (!input.some(isAddition)) return body;
  const added = input.flatMap((item) => (isObject(item) && isAddition(item) ? asList(item.tools) : []));
  const kept = input.filter((item) => !isAddition(item));
  places?.filtered(input, kept);
  return { ...body, tools: [...asList(body.tools), ...added], input: kept };
}
