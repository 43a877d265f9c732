// One turn from its arrival to its end: the state that rules see, and the metadata that they note.
import type { ServerResponse } from 'node:http';
import type { SlicedWork } from '../base/process/slices.ts';
import { ArrivedTurn } from './arrived-turn.ts';
import { failureInClientWords, refusalInClientWords } from './errors/error-words.ts';
import type { Failure } from './errors/failure.ts';
import { ItemPlaces } from './errors/item-places.ts';
import type { Refusal } from './errors/refusal.ts';
import type { JsonObject } from './json/json.ts';
import { HeldBytes } from './reply/held-bytes.ts';
import { PendingWrites } from './reply/pending-writes.ts';
import type { Sink } from './reply/sink.ts';
import { type DispatchedKind, KINDS, type Kind, type RouteKind } from './routes/kinds.ts';
import { RuleRun } from './rules/rule-run.ts';
import type { Answer, Collector, Decoded } from './surface.ts';
import { inputTokens } from './token-estimate.ts';
import type { Body, ModeDecision, ModelView, Route, SafeFields, TranscriptionHint, Turn, Work } from './turn.ts';
import type { Arrival, TurnConfiguration, TurnHost } from './turn-host.ts';
import type { AnswerHeaderOptions } from './wire/headers.ts';
import { sessionOf } from './wire/session-header.ts';

const NO_HINTS: readonly TranscriptionHint[] = [];

export class LiveTurn extends ArrivedTurn implements Turn {
  /** The route, the row of its kind below and the chain of `rules` belong together. Only `become` changes them. */
  route: Route;
  /** The row in the table of kinds; undefined for a request outside the route table. */
  kind: Kind | undefined;
  rules: RuleRun;
  /** The bytes of the reply that are in memory. */
  readonly held: HeldBytes;
  /** The metadata that rules have noted for the turn's row. */
  readonly noted: Partial<SafeFields> = {};
  model: ModelView | undefined;
  fileOwner: string | undefined;
  lifted: string | undefined;
  hints: readonly TranscriptionHint[] = NO_HINTS;
  /** The exposed id that the client asked for, if a fallback of it is served (AA76). */
  requestedModel: string | undefined;
  /** The upstream websocket of the client's connection. */
  liveSocket: { liftedOf(responseId: string): string | undefined } | undefined;
  bodyBytes = 0;
  large: SlicedWork | undefined;
  /** With several nodes: writes that the next turn may need at another node. */
  pendingWrites: PendingWrites | undefined;
  /** When the first event or byte of a reply was passed on; Unix milliseconds. */
  committedAt: number | undefined;
  /** Undefined until the request is decoded, and on a surface without a translation. */
  #decoded: Decoded<unknown> | undefined;
  #places: ItemPlaces | undefined;
  #mode: ModeDecision | undefined;

  constructor(arrival: Arrival, generation: TurnConfiguration, host: TurnHost) {
    super(arrival, generation, host);
    const { kind } = arrival.route;
    this.route = arrival.route;
    this.kind = kind && KINDS[kind];
    this.#mode = arrival.mode;
    this.held = new HeldBytes(host.replyMemory, generation.config.limits);
    this.rules = new RuleRun(generation.chains.of(kind), this);
  }

  /** The row of a kind that is dispatched to accounts; undefined for all others. */
  get dispatchedKind(): DispatchedKind | undefined {
    return this.kind?.served === 'dispatch' ? this.kind : undefined;
  }

  /** What determines the headers of the answer. */
  get answerHeaderOptions(): AnswerHeaderOptions {
    return { wire: this.wire, hideQuota: this.pool.hide_account_quota, model: this.model?.id };
  }

  liftedWith(responseId: string): string | undefined {
    return this.liveSocket?.liftedOf(responseId);
  }

  /**
   * Continues as a turn of another kind of the same surface, because its body asks for other work than the route. It is called before the
   * request phases of the rules. The row keeps the client's endpoint.
   */
  become(kind: RouteKind): void {
    this.route = { ...this.route, kind };
    this.kind = KINDS[kind];
    this.rules = new RuleRun(this.generation.chains.of(kind), this);
  }

