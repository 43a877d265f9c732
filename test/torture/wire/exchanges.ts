// The exchanges of one lane in order: each request that reached one of its accounts, with the bytes of the reply that the gateway got.
import type { Socket } from 'node:net';
import type { FaultyWriter, WireFault } from './faulty-writer.ts';

/** The number of bytes that are kept of a reply. */
const KEPT_BYTES = 256 * 1024;

export class Exchange {
  readonly account: string;
  readonly method: string;
  readonly path: string;
  /** On the monotonic clock, in milliseconds. */
  readonly begunAt = performance.now();
  /** Bytes of the reply that were passed to the gateway. */
  passed = 0;
  /** The fault that its reply met. */
  broken: WireFault | undefined;
  /** The connection ended, or carries another request. */
  isOver = false;
  /** It was answered by the attack in the place of the account. */
  answered = false;
  readonly #reply: Buffer[] = [];
  readonly #request: Buffer[] = [];
  #asked = 0;

  constructor({ account, method, path }: Pick<Exchange, 'account' | 'method' | 'path'>) {
    this.account = account;
    this.method = method;
    this.path = path;
  }

  add(bytes: Buffer): void {
    if (this.passed < KEPT_BYTES) this.#reply.push(bytes);
    this.passed += bytes.length;
  }

  ask(bytes: Buffer): void {
    if (this.#asked < KEPT_BYTES) this.#request.push(bytes);
    this.#asked += bytes.length;
  }

  /** The request as the gateway sent it; of a long one the beginning. */
  get request(): Buffer {
    return Buffer.concat(this.#request);
  }

  /** The reply as the gateway got it; of a long one the beginning. */
  get reply(): Buffer {
    return Buffer.concat(this.#reply);
  }
}

/**
 * Answers an exchange in the place of the account. Bytes that bypass the writer get no fault. `request` is the received part of the
 * request.
 */
export type HandAnswer = (writer: FaultyWriter, gateway: Socket, request: Buffer) => void;

export interface Plan {
  /** Which exchange of the call, from 0; or the next request of this kind that the gateway makes for itself. */
  readonly exchange: number | OwnCall;
  readonly fault?: WireFault;
  readonly answer?: HandAnswer;
}

/** The kinds of the gateway's own requests. */
export type OwnCall = 'catalog' | 'usage' | 'token';

const OWN_CALLS: Readonly<Record<string, OwnCall>> = {
  'GET /backend-api/agent/models': 'catalog',
  'GET /backend-api/meter/usage': 'usage',
  'POST /oauth/token': 'token',
};

export class Exchanges {
  /** The requests that the gateway made for itself, since the lane was opened. */
  readonly own: Exchange[] = [];
  #list: Exchange[] = [];
  #plan: Plan | undefined;
  #fixed: ReadonlyMap<string, HandAnswer>;

  /** @param fixed answers by path, for what the rehearsal provider does not have */
  constructor(fixed: ReadonlyMap<string, HandAnswer> = new Map()) {
    this.#fixed = fixed;
  }

  /** Since the last plan. */
  get list(): readonly Exchange[] {
    return this.#list;
  }

  /** Forgets the exchanges so far; `plan` is for those of the next call. */
  next(plan?: Plan): void {
    this.#list = [];
    this.#plan = plan;
  }

  begin(line: Pick<Exchange, 'account' | 'method' | 'path'>): {
    readonly exchange: Exchange;
    readonly fault?: WireFault;
    readonly answer?: HandAnswer;
  } {
    const exchange = new Exchange(line);
    const own = OWN_CALLS[`${line.method} ${line.path}`];
    const plan = this.#plan?.exchange === (own ?? this.#list.length) ? this.#plan : undefined;
    if (!own) this.#list.push(exchange);
    else {
      this.own.push(exchange);
      // Only the next one of the kind.
      if (plan) this.#plan = undefined;
    }
    const answer = plan?.answer ?? this.#fixed.get(line.path);
    if (answer) exchange.answered = true;
    return { exchange, ...(plan?.fault ? { fault: plan.fault } : {}), ...(answer ? { answer } : {}) };
  }
}
