// Turns that go to an account: the overload guard, the body, the request's rules, the reservation, the slot, and the attempts.
import type { Admission, Slot } from '../admission/admission.ts';
import type { OverloadGuard } from '../admission/overload-guard.ts';
import type { Counters } from '../base/process/metrics.ts';
import { SlicedWork, smallTurnBegins } from '../base/process/slices.ts';
import { chainedAttempts } from '../dispatch/chained-attempts.ts';
import type { TurnClient } from '../dispatch/client.ts';
import type { DispatchServices } from '../dispatch/dispatch-services.ts';
import type { ChainedRequest, DispatchEnd, DispatchedTurn, DispatchRequest, Payload } from '../dispatch/request/dispatch-request.ts';
import { endOfWait } from '../dispatch/stopped-turn.ts';
import { TurnAttempts } from '../dispatch/turn-attempts.ts';
import type { Accounting } from '../keys/accounting.ts';
import type { Reservation } from '../keys/reservation.ts';
import type { WebsocketHistories } from '../sessions/websocket-histories.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Attempts } from '../turn/reply/turn-result.ts';
import { fallbacksOf } from '../turn/routes/fallbacks.ts';
import type { Answer } from '../turn/surface.ts';
import { asksForCompaction } from '../turn/trigger-item.ts';
import type { Body, Work } from '../turn/turn.ts';
import { ModelChain } from './model-chain.ts';

/** How a turn was served. */
export type ServedTurn = DispatchEnd | { readonly kind: 'answered'; readonly answer: Answer };

/** What the end of a turn settles, even if a phase of the turn throws. */
export interface Unsettled {
  attempts: Attempts;
  reservation: Reservation | undefined;
}

export interface DispatchedTurnServices {
  readonly guard: OverloadGuard;
  readonly accounting: Accounting;
  readonly histories: WebsocketHistories;
  readonly capacity: { readonly admission: Admission };
  readonly counters: Counters;
}

interface ReadRequest {
  readonly payload: Payload;
  /** The client's body before rules edit it. Undefined for kinds whose tokens are not counted. */
  readonly asked: Body | undefined;
}

export class DispatchedTurns {
  readonly #services: DispatchedTurnServices;
  readonly #dispatch: DispatchServices;

  constructor(services: DispatchedTurnServices, dispatch: DispatchServices) {
    this.#services = services;
    this.#dispatch = dispatch;
  }