  /** Remembers the state that depends on the turn's model. @returns a function that restores it */
  checkpoint(): () => void {
    const { rules, model, fileOwner, lifted, requestedModel } = this;
    const [decoded, places, mode, noted] = [this.#decoded, this.#places, this.#mode, { ...this.noted }];
    return () => {
      this.restart();
      Object.assign(this, { rules, model, fileOwner, lifted, requestedModel });
      Object.assign(this.noted, noted);
      [this.#decoded, this.#places, this.#mode] = [decoded, places, mode];
    };
  }

  /**
   * Begins again before the request phases of its rules, for another model (AA76). A mode that another node captured is not kept, because
   * it belongs to the first model.
   */
  restart(): void {
    for (const field of Object.keys(this.noted) as (keyof SafeFields)[]) delete this.noted[field];
    this.rules = new RuleRun(this.generation.chains.of(this.route.kind), this);
    this.model = undefined;
    this.fileOwner = undefined;
    this.lifted = undefined;
    this.requestedModel = undefined;
    this.#decoded = undefined;
    this.#places = undefined;
    this.#mode = undefined;
  }

  /** The session that the client names: by its surface, or by a continuity header (F8.1). */
  get session(): string | undefined {
    return this.#decoded?.session ?? sessionOf(this.headers, this.wire);
  }

  decode(work: Work): void {
    this.#decoded = this.surface.decode?.(work, this);
  }

  spliced(at: number, removed: number, added: number): void {
    this.#places ??= new ItemPlaces();
    this.#places.splice(at, removed, added);
  }

  /** A refusal as the client gets it, with the client's names of members and in the form of its surface. */
  shown(refusal: Refusal): Refusal {
    // A rule that moves items never refuses by their places, so places are still those after the decoding.
    const names = this.#decoded?.names;
    const named = names ? refusalInClientWords(refusal, (param) => names.nameOf(param)) : refusal;
    return this.surface.refusal?.(named, this, this.#decoded?.memory) ?? named;
  }

  /** Counts the tokens that the client's text of this refusal states; undefined for nearly all refusals. */
  measure(refusal: Refusal): Promise<void> | undefined {
    return this.#decoded && this.surface.measure?.(refusal, this, this.#decoded.memory);
  }

  placeBefore(param: string): string {
    return this.#places?.before(param) ?? param;
  }

  /** A provider's failure with the client's names of members. Native clients get the names of an agent backend unchanged. */
  named(failure: Failure): Failure {
    const [names, places] = [this.#decoded?.names, this.#places];
    if ((this.surface.agentProtocol && !failure.namesTurn) || (!names && !places)) return failure;
    return failureInClientWords(failure, (sent) => {
      const param = places?.before(sent) ?? sent;
      return names ? names.nameOf(param) : param;
    });
  }

  /** The gateway's own headers on every answer that came from an account, and on the answer to an upgrade (Q1, Q14, AA77). */
  ownHeaders(): Readonly<Record<string, string>> {
    const own = this.idHeaders();
    if (this.dispatchedKind?.model && this.surface.agentProtocol) {
      own['x-models-etag'] = this.services.models.etag(this.pool, this.key, this.clientVersion?.numbers);
    }
    if (this.requestedModel !== undefined && this.model) own['x-poolgate-model'] = this.model.id;
    return own;
  }

  findModel(id: string): ModelView | undefined | Promise<ModelView | undefined> {
    const found = this.services.models.find(this.pool, id);
    if (!this.#mode) return found;
    return found instanceof Promise ? found.then((view) => this.#captured(view)) : this.#captured(found);
  }

  recoversIn(): number | undefined {
    return this.model && this.services.capacity.recoversIn(this.pool, this.model.id);
  }

  /** Maps a final response to the client's answer: by the rules, then in the encoding of the surface. @throws Refusal of a rule */
  answerOf(response: JsonObject, collector?: Collector): JsonObject {
    const answer = this.rules.answer(response);
    return collector?.answer(answer) ?? this.surface.answer?.(answer, this, this.#decoded?.memory) ?? answer;
  }

  /** The answer to a request that asks only for a check (AM26). */
  get checked(): Answer | undefined {
    return this.#decoded?.answer;
  }

  /** The decoded request, if the estimate of its tokens cannot read the client's own request. */
  get request(): Body | undefined {
    return this.#decoded?.request;
  }

  get promptTokens(): number {
    return this.request ? inputTokens(this.request) : 0;
  }

  collector(): Collector | undefined {
    return this.surface.collector?.(this, this.#decoded?.memory);
  }

  /** Creates the sink that streams the reply over HTTP. */
  stream(response: ServerResponse): Sink {
    return this.surface.stream(response, this, this.#decoded?.memory);
  }

  note<F extends keyof SafeFields>(field: F, value: SafeFields[F]): void {
    this.noted[field] = value;
  }

  /** Delays the terminal event a little, until this write is done. The write never rejects. */
  endsAfter(write: Promise<void>): void {
    this.pendingWrites ??= new PendingWrites();
    this.pendingWrites.add(write);
  }

  holdReply(bytes: number): void {
    this.held.hold(bytes);
  }

  /** A model without a routable source has no mode, even if another node has captured one (MC7). */
  #captured(view: ModelView | undefined): ModelView | undefined {
    return view?.mode && this.#mode ? { ...view, mode: this.#mode } : view;
  }
}
