// Reads the events of an SSE text, for assertions.

export interface SseEvent {
  readonly event: string | undefined;
  /** Parsed JSON, or the text itself if it is none, as in `[DONE]`. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly data: any;
}

/** The events of an SSE text, without comments. */
export function eventsOf(text: string): readonly SseEvent[] {
  return text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .map((block) => block.split(/\r\n|\n|\r/))
    .flatMap((lines) => {
      const field = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
      const data = field('data');
      return data.length === 0 ? [] : [{ event: field('event')[0], data: dataOf(data.join('\n')) }];
    });
}

function dataOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
