// A reply that passes unread from the account to the client: committed with its head, ended as the account or the client ended it.
import type { IncomingMessage } from 'node:http';
import { carrierFailure } from '../turn/failure.ts';
import type { Head } from '../turn/turn.ts';
import type { StreamReader } from '../upstream/carrier.ts';
import type { Client } from './client.ts';
import type { ReplyContext } from './reply-context.ts';

export class PipedReply implements StreamReader {
  readonly reads = 'stream';
  readonly #head: Head;
  readonly #client: Client;
  readonly #context: ReplyContext;
  readonly #endUpload: () => void;

  /** @param endUpload called when the reply ended before the upload */
  constructor(head: Head, client: Client, context: ReplyContext, endUpload: () => void) {
    this.#head = head;
    this.#client = client;
    this.#context = context;
    this.#endUpload = endUpload;
  }

  stream(reply: IncomingMessage): void {
    void this.#pipe(reply);
  }

  async #pipe(reply: IncomingMessage): Promise<void> {
    const { turn, counters, committed, settle } = this.#context;
    const { status, headers } = this.#head;
    turn.rules.head(this.#head);
    committed();
    const options = { status, headers, idleMs: turn.timeouts.upstream_idle_ms, endUpload: this.#endUpload };
    const end = await this.#client.pipe(reply, options);
    if (end === 'gone') {
      settle({ kind: 'gone', shown: true });
      return;
    }
    if (end === 'silent') counters.add('upstream_idle_timeouts');
    const failure = end === 'complete' ? undefined : carrierFailure(end === 'silent' ? 'idle' : 'network');
    const ending = { outcome: { kind: failure ? 'cut' : 'completed', shown: true }, status, code: null } as const;
    settle({ kind: 'done', ending, close: () => undefined, failure });
  }

  abandon(): void {}
}
