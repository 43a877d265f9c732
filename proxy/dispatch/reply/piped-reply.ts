// A reply that passes unread from the account to the client. It is held until its body begins, then committed, and ends when the account or
// the client ends it.
import type { IncomingMessage } from 'node:http';
import { carrierFailure } from '../../turn/errors/failure.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Head } from '../../turn/turn.ts';
import type { StreamReader } from '../../upstream/carriers/carrier.ts';
import type { Client } from '../client.ts';
import { stoppedReply } from '../stopped-turn.ts';
import type { ReplyContext } from './reply-context.ts';

export interface PipedReplyOptions {
  readonly head: Head;
  readonly client: Client;
  readonly context: ReplyContext;
  /** The longest silence of the account. */
  readonly idleMs: number;
}

export class PipedReply implements StreamReader {
  readonly reads = 'stream';
  readonly #head: Head;
  readonly #client: Client;
  readonly #context: ReplyContext;
  readonly #idleMs: number;
  #state: 'held' | 'relaying' | 'over' = 'held';

  constructor({ head, client, context, idleMs }: PipedReplyOptions) {
    this.#head = head;
    this.#client = client;
    this.#context = context;
    this.#idleMs = idleMs;
  }

  /** Whether the client has the head. After that nothing is retried. */
  get committed(): boolean {
    return this.#state === 'relaying';
  }

  get shown(): boolean {
    return this.committed;
  }

  stream(reply: IncomingMessage): void {
    this.#pipe(reply).catch((thrown) => this.#faulted(thrown));
  }

  async #pipe(reply: IncomingMessage): Promise<void> {
    const context = this.#context;
    const { turn, counters } = context;
    const { status, headers } = this.#head;
    const broken = await this.#begins(reply);
    if (this.#state === 'over') return;
    if (broken) {
      if (broken === 'idle') {
        counters.add('upstream_idle_timeouts');
        context.sending.abort();
      }
      context.settle({ kind: 'failed', failure: carrierFailure(broken) });
      return;
    }
    this.#state = 'relaying';
    turn.rules.head(this.#head);
    context.committed();
    const endUpload = (): void => context.endUpload();
    const options = { status, headers, idleMs: this.#idleMs, endUpload };
    const end = await this.#client.pipe(reply, options);
    if (end !== 'complete' && this.#client.isStopped) {
      context.settle(stoppedReply(turn, status));
      return;
    }
    if (end === 'gone') {
      context.settle({ kind: 'gone', shown: true });
      return;
    }
    if (end === 'silent') counters.add('upstream_idle_timeouts');
    const failure = end === 'complete' ? undefined : carrierFailure(end === 'silent' ? 'idle' : 'network');
    const ending = { outcome: { kind: failure ? 'cut' : 'completed', shown: true }, status, code: null } as const;
    context.settle({ kind: 'done', ending, close: () => undefined, failure });
  }

  /** Handles an error of the gateway, which would otherwise end the process. A client that has the head loses its connection. */
  #faulted(thrown: unknown): void {
    const context = this.#context;
    context.turn.fault(thrown);
    context.sending.abort();
    context.settle({ kind: 'refused', refusal: new Refusal('server_error') });
  }

  /** Called before commit. The caller settles the attempt. */
  abandon(): void {
    this.#state = 'over';
  }

  /**
   * Resolves when the body begins, is empty, or was held long enough. Resolves with the failure if the reply broke off before, or if the
   * account was silent too long.
   */
  async #begins(reply: IncomingMessage): Promise<'network' | 'idle' | undefined> {
    const { turn, counters } = this.#context;
    const { hold_ms } = turn.timeouts;
    const idleMs = this.#idleMs;
    const { promise, resolve } = Promise.withResolvers<'begun' | 'held' | 'network' | 'idle'>();
    const begun = (): void => resolve('begun');
    const broken = (): void => resolve('network');
    const cancel = turn.after(Math.min(hold_ms, idleMs), () => resolve(idleMs < hold_ms ? 'idle' : 'held'));
    reply.once('readable', begun).once('error', broken).once('close', broken);
    const result = await promise;
    cancel();
    reply.off('readable', begun).off('error', broken).off('close', broken);
    if (result === 'held') counters.add('hold_expired');
    if (result === 'network' || result === 'idle') return result;
    // A part of the body may have arrived just before the failure.
    return reply.errored ? 'network' : undefined;
  }
}
