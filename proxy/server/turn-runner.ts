// The run of a turn, from its admission to its one end. Every handler returns how its turn ended. Only this file settles the usage, writes the
// row, and ends the client's answer.
import type { TurnMetrics } from '../admin/metrics/turn-metrics.ts';
import type { AnswerHandler } from '../answers/answer-handler.ts';
import type { Log } from '../base/process/log.ts';
import type { TurnClient } from '../dispatch/client.ts';
import type { DispatchServices } from '../dispatch/dispatch-services.ts';
import type { CloseReply } from '../dispatch/reply/reply-context.ts';
import type { DispatchedTurn } from '../dispatch/request/dispatch-request.ts';
import { endOfWait, stoppedRefusal } from '../dispatch/stopped-turn.ts';
import type { Reservation } from '../keys/reservation.ts';
import { Refusal, refusalOf, upgradeRequired } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { type Attempts, clientGone, type Ending, NO_ATTEMPTS, requestRow } from '../turn/reply/turn-result.ts';
import type { RouteKind } from '../turn/routes/kinds.ts';
import type { Answer } from '../turn/surface.ts';
import { type DispatchedTurnServices, DispatchedTurns, type ServedTurn, slotFor, type Unsettled } from './dispatched-turns.ts';

export interface RunnerServices extends DispatchedTurnServices {
  readonly turnMetrics: TurnMetrics;
  readonly log: Log;
}

export interface TurnHandlers {
  readonly dispatch: DispatchServices;
  /** The handlers of kinds that need no account. */
  readonly answers: Readonly<Partial<Record<RouteKind, AnswerHandler>>>;
}

export class TurnRunner {
  readonly running = new RunningTurns();
  readonly #services: RunnerServices;
  readonly #answers: TurnHandlers['answers'];
  readonly #dispatched: DispatchedTurns;

  constructor(services: RunnerServices, { dispatch, answers }: TurnHandlers) {
    this.#services = services;
    this.#answers = answers;
    this.#dispatched = new DispatchedTurns(services, dispatch);
  }

  /**
   * Runs a turn that was counted as running. Never rejects.
   * @returns how the turn ended for its client
   */
  async run(turn: LiveTurn, client: TurnClient): Promise<Ending> {
    let served: ServedTurn;
    const unsettled: Unsettled = { attempts: NO_ATTEMPTS, reservation: undefined };
    try {
      turn.rules.admit();
      const { kind, method } = turn.route;
      if (method === 'WS' && turn.client === 'http') throw upgradeRequired();
      if (!kind) throw new Refusal('unsupported_endpoint');
      served = isDispatched(turn) ? await this.#dispatched.run(turn, client, unsettled) : await this.#answer(turn, client);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      // A body that has not arrived when the gateway stops is not the client's fault.
      served = { kind: 'refused', refusal: client.isStopped ? stoppedRefusal(turn) : refusalOf(thrown) };
    }
    const measuring = served.kind === 'refused' ? turn.measure(served.refusal) : undefined;
    if (measuring) await measuring;
    const ending = this.#end(turn, client, served, unsettled);
    this.running.end();
    return ending;
  }

  /** Ends a turn that no row of the route table serves. It has a row like any other (S5). */
  refuse(turn: LiveTurn, client: TurnClient, refusal: Refusal): Ending {
    return this.#end(turn, client, { kind: 'refused', refusal }, { attempts: NO_ATTEMPTS, reservation: undefined });
  }

  /** Writes the row of a request whose refusal was written to the socket itself. */
  recordRefused(turn: LiveTurn, { status, loggedCode }: Refusal): void {
    this.#record(turn, { outcome: { kind: 'refused', shown: false }, status, code: loggedCode }, NO_ATTEMPTS, undefined);
  }

  /** Writes the row of a preflight, which is answered without a turn. */
  recordPreflight(turn: LiveTurn): void {
    this.#record(turn, { outcome: { kind: 'completed', shown: true }, status: 204, code: null }, NO_ATTEMPTS, undefined);
  }

  /**
   * Writes the row of a frame that is an exact retry of a turn, which answers it. Nothing is sent to an account for it.
   * @param ending how that turn ended for this client; undefined if the client left before
   */
  recordRetry(turn: LiveTurn, ending: Ending | undefined): void {
    this.#record(turn, ending ?? clientGone({ shown: false }), NO_ATTEMPTS, undefined);
  }

