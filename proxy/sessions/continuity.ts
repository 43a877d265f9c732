// Continuity: what a turn continues, and the account to which it therefore must, should or preferably goes (Q10, Q11, F8).
import type { Store } from '../../store/store.ts';
import { RecentEntries } from '../base/bytes/recent-entries.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { KeyedDigest } from '../encryption/digest.ts';
import type { StoreKey } from '../encryption/store-key.ts';
import { CiphertextOrigins } from '../turn/ciphertext-origins.ts';
import type { Continuation, Pin } from '../turn/continuation.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { Json } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { ReplyObserver } from '../turn/reply/reply-observer.ts';
import type { AccountConfig, WireWords } from '../turn/settings.ts';
import type { Body, Outgoing } from '../turn/turn.ts';
import { sessionsNamed } from '../turn/wire/session-header.ts';
import { affinityOf } from './affinity.ts';
import { CIPHERTEXT_REFUSED, itemsToLookUp, type Recovery, type RefusedTurn, recoveryOf } from './ciphertext-refusal.ts';
import { continuityObserver } from './continuity-observer.ts';
import { derivedSession } from './derived-session.ts';
import { Ciphertexts, ciphertextOf, isReasoning, keepOwnTurnState, turnStatesIn } from './issued-values.ts';
import { PinCache } from './pins/pin-cache.ts';

type Pinned = Omit<Continuation, 'affinity'>;

/** The most sessions with a recent refusal of ciphertext that are remembered: as many as may fail over at once. */
const MIXED = 5_000;

/** The most store reads of a turn for the makers of its ciphertext, the newest first. */
const ORIGINS = 32;

const NO_STATES: ReadonlyMap<string, string> = new Map();
const NO_PIN = Object.freeze({ hard: undefined, soft: undefined, session: undefined, states: NO_STATES });
const NOTHING: Continuation = Object.freeze({ ...NO_PIN, affinity: undefined });

export interface ContinuityOptions {
  readonly store: Store['pins'];
  /** Whether other nodes use the store. */
  readonly shared: boolean;
  readonly key: StoreKey;
  readonly clock: Clock;
  readonly counters: Counters;
  /** The most pins in memory. */
  readonly capacity: number;
}

/** A websocket to an account. */
export interface LiveSocket {
  /** The account of the websocket; undefined if it is not open. */
  readonly account: string | undefined;
  /** Whether this response came over the websocket. */
  continues(responseId: string): boolean;
}

export class Continuity {
  readonly observer: ReplyObserver;
  readonly #pins: PinCache;
  readonly #sessions: KeyedDigest;
  readonly #ciphertexts: Ciphertexts;
  /** Sessions whose history has reasoning of several accounts. Each process finds them by itself, as it does refusals. */
  readonly #mixed = new RecentEntries<true>(MIXED);