  /**
   * Each step of this function is awaited, even if it does not have to wait, so that the turns of a batch pass it together. Refusals that do not blame the
   * request are returned, because clients repeat such requests, and V8 looks up the place of each throw.
   * @throws Refusal
   */
  async run(turn: DispatchedTurn, client: TurnClient, unsettled: Unsettled): Promise<ServedTurn> {
    const overloaded = this.#services.guard.refusal(turn.at);
    if (overloaded) return { kind: 'refused', refusal: overloaded };
    const { payload, asked } = await this.#read(turn, client);
    const unroutable = payload.kind === 'json' ? await applyRules(turn, payload.work) : undefined;
    const chain = asked && this.#chainOf(turn, asked, unsettled);
    const fallback = unroutable && chain && (await firstFallback(turn, chain));
    if (unroutable && !fallback) return { kind: 'refused', refusal: unroutable };
    if (turn.checked) return { kind: 'answered', answer: turn.checked };
    const reserved = fallback ?? (await this.#reserve(turn, payload, asked && (turn.request ?? asked), unsettled));
    if (reserved instanceof Refusal) return { kind: 'refused', refusal: reserved };
    const { expected, payload: sent } = reserved;
    const entering = slotFor(turn, client, this.#services.capacity.admission);
    const slot = entering instanceof Promise ? await entering : entering;
    if (!slot) return endOfWait(turn, client, this.#services.counters);
    const request: DispatchRequest = {
      turn,
      payload: sent,
      client,
      countOutput: (event) => unsettled.reservation?.countOutput(event),
      estimateUsage: () => unsettled.reservation?.estimatedUsage(),
      expected,
      chain,
    };
    const dispatch = this.#dispatch;
    const { attempts, end } = await (chain
      ? chainedAttempts(dispatch, request, slot, chain)
      : new TurnAttempts(dispatch, request, slot).run());
    unsettled.attempts = attempts;
    return end;
  }

  async #read(turn: DispatchedTurn, client: TurnClient): Promise<ReadRequest> {
    const { payload, asCompaction, metered, noOutput } = turn.kind;
    if (payload === 'stream') return { payload: { kind: 'stream', open: client.upload() }, asked: undefined };
    if (payload === 'multipart') {
      return { payload: { kind: 'stream', open: await client.parts(turn.rules.parts()) }, asked: undefined };
    }
    const work: Work = payload === 'file' ? { body: {}, form: await client.form() } : { body: await client.json() };
    turn.bodyBytes = client.bodyBytes;
    if (client.isLarge) turn.large = new SlicedWork(turn.key.id);
    else smallTurnBegins();
    turn.liveSocket = client.upstreamSocket;
    if (client.upstreamSocket && turn.hasApiAccounts) {
      work.body = this.#services.histories.extended(turn, work.body, client.bodyBytes, client.upstreamSocket);
    }
    if (asCompaction && asksForCompaction(work.body)) turn.become(asCompaction);
    const asked = metered ? { ...work.body, ...(noOutput && { generate: false }) } : undefined;
    return { payload: { kind: 'json', work }, asked };
  }

  #chainOf(turn: DispatchedTurn, body: Body, unsettled: Unsettled): ModelChain | undefined {
    const fallbacks = fallbacksOf(turn.pool.models, { model: turn.model?.id, kind: turn.kind, body });
    return fallbacks && new ModelChain({ turn, accounting: this.#services.accounting, body, unsettled }, fallbacks);
  }

  async #reserve(
    turn: DispatchedTurn,
    payload: Payload,
    request: Body | undefined,
    unsettled: Unsettled,
  ): Promise<ChainedRequest | Refusal> {
    if (turn.large) await turn.large.pause();
    const reserving = this.#services.accounting.reserve(turn, request);
    const reserved = reserving instanceof Promise ? await reserving : reserving;
    if (reserved instanceof Refusal) return reserved;
    unsettled.reservation = reserved;
    const editing = payload.kind === 'json' ? turn.rules.edit(payload.work) : undefined;
    if (editing) await editing;
    return { payload, expected: reserved };
  }
}

/**
 * The slot in which a turn runs. A promise if it has to wait; undefined if its client leaves before.
 * @throws Refusal if the class of its route has no room
 */
export function slotFor(turn: LiveTurn, client: TurnClient, admission: Admission): Slot | Promise<Slot | undefined> {
  return admission.acquire({ class: turn.route.class, key: turn.identity?.key, onGone: (left) => client.onGone(left) });
}

/**
 * A promise only if a rule has to wait.
 * @returns the refusal of a known model without a routable account. A fallback may have one (AA75).
 */
function applyRules(turn: DispatchedTurn, work: Work): Refusal | undefined | Promise<Refusal | undefined> {
  try {
    return turn.rules.request(work)?.then(() => undefined, unroutableOf);
  } catch (thrown) {
    return unroutableOf(thrown);
  }
}

function unroutableOf(thrown: unknown): Refusal {
  if (thrown instanceof Refusal && thrown.code === 'no_eligible_account') return thrown;
  throw thrown;
}

/** The request for the first fallback that can serve the turn. If there is none, the turn is as it was. */
async function firstFallback(turn: DispatchedTurn, chain: ModelChain): Promise<ChainedRequest | undefined> {
  const restore = turn.checkpoint();
  const request = await chain.next();
  if (!request) restore();
  return request;
}
