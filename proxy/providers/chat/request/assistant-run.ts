// A run is the reasoning, the assistant messages and the calls between two other items of the input (AA42).
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import { capsuleIn } from '../../../turn/provider/capsule.ts';
import type { FunctionCall } from '../../api-accounts/tools/lowered-calls.ts';
import { parsedCapsule, type ReasoningCapsule } from '../reasoning-capsule.ts';
import type { CallIds } from './call-ids.ts';
import { CallRound } from './call-round.ts';
import type { ChatEncoding } from './encoding.ts';

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

/** The reasoning that is sent back: the content of the run's capsules of this model, in order, if the account wants it (AA44). */
class ReplayedReasoning {
  readonly #encoding: ChatEncoding;
  readonly #capsules: ReasoningCapsule[] = [];

  constructor(encoding: ChatEncoding) {
    this.#encoding = encoding;
  }

  /** @param isWanted whether the account wants the reasoning of this part of the conversation */
  add(item: JsonObject, isWanted: boolean): void {
    const capsule = isWanted ? this.#opened(item) : undefined;
    if (capsule) this.#capsules.push(capsule);
    else this.#encoding.adapted.note('input.reasoning');
  }

  /** The members for the assistant's message. */
  members(): JsonObject {
    const { reasoning_field, reasoning_replay, reasoning_details } = this.#encoding.quirks;
    const text = this.#capsules.map((capsule) => capsule.text).join('');
    const details: readonly Json[] = reasoning_details ? this.#capsules.flatMap((capsule) => capsule.details) : [];
    return {
      ...(text !== '' || reasoning_replay === 'always' ? { [reasoning_field]: text } : {}),
      ...(details.length > 0 ? { reasoning_details: details } : {}),
    };
  }

  /** The member for a message without reasoning, if every message must have the member. */
  none(): JsonObject {
    return { [this.#encoding.quirks.reasoning_field]: '' };
  }

  /** The further members of a call. @param id the client's id */
  ofCall(id: string | undefined): JsonObject | undefined {
    if (id === undefined) return undefined;
    return this.#capsules.find(({ calls }) => Object.hasOwn(calls, id))?.calls[id];
  }

  #opened(item: JsonObject): ReasoningCapsule | undefined {
    const sealed = capsuleIn(item);
    const text = sealed === undefined ? undefined : this.#encoding.turn.openCapsule('reasoning', sealed);
    const capsule = text === undefined ? undefined : parsedCapsule(text);
    return capsule?.model === this.#encoding.ownId ? capsule : undefined;
  }
}