  constructor({ key, shared, ...options }: ContinuityOptions) {
    this.#pins = new PinCache({ ...options, shared: shared ? options.store : undefined, digest: key.digest('pins') });
    this.#sessions = key.digest('session header');
    this.#ciphertexts = new Ciphertexts(this.#pins);
    this.observer = continuityObserver(this.#pins, this.#ciphertexts);
  }

  load(): Promise<void> {
    return this.#pins.load();
  }

  /** Stores pins without delay from now on, so that the next process finds them. Called when the process begins to end. */
  drain(): void {
    this.#pins.drain();
  }

  /** Drops pins that other nodes moved. @param hashes their digests */
  forget(hashes: Iterable<string>): void {
    this.#pins.forget(hashes);
  }

  /** Writes waiting pins. Called before the store closes. */
  flush(): void {
    this.#pins.flush();
  }

  /**
   * The account to which a session of this key last went, for explanations; undefined if the session is not known.
   * @param value of a continuity header
   */
  async accountOf(key: { readonly id: string; readonly pool: string }, value: string): Promise<string | undefined> {
    const found = await Promise.all(
      sessionsNamed(value).map((session) => this.#pins.find(this.#pins.name('header', key.pool, key.id, session))),
    );
    return found.find((pin) => pin !== undefined)?.account;
  }

  /**
   * Finds what the turn continues. A promise only if a pin of the turn is not in memory and has to be read from the store.
   * @param body after its rules; undefined on routes without a JSON body
   * @param live the upstream websocket of the client's connection, if it has one
   * @throws Refusal `previous_response_not_found` for an anchor that is unknown in this Pool; `file_conflict` if it is at another account
   * than the files of the turn
   */
  resume(turn: LiveTurn, body: Body | undefined, live?: LiveSocket): Continuation | Promise<Continuation> {
    const resumed = this.#resume(turn, body, live);
    const { fileOwner } = turn;
    if (fileOwner === undefined) return resumed;
    return resumed instanceof Promise ? resumed.then((found) => boundTo(fileOwner, found)) : boundTo(fileOwner, resumed);
  }

  #resume(turn: LiveTurn, body: Body | undefined, live: LiveSocket | undefined): Continuation | Promise<Continuation> {
    const pool = turn.pool.id;
    const anchor = anchorOf(body);
    const { session } = turn;
    const states = turnStatesIn(turn.headers, body, turn.wire);
    if (anchor === undefined && session === undefined && states.length === 0) return this.#resumeUnnamed(NO_PIN, turn, body);
    const pins = this.#pins;
    const sessionName = session === undefined ? undefined : pins.name('header', pool, turn.key.id, session);
    const at = sessionName && pins.find(sessionName);
    if (sessionName && anchor === undefined && states.length === 0 && !(at instanceof Promise)) {
      return this.#withAffinity({ hard: undefined, soft: at?.account, session: sessionName, states: NO_STATES }, turn, body);
    }
    const holder = anchor !== undefined && live?.continues(anchor) ? live.account : undefined;
    const anchored = anchor === undefined || holder !== undefined ? undefined : pins.find(pins.name('response', pool, '', anchor));
    const issuers = states.map((value) => pins.find(pins.name('turn_state', pool, '', value)));
    const settle = ([boundTo, wasAt, ...issuedBy]: readonly (Pin | undefined)[]): Continuation | Promise<Continuation> => {
      const hard = holder ?? boundTo?.account;
      if (anchor !== undefined && hard === undefined) throw new Refusal('previous_response_not_found', { param: 'previous_response_id' });
      const issued = states.flatMap((value, i) => (issuedBy[i] ? [[value, issuedBy[i].account] as const] : []));
      const pinned = {
        hard,
        soft: wasAt?.account ?? issued[0]?.[1],
        session: sessionName,
        states: issued.length === 0 ? NO_STATES : new Map(issued),
      };
      if (anchor !== undefined) return { ...pinned, affinity: undefined };
      return sessionName ? this.#withAffinity(pinned, turn, body) : this.#resumeUnnamed(pinned, turn, body);
    };
    const found = [anchored, at, ...issuers];
    return isSettled(found) ? settle(found) : Promise.all(found).then(settle);
  }

  /** Resumes a turn that names no session. Its ciphertext may name an account (Q10). */
  #resumeUnnamed(pinned: Pinned, turn: LiveTurn, body: Body | undefined): Continuation | Promise<Continuation> {
    const input = body?.input;
    if (pinned.soft !== undefined || !Array.isArray(input)) return this.#withAffinity(pinned, turn, body);
    const maker = this.#ciphertexts.newestMaker(input);
    if (maker instanceof Promise) return maker.then((soft) => this.#withAffinity({ ...pinned, soft }, turn, body));
    return this.#withAffinity(maker === undefined ? pinned : { ...pinned, soft: maker }, turn, body);
  }

  #withAffinity(pinned: Pinned, turn: LiveTurn, body: Body | undefined): Continuation | Promise<Continuation> {
    const affinity = affinityOf(turn, body, this.#pins, pinned);
    if (affinity instanceof Promise) return affinity.then((read) => ({ ...pinned, affinity: read }));
    return affinity === undefined && pinned === NO_PIN ? NOTHING : { ...pinned, affinity };
  }

  /**
   * The turn without the reasoning that this account has refused before. The session's history still has those items, and the account would
   * refuse every turn with them.
   */
  fit(body: Body, { session }: Continuation, account: string): Body {
    const { input } = body;
    if (!session || !this.#mixed.get(session.text) || !Array.isArray(input)) return body;
    const kept = input.filter((item) => !(isReasoning(item) && this.#ciphertexts.isRefusedBy(item, account)));
    return kept.length === 0 || kept.length === input.length ? body : { ...body, input: kept };
  }

  /**
   * The makers of a turn's ciphertext, for a Pool whose accounts do not all have the same API (AA21). A promise only if some are not in
   * memory; undefined for a turn without ciphertext.
   */
  origins(turn: LiveTurn, { input }: Body): CiphertextOrigins | undefined | Promise<CiphertextOrigins> {
    const items = Array.isArray(input) ? input.filter((item) => ciphertextOf(item) !== undefined) : [];
    if (items.length === 0) return undefined;
    const account = (item: Json): AccountConfig | undefined => turn.generation.accounts.get(this.#ciphertexts.makerOf(item) ?? '');
    const made = (): CiphertextOrigins => new CiphertextOrigins(new Map(items.map((item) => [item, account(item)])));
    const unknown = items.filter((item) => this.#ciphertexts.makerOf(item) === undefined);
    return unknown.length === 0 ? made() : this.#ciphertexts.lookUp(unknown.toReversed(), ORIGINS).then(made);
  }

  /** Removes from an attempt the turn state that its account did not issue. */
  trim(out: Outgoing, { states }: Continuation, wire: WireWords): void {
    keepOwnTurnState(out, (value) => states.get(value) === out.account.id, wire);
  }

  /** The session id of a turn for accounts with `session_header: derived`. @param body after its rules */
  sessionHeader(turn: LiveTurn, body: Body): string | undefined {
    return derivedSession(turn, body, this.#sessions);
  }

  /** The account that made the newest known ciphertext of the body; a promise only if the store is read (AA67). */
  makerIn({ input }: Body): string | undefined | Promise<string | undefined> {
    return Array.isArray(input) ? this.#ciphertexts.newestMaker(input) : undefined;
  }

  /** Whether a provider refused ciphertext, which a turn can recover from. */
  blamesCiphertext(code: string | null): boolean {
    return code === CIPHERTEXT_REFUSED;
  }

  /** Reads the makers of a refused turn's ciphertext from the store, before its recovery is decided. */
  lookUpMakers(sent: Body, param: string | null): Promise<void> {
    return this.#ciphertexts.lookUp(itemsToLookUp(sent, param));
  }

  recovery(refused: RefusedTurn, { session }: Continuation): Recovery {
    const recovery = recoveryOf(refused, this.#ciphertexts);
    if (recovery.kind === 'resend' && session) this.#mixed.set(session.text, true);
    return recovery;
  }
}

const isSettled = (found: readonly (Pin | undefined | Promise<Pin | undefined>)[]): found is readonly (Pin | undefined)[] =>
  !found.some((one) => one instanceof Promise);

/** Binds a turn to the account of its files, as an anchor would (Q10). */
function boundTo(fileOwner: string, continuation: Continuation): Continuation {
  const { hard } = continuation;
  if (hard !== undefined && hard !== fileOwner) {
    throw new Refusal('file_conflict', { message: 'The files and the previous response of this request belong to different accounts.' });
  }
  return { ...continuation, hard: fileOwner };
}

function anchorOf(body: Body | undefined): string | undefined {
  const anchor = body?.previous_response_id;
  if (anchor === undefined || anchor === null) return undefined;
  if (typeof anchor === 'string') return anchor;
  throw new Refusal('invalid_request', { param: 'previous_response_id', message: 'A response id must be a string.' });
}
