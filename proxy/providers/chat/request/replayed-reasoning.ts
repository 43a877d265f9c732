// The reasoning that is sent back with the assistant's messages: the content of capsules of this model, if the account wants it (AA44).
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import { capsuleIn } from '../../../turn/provider/capsule.ts';
import { parsedCapsule, type ReasoningCapsule } from '../reasoning-capsule.ts';
import type { ChatEncoding } from './encoding.ts';

/** Has the capsules of one run, in order. */
export class ReplayedReasoning {
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
