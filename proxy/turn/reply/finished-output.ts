// Completes the output of a response from the finished items of its stream, because a terminal event may have an empty or partial output
// (RB17).
import { asList, isObject, type Json, type JsonObject } from '../json/json.ts';

/** Finished items by their output index. An item without an index takes the next free one. */
export class FinishedItems {
  readonly #items = new Map<number, JsonObject>();

  /** @param event `response.output_item.done`. @returns whether it has an item */
  add({ item, output_index: index }: JsonObject): boolean {
    if (!isObject(item)) return false;
    this.#items.set(typeof index === 'number' ? index : this.#items.size, item);
    return true;
  }

  clear(): void {
    this.#items.clear();
  }

  /**
   * Returns the response with every finished item, each once and in order. If the response itself has an item, that version is kept.
   * Returns the same object if nothing is missing. The output is always a list, because SDKs fail without one.
   */
  fill(response: JsonObject): JsonObject {
    const stated = asList(response.output);
    if (this.#items.size <= stated.length) return Array.isArray(response.output) ? response : { ...response, output: stated };
    const rest = new Map(stated.map((item) => [identityOf(item), item]));
    const output = [...this.#items]
      .sort(([a], [b]) => a - b)
      .map(([, item]) => {
        const identity = identityOf(item);
        const own = rest.get(identity);
        rest.delete(identity);
        return own ?? item;
      });
    return { ...response, output: [...output, ...rest.values()] };
  }
}

/** What identifies an item: its id, or its content if it has no id. */
function identityOf(item: Json): string {
  if (!isObject(item)) return JSON.stringify(item);
  const { type, id, call_id } = item;
  const name = typeof id === 'string' ? id : call_id;
  return typeof name === 'string' ? `${String(type)} ${name}` : JSON.stringify(item);
}
