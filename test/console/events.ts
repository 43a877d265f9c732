// Reads the feed of the console like a page.
import assert from 'node:assert/strict';
import type { TestGateway } from '../support/gateway.ts';

export interface FeedEvent {
  readonly id: string;
  readonly topics: readonly string[];
}

/** The events of a stream, one after another. */
export async function* eventsFrom(gate: TestGateway, headers: Record<string, string> = {}): AsyncGenerator<FeedEvent> {
  const abort = new AbortController();
  const response = await fetch(`${gate.adminUrl}/api/events`, { headers, signal: abort.signal });
  assert.equal(response.status, 200);
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, id] = /^id: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (id !== undefined && data !== undefined) yield { id, topics: JSON.parse(data).topics };
      }
    }
  } finally {
    abort.abort();
  }
}
