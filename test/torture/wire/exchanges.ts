// The exchanges of one lane in order: each request that reached one of its accounts, with the bytes of the reply that the gateway got.
import type { Socket } from 'node:net';
import type { FaultyWriter, WireFault } from './faulty-writer.ts';

/** The number of bytes of a reply that are kept. */
const KEPT_BYTES = 256 * 1024;

export class Exchange {
  readonly account: string;
  readonly method: string;
  readonly path: string;
  /** The time on the monotonic clock in milliseconds. */
  readonly begunAt = performance.now();
  /** The bytes of the reply that were passed to the gateway. */
  passed = 0;
  /** The fault that was applied to the reply. */
  broken: WireFault | undefined;
  /** Whether the connection has ended, or carries another request. */
  isOver = false;
  /** Whether the attack answered it instead of the account. */
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

  /** The request as the gateway sent it. Of a long request only the beginning. */
  get request(): Buffer {
    return Buffer.concat(this.#request);
  }

  /** The reply as the gateway got it. Of a long reply only the beginning. */
  get reply(): Buffer {
    return Buffer.concat(this.#reply);
  }
}

/**
 * Answers an exchange instead of the account. Bytes that bypass the writer get no fault. `request` is the part of the request that has
 * arrived.
 */
export type HandAnswer = (writer: FaultyWriter, gateway: Socket, request: Buffer) => void;

export interface Plan {
  /** The exchange of the call, counted from 0, or the next request of this kind that the gateway itself makes. */
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
  /** The gateway's own requests since the lane was opened. */
  readonly own: Exchange[] = [];
  #list: Exchange[] = [];
  #plan: Plan | undefined;
  #fixed: ReadonlyMap<string, HandAnswer>;

  /** @param fixed answers by path, for paths that the rehearsal provider does not have */
  constructor(fixed: ReadonlyMap<string, HandAnswer> = new Map()) {
    this.#fixed = fixed;
  }

  /** The exchanges since the last plan. */
  get list(): readonly Exchange[] {
    return this.#list;
  }

  /** Forgets the exchanges so far. `plan` is for those of the next call. */
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
      // The plan is only for the next request of its kind.
      if (plan) this.#plan = undefined;
    }
    const answer = plan?.answer ?? this.#fixed.get(line.path);
    if (answer) exchange.answered = true;
    return { exchange, ...(plan?.fault ? { fault: plan.fault } : {}), ...(answer ? { answer } : {}) };
  }
}
