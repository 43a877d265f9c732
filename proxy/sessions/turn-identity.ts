// The identity of a native websocket turn, by which a client that lost its connection finds the turn again (F8.4, Q29).
import type { ProcessDigest } from '../encryption/digest.ts';
import { canonicalJson, isList, isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import type { Body } from '../turn/turn.ts';

/** The longest id that is kept as it is. Native clients send UUIDs, and no client may decide how much memory an id takes. */
const LONGEST_ID = 64;

/** Digests of members that may contain a prompt. */
interface Digests {
  /** The digest of model, tools, tool choice, reasoning and text. */
  readonly settings: string;
  /** The digests of the items of `input`. */
  readonly items: readonly string[];
}

/** The turn id and the digests of a frame. The digests are made when they are first needed, because few clients come back. */
export class TurnIdentity {
  /** The client's own id, which all frames of a tool loop share. A long id is replaced by its digest. */
  readonly turnId: string;
  readonly #digest: ProcessDigest;
  /** The frame until its digests are made. */
  #frame: Body | undefined;
  #digests: Digests = NO_DIGESTS;

  constructor(turnId: string, frame: Body, digest: ProcessDigest) {
    this.turnId = boundedId(turnId, digest);
    this.#frame = frame;
    this.#digest = digest;
  }

  get digests(): Digests {
    this.releaseFrame();
    return this.#digests;
  }

  /** Makes the digests, because the frame must not stay in memory for longer. */
  releaseFrame(): void {
    if (!this.#frame) return;
    this.#digests = digestsOf(this.#frame, this.#digest);
    this.#frame = undefined;
  }
}

const NO_DIGESTS: Digests = { settings: '', items: [] };

/** The identity of a turn. Undefined for a frame without a turn id and for a prewarm: such turns end with their connection. */
export function identityOf(frame: Body, digest: ProcessDigest): TurnIdentity | undefined {
  const { client_metadata, generate } = frame;
  const turnId = isObject(client_metadata) ? client_metadata.turn_id : undefined;
  return typeof turnId !== 'string' || turnId === '' || generate === false ? undefined : new TurnIdentity(turnId, frame, digest);
}

const digestsOf = ({ model, tools, tool_choice, reasoning, text, input }: Body, digest: ProcessDigest): Digests => ({
  settings: digest.of(JSON.stringify([model, tools, tool_choice, reasoning, text])),
  items: isList(input) ? input.map((item) => digest.of(JSON.stringify(withoutNotes(item)))) : [],
});

export const boundedId = (turnId: string, digest: ProcessDigest): string => (turnId.length > LONGEST_ID ? digest.of(turnId) : turnId);

/** A turn that was interrupted. */
export interface InterruptedTurn {
  readonly identity: TurnIdentity;
  /** The turn's finished items that were written to its client's connection. They are parsed when they are read. */
  readonly sentItems: readonly JsonObject[];
}

/**
 * The number of finished items of the interrupted turn at the end of the retry's input. Undefined if the frame is not an exact retry: its
 * input has to end with the items of the interrupted turn, followed by the first ones that were sent. Not all of them are required, because
 * frames that were written to a broken connection may not have reached the client.
 */
export function itemsIn(retry: TurnIdentity, { input }: Body, turn: InterruptedTurn): number | undefined {
  const interrupted = turn.identity;
  if (retry.turnId !== interrupted.turnId || retry.digests.settings !== interrupted.digests.settings) return undefined;
  const sent = turn.sentItems;
  const items = isList(input) ? input : [];
  for (let count = Math.min(sent.length, items.length); count >= 0; count--) {
    const from = items.length - count;
    if (echoes(items.slice(from), sent) && endsWith(retry.digests.items.slice(0, from), interrupted.digests.items)) return count;
  }
  return undefined;
}

const echoes = (items: readonly Json[], sent: readonly JsonObject[]): boolean =>
  items.every((item, i) => canonicalJson(essence(item)) === canonicalJson(essence(sent[i] ?? null)));

/** Whether a list ends with the items of the other. Only an empty list ends with an empty one, because any list would. */
const endsWith = (list: readonly string[], end: readonly string[]): boolean =>
  end.length === 0 ? list.length === 0 : end.length <= list.length && end.every((one, i) => one === list[list.length - end.length + i]);

/** Whether clients add this member to their own items between two requests. */
const isNote = (name: string): boolean => name === 'status' || name.startsWith('internal_');

function withoutNotes(item: Json): Json {
  if (!isObject(item) || !Object.keys(item).some(isNote)) return item;
  return Object.fromEntries(Object.entries(item).filter(([name]) => !isNote(name)));
}

/** Members that clients omit when they send an item back. */
const LEFT_OUT: ReadonlySet<string> = new Set(['annotations', 'logprobs']);

const isEmpty = (value: Json | undefined): boolean => value === null || value === undefined || (isList(value) && value.length === 0);

/** The content of an item, in a form that is equal for what the account sent and what a client sends back. */
function essence(value: Json): Json {
  if (isList(value)) return value.map(essence);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([name, member]) => !isEmpty(member) && !isNote(name) && !LEFT_OUT.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, essence(member as Json)]));
}
