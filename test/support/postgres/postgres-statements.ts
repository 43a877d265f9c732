// Reads the statements that a client runs from the bytes that it sends to PostgreSQL.

const HEAD_BYTES = 5;
const [PARSE, BIND, QUERY] = Buffer.from('PBQ');

export class SentStatements {
  #rest = Buffer.alloc(0);
  /** Whether the first message was read. It has no type. */
  #begun = false;
  readonly #prepared = new Map<string, string>();

  /** The texts of the statements in these bytes, in order. */
  read(bytes: Buffer): readonly string[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const run: string[] = [];
    for (;;) {
      const head = this.#begun ? HEAD_BYTES : HEAD_BYTES - 1;
      if (this.#rest.length < head) return run;
      const length = this.#rest.readUInt32BE(head - 4) + head - 4;
      if (this.#rest.length < length) return run;
      if (this.#begun) this.#message(this.#rest[0] as number, this.#rest.subarray(HEAD_BYTES, length), run);
      this.#begun = true;
      this.#rest = this.#rest.subarray(length);
    }
  }

  #message(type: number, body: Buffer, run: string[]): void {
    if (type !== PARSE && type !== BIND && type !== QUERY) return;
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2);
    if (type === QUERY) run.push(first);
    else if (type === PARSE) this.#prepared.set(first, second);
    // The first name in a binding is that of its portal.
    else run.push(this.#prepared.get(second) ?? '');
  }
}
