// The calls of a reply that are open at the same time. They are identified as the server does it: by index, by id, or not at all (AA53).
import { asList, isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { LoweredTool } from '../../api-accounts/tools/tool-table.ts';
import { CallItem } from './call-item.ts';
import type { ReplyOutput } from './reply-output.ts';

export class OpenCalls {
  readonly #output: ReplyOutput;
  readonly #toolOf: (name: string) => LoweredTool | undefined;
  readonly #calls: CallItem[] = [];
  readonly #byIndex = new Map<number, CallItem>();
  readonly #byId = new Map<string, CallItem>();

  constructor(output: ReplyOutput, toolOf: (name: string) => LoweredTool | undefined) {
    this.#output = output;
    this.#toolOf = toolOf;
  }

  /** The calls that have a name. Calls without a name cannot be shown. */
  get opened(): readonly CallItem[] {
    return this.#calls.filter(({ isOpen }) => isOpen);
  }

  /**
   * @param isWhole whether the list is that of a whole completion, in which each element is a separate call.
   * @param before called before a call is opened
   */
  add({ tool_calls: pieces, function_call: legacy }: JsonObject, isWhole: boolean, before: () => void): void {
    for (const [i, piece] of asList(pieces).entries()) {
      if (!isObject(piece)) continue;
      const { index, id, function: called } = piece;
      const at = isWhole ? i : typeof index === 'number' ? index : undefined;
      const call = this.#callOf(at, isText(id) ? id : undefined, called);
      if (isObject(called)) this.#feed(call, called, before);
      for (const [name, value] of Object.entries(piece))
        if (!OWN.has(name) && value !== null && value !== undefined) call.keep(name, value);
    }
    if (isObject(legacy)) this.#feed(this.#callOf(LEGACY, undefined), legacy, before);
  }

  #feed(call: CallItem, { name, arguments: given }: JsonObject, before: () => void): void {
    if (!call.isOpen && isText(name)) {
      before();
      call.name(name);
    }
    call.arguments(argumentsOf(given));
  }

  #callOf(index: number | undefined, id: string | undefined, called?: Json): CallItem {
    const known = index === undefined ? (id === undefined ? this.#calls.at(-1) : this.#byId.get(id)) : this.#byIndex.get(index);
    const call = known && !beginsAnother(known, id, called) ? known : this.#newCall();
    if (id !== undefined && call.accountId === undefined) {
      call.accountId = id;
      this.#byId.set(id, call);
    }
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #newCall(): CallItem {
    const call = new CallItem(this.#output, this.#toolOf);
    this.#calls.push(call);
    return call;
  }
}

/**
 * Whether a piece begins a new call, although the call at its index is known. A new id does. Servers that state no ids write each call
 * whole and with its name: there another name does, and so do arguments after arguments that are complete.
 */
function beginsAnother(known: CallItem, id: string | undefined, called: Json | undefined): boolean {
  if (id !== undefined) return known.accountId !== undefined && known.accountId !== id;
  if (!isObject(called) || !isText(called.name) || known.accountName === undefined) return false;
  return called.name !== known.accountName || (argumentsOf(called.arguments) !== '' && known.hasArguments && known.isWhole);
}

/** The index of a call in the older form, which has none. There is only one such call. */
const LEGACY = -1;

const OWN: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function']);

/** The arguments, which come in pieces, whole, or as an object. */
function argumentsOf(given: Json | undefined): string {
  if (typeof given === 'string') return given;
  return isObject(given) ? JSON.stringify(given) : '';
}