  /** Writes the row of a frame whose client left before its turn could begin. */
  recordLeft(turn: LiveTurn): Ending {
    const ending = clientGone({ shown: false });
    this.#record(turn, ending, NO_ATTEMPTS, undefined);
    return ending;
  }

  async #answer(turn: LiveTurn, client: TurnClient): Promise<ServedTurn> {
    const handler = turn.route.kind && this.#answers[turn.route.kind];
    if (!handler) throw new Error(`no handler for ${turn.route.kind}`);
    const entering = slotFor(turn, client, this.#services.capacity.admission);
    const slot = entering instanceof Promise ? await entering : entering;
    if (!slot) return endOfWait(turn, client, this.#services.counters);
    try {
      return { kind: 'answered', answer: await handler(turn, client) };
    } finally {
      slot.release();
    }
  }

  /** The one end of a turn: the end phases of its rules, the client's answer, the reservation, and the row. */
  #end(turn: LiveTurn, client: TurnClient, served: ServedTurn, { attempts, reservation }: Unsettled): Ending {
    const { detachedMs } = client;
    if (detachedMs !== undefined) turn.note('detached_ms', detachedMs);
    const { ending, write } = closing(turn, client, served, attempts);
    const last = turn.rules.end(ending.outcome, (thrown) => turn.fault(thrown));
    try {
      write(last);
    } catch (thrown) {
      turn.fault(thrown);
      // Otherwise the client would wait for the rest.
      client.breakOff();
    }
    turn.held.releaseAll();
    this.#record(turn, ending, attempts, reservation);
    return ending;
  }

  #record(turn: LiveTurn, ending: Ending, attempts: Attempts, reservation: Reservation | undefined): void {
    const { accounting, turnMetrics, log } = this.#services;
    try {
      const row = requestRow(turn, ending, attempts, () => (attempts.rows.length > 0 ? reservation?.estimatedUsage() : undefined));
      const ended = { ...attempts, row, attempts: attempts.rows, costUsd: turn.noted.cost_usd };
      const costNanos = accounting.settle(turn, reservation, ended);
      turnMetrics.record(row, attempts.rows, { modelKnown: turn.model !== undefined, costNanos });
      if (!log.debugs) return;
      const { id, endpoint, method, status, code, account, retries, duration_ms, detached_ms } = row;
      log.debug('request', { id, endpoint, method, status, code, account, retries, duration_ms, ...(detached_ms && { detached_ms }) });
    } catch (thrown) {
      turn.fault(thrown);
    }
  }
}

/** The number of running turns, over HTTP and websockets. A gateway that stops waits for them. */
class RunningTurns {
  /** A number, because a map that changes twice per turn would cost a tenth of the turn in garbage. */
  #count = 0;
  /** Called when the last turn ends. */
  #idle: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#idle?.();
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }
}

const isDispatched = (turn: LiveTurn): turn is DispatchedTurn => turn.kind?.served === 'dispatch';

/** How the turn ends for its client, and what remains to be written. */
function closing(
  turn: LiveTurn,
  client: TurnClient,
  served: ServedTurn,
  attempts: Attempts,
): { readonly ending: Ending; readonly write: CloseReply } {
  switch (served.kind) {
    case 'ended':
      return { ending: served.ending, write: served.close ?? (() => undefined) };
    case 'answered':
      return answering(turn, client, served.answer, served.answer.code ?? null);
    case 'relayed':
      return answering(turn, client, served.answer, served.answer.code);
    case 'refused': {
      const { outcome } = served;
      const refusal = turn.shown(served.refusal);
      const { shown } = client;
      const kind = outcome ?? (attempts.rows.length > 0 ? 'failed' : 'refused');
      const ending =
        client.gone && !client.isStopped
          ? clientGone({ shown })
          : { outcome: { kind, shown }, status: refusal.status, code: refusal.loggedCode };
      return { ending, write: () => client.refuse(refusal) };
    }
  }
}

function answering(
  turn: LiveTurn,
  client: TurnClient,
  { status, headers, body }: Answer,
  code: string | null,
): { readonly ending: Ending; readonly write: CloseReply } {
  return {
    ending: { outcome: { kind: status >= 400 ? 'failed' : 'completed', shown: true }, status, code },
    write: () => client.answer(status, { ...headers, ...turn.idHeaders() }, body),
  };
}
