// A run is the reasoning, the assistant messages and the calls between two other items of the input (AA42).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { FunctionCall } from '../../api-accounts/tools/lowered-calls.ts';
import type { CallIds } from './call-ids.ts';
import { CallRound } from './call-round.ts';
import type { ChatEncoding } from './encoding.ts';
import { ReplayedReasoning } from './replayed-reasoning.ts';

/**
 * The messages of a run. A run without calls is one message. Otherwise it is a message with the calls and the text before them, and a
 * message with the text after the first call.
 */
export interface EndedRun {
  readonly before: readonly JsonObject[];
  readonly round: CallRound | undefined;
  readonly behind: readonly JsonObject[];
}

export class AssistantRun {
  readonly #reasoning: ReplayedReasoning;
  readonly #replays: boolean;
  readonly #isAlwaysReplayed: boolean;
  readonly #texts: string[] = [];
  readonly #calls: FunctionCall[] = [];
  /** Texts after the first call. */
  readonly #later: string[] = [];

  /** @param isLast whether the run follows the last user message */
  constructor(encoding: ChatEncoding, isLast: boolean) {
    const { reasoning_replay } = encoding.quirks;
    this.#reasoning = new ReplayedReasoning(encoding);
    this.#isAlwaysReplayed = reasoning_replay === 'always';
    this.#replays = this.#isAlwaysReplayed || (reasoning_replay === 'tool_loop' && isLast);
  }

  text(text: string): void {
    (this.#calls.length > 0 ? this.#later : this.#texts).push(text);
  }

  call(call: FunctionCall): void {
    this.#calls.push(call);
  }

  reasoning(item: JsonObject): void {
    this.#reasoning.add(item, this.#replays);
  }

  end(ids: CallIds): EndedRun {
    const behind = this.#later.length > 0 ? [this.#message(this.#later.join('\n\n'), {})] : [];
    const members = this.#replays ? this.#reasoning.members() : {};
    if (this.#calls.length === 0) {
      const before = this.#texts.map((text, i) => this.#message(text, i === 0 ? members : {}));
      return { before, round: undefined, behind };
    }
    const calls = this.#calls.map((call) => ({
      clientId: call.id,
      id: ids.next(call.id),
      name: call.name,
      arguments: call.arguments,
      further: this.#reasoning.ofCall(call.id),
    }));
    const content = this.#texts.length > 0 ? this.#texts.join('\n\n') : null;
    return { before: [], round: new CallRound({ role: 'assistant', content, ...members }, calls), behind };
  }

  /** A message. If reasoning is always sent back, every message has its member. */
  #message(content: string, members: JsonObject): JsonObject {
    const none = this.#isAlwaysReplayed ? this.#reasoning.none() : {};
    return { role: 'assistant', content, ...none, ...members };
  }
}
