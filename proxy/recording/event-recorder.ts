// Records an SSE stream event by event. An event is redacted when its last byte has come.
import type { ReplyEvent } from '../turn/reply/reply-event.ts';
import { SseSplitter } from '../upstream/events/sse-splitter.ts';
import type { BodyReader, ReadBody } from './body-reader.ts';
import type { RecordedEvent } from './fixture.ts';
import type { Redactor } from './redactor.ts';
import { Stopwatch } from './timing.ts';

/** Most bytes of one event. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

class TooLarge extends Error {}

export class EventRecorder implements BodyReader {
  readonly #redactor: Redactor;
  readonly #events: RecordedEvent[] = [];
  readonly #watch: Stopwatch;
  readonly #splitter: SseSplitter;
  #held = 0;
  #tooLarge = false;

  constructor(redactor: Redactor, now: () => number) {
    this.#redactor = redactor;
    this.#watch = new Stopwatch(now);
    const memory = {
      hold: (bytes: number): void => {
        this.#held += bytes;
        if (this.#held > MAX_EVENT_BYTES) throw new TooLarge('an event is too large to be recorded');
      },
      release: (bytes: number): void => {
        this.#held -= bytes;
      },
    };
    this.#splitter = new SseSplitter(memory, (event) => this.#record(event));
  }

  push(chunk: Buffer): void {
    if (this.#tooLarge) return;
    try {
      // Copied, because the splitter keeps the rest of a chunk, while the relay's buffer is reused.
      this.#splitter.push(Buffer.from(chunk));
    } catch (thrown) {
      if (!(thrown instanceof TooLarge)) throw thrown;
      this.#tooLarge = true;
    }
  }

  end(): ReadBody {
    if (!this.#tooLarge) this.#splitter.end();
    return this.#tooLarge ? { opaque: 'too large' } : { events: this.#events };
  }

  #record(event: ReplyEvent): void {
    const text = event.bytes.toString('latin1', event.start, event.end);
    const named = /(^|[\r\n])event:/.test(text) ? { named: true as const } : {};
    const data = event.hasData ? { data: event.isDone() ? '[DONE]' : this.#data(event) } : {};
    this.#events.push({ ...this.#watch.lap(), ...named, ...data });
  }

  #data(event: ReplyEvent): RecordedEvent['data'] & {} {
    const json = event.json();
    return json === undefined ? this.#redactor.text(event.data()) : (this.#redactor.json(json) ?? '');
  }
}
