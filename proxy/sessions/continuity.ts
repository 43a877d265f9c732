// Continuity: what a turn continues, and which account that binds it to or draws it to (Q10, F8.1, F8.2).
import { LRUCache } from 'lru-cache';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { StoreKey } from '../encryption/store-key.ts';
import type { Continuation } from '../turn/continuation.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal } from '../turn/refusal.ts';
import type { ReplyObserver } from '../turn/reply-observer.ts';
import type { Body, Outgoing, Work } from '../turn/turn.ts';
import { Ciphertexts, isReasoning } from './ciphertext.ts';
import { CIPHERTEXT_REFUSED, type Recovery, type Refused, recoveryOf } from './ciphertext-moves.ts';
import { continuityWitness } from './continuity-observer.ts';
import { type Pin, PinBook } from './pin-book.ts';
import { sessionOf } from './session.ts';
import { keepOwnTurnState, turnStatesIn } from './turn-state.ts';

/** Sessions that met a refusal of ciphertext lately: as many as may fail over at once. */
const MIXED = 5_000;

const NO_STATES: ReadonlyMap<string, string> = new Map();
const NOTHING: Continuation = Object.freeze({ hard: undefined, soft: undefined, session: undefined, states: NO_STATES });

export interface ContinuityOptions {
  readonly store: Store['pins'];
  readonly key: StoreKey;
  readonly clock: Clock;
  /** How many pins are kept in memory. */
  readonly remembered?: number;
}

export class Continuity {
  readonly witness: ReplyObserver;
  readonly #book: PinBook;
  readonly #ciphertexts: Ciphertexts;
  /** Sessions whose history has reasoning of several accounts in it. */
  readonly #mixed = new LRUCache<string, true>({ max: MIXED });

  constructor({ key, ...options }: ContinuityOptions) {
    this.#book = new PinBook({ ...options, digest: key.digest('pins') });
    this.#ciphertexts = new Ciphertexts(key.digest('ciphertexts'));
    this.witness = continuityWitness(this.#book, this.#ciphertexts);
  }

  load(): Promise<void> {
    return this.#book.load();
  }

  /** Before the store closes. */
  flush(): void {
    this.#book.flush();
  }

  /**
   * A promise only where memory cannot tell.
   * @param body after its rules; undefined on routes without a JSON body
   * @throws Refusal `previous_response_not_found` for an anchor that this Pool does not know
   */
  resume(turn: LiveTurn, body: Body | undefined): Continuation | Promise<Continuation> {
    const pool = turn.pool.id;
    const anchor = anchorOf(body);
    const session = sessionOf(turn.headers, turn.wire);
    const states = turnStatesIn(turn.headers, body, turn.wire);
    if (anchor === undefined && session === undefined && states.length === 0) return NOTHING;
    const book = this.#book;
    const sessionName = session === undefined ? undefined : book.name('header', pool, turn.key.id, session);
    const at = sessionName && book.find(sessionName);
    if (anchor === undefined && states.length === 0 && !(at instanceof Promise)) {
      return { hard: undefined, soft: at?.account, session: sessionName, states: NO_STATES };
    }
    const anchored = anchor === undefined ? undefined : book.find(book.name('response', pool, '', anchor));
    const issuers = states.map((value) => book.find(book.name('turn_state', pool, '', value)));
    const settle = ([boundTo, wasAt, ...issuedBy]: readonly (Pin | undefined)[]): Continuation => {
      if (anchor !== undefined && !boundTo) throw new Refusal('previous_response_not_found', { param: 'previous_response_id' });
      const issued = states.flatMap((value, i) => (issuedBy[i] ? [[value, issuedBy[i].account] as const] : []));
      return {
        hard: boundTo?.account,
        soft: wasAt?.account ?? issued[0]?.[1],
        session: sessionName,
        states: issued.length === 0 ? NO_STATES : new Map(issued),
      };
    };
    const found = [anchored, at, ...issuers];
    return isSettled(found) ? settle(found) : Promise.all(found).then(settle);
  }

  /**
   * The turn as this account gets it: less the reasoning that it refused before. Its session's history keeps bearing those items,
   * and each of its turns would be refused first.
   */
  fit(work: Work, { continuation }: Pick<LiveTurn, 'continuation'>, account: string): Work {
    const { input } = work.body;
    const session = continuation?.session;
    if (!session || !this.#mixed.get(session.text) || !Array.isArray(input)) return work;
    const kept = input.filter((item) => !(isReasoning(item) && this.#ciphertexts.isRefusedBy(item, account)));
    return kept.length === 0 || kept.length === input.length ? work : { body: { ...work.body, input: kept } };
  }

  /** Takes out of an attempt the turn state that its account did not issue. */
  trim(out: Outgoing, { continuation, wire }: Pick<LiveTurn, 'continuation' | 'wire'>): void {
    keepOwnTurnState(out, (value) => continuation?.states.get(value) === out.account.id, wire);
  }

  /** Whether a provider's refusal is about ciphertext, and so may be helped. */
  blamesCiphertext(code: string | null): boolean {
    return code === CIPHERTEXT_REFUSED;
  }

  recovery(refused: Refused, { continuation }: Pick<LiveTurn, 'continuation'>): Recovery {
    const recovery = recoveryOf(refused, this.#ciphertexts);
    if (recovery.kind === 'resend' && continuation?.session) this.#mixed.set(continuation.session.text, true);
    return recovery;
  }
}

const isSettled = (found: readonly (Pin | undefined | Promise<Pin | undefined>)[]): found is readonly (Pin | undefined)[] =>
  !found.some((one) => one instanceof Promise);

function anchorOf(body: Body | undefined): string | undefined {
  const anchor = body?.previous_response_id;
  if (anchor === undefined || anchor === null) return undefined;
  if (typeof anchor === 'string') return anchor;
  throw new Refusal('invalid_request', { param: 'previous_response_id', message: 'A response id must be a string.' });
}
