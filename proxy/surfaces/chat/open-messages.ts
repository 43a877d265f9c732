// The open messages of a Chat stream. Several may be open at once, and their deltas may alternate (D4).
import { isAbsent, type Json, type JsonObject } from '../../turn/json/json.ts';
import { type Losses, SentText } from '../../turn/reply/sent-text.ts';
import type { StreamedTurn } from '../../turn/surface.ts';
import type { MessageText } from './chat-completion.ts';

export interface OpenMessage {
  readonly sent: Readonly<Record<MessageText['type'], SentText>>;
  /** Whether a part of its text was written. */
  written: boolean;
}

/** The memory that is counted for a message, besides its ids. */
const MESSAGE_BYTES = 200;

export class OpenMessages {
  readonly #turn: Pick<StreamedTurn, 'holdReply'>;
  readonly #losses: Losses;
  /** By the place of the item in the output, and by the item's id, with which some providers refer to it. */
  readonly #messages = new Map<Json | undefined, OpenMessage>();

  constructor(turn: Pick<StreamedTurn, 'holdReply'>, losses: Losses) {
    this.#turn = turn;
    this.#losses = losses;
  }

  /** @param id the item's id, if its event states it @returns the message at this place, which is opened here if it is new */
  open(at: Json | undefined, id?: Json): OpenMessage {
    const known = this.#messages.get(at);
    if (known) return known;
    const message = { sent: { content: new SentText(this.#losses), refusal: new SentText(this.#losses) }, written: false };
    // Counted, because a provider may begin any number of messages with ids of any length.
    this.#turn.holdReply(MESSAGE_BYTES + lengthOf(at) + lengthOf(id));
    this.#messages.set(at, message);
    if (!isAbsent(id)) this.#messages.set(id, message);
    return message;
  }

  /** The open message of an item; undefined if no event of it came before. Deltas without a place belong to the next item that ends. */
  of({ id }: JsonObject, at: Json | undefined): OpenMessage | undefined {
    const known = [at, id, undefined].flatMap((place) => this.#messages.get(place) ?? []);
    return known.find(({ written }) => written) ?? known[0];
  }

  close({ id }: JsonObject, at: Json | undefined): void {
    for (const place of [at, id, undefined]) this.#messages.delete(place);
  }
}

/** The characters of a place that is an id. */
export const lengthOf = (id: Json | undefined): number => (typeof id === 'string' ? id.length : 0);
