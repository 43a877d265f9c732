// Turns calls of functions back into calls of the tools that the client declared (AA27). Other events pass unparsed.
import { asList, isObject, type Json, type JsonObject, mapList } from '../../../turn/json/json.ts';
import type { Emit, EventHandler } from '../../../turn/provider/provider-replies.ts';
import { DeltaText } from '../../../turn/reply/delta-text.ts';
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import { calledItem, customInput } from '../../api-accounts/tools/called-item.ts';
import type { LoweredTool } from '../../api-accounts/tools/tool-table.ts';

const ADDED = 'response.output_item.added';
const DONE = 'response.output_item.done';
const ARGUMENTS = 'response.function_call_arguments.';

/** The tool that the account got as this function; undefined if the client declared the function itself, or if no tool has this name. */
export type LoweredToolOf = (name: string) => LoweredTool | undefined;

export class RaisedCalls implements EventHandler {
  readonly checksParsing = true;
  readonly #memory: HeldBytes;
  readonly #toolOf: LoweredToolOf;
  readonly #deltas = new DeltaText();
  /** The tools of raised calls, by the place of the item. */
  readonly #raised = new Map<Json, LoweredTool>();
  /** How many events were added or left out so far. */
  #shift = 0;

  constructor(memory: HeldBytes, toolOf: LoweredToolOf) {
    this.#memory = memory;
    this.#toolOf = toolOf;
  }

  event(event: ReplyEvent, emit: Emit): void {
    const { type } = event;
    if (type === ADDED || type === DONE) this.#item(event, emit);
    else if (type.startsWith(ARGUMENTS) && this.#raised.size > 0) this.#arguments(event, emit);
    else if (endOf(type) !== undefined) this.#ended(event, emit);
    else this.#pass(event, emit);
  }

  #item(event: ReplyEvent, emit: Emit): void {
    const data = this.#memory.json(event);
    const tool = isObject(data?.item) ? this.#toolIn(data.item) : undefined;
    if (!data || !isObject(data.item) || !tool) {
      this.#pass(event, emit);
      return;
    }
    const { item, output_index: index = 0 } = data;
    const raised = this.#raise(item, tool);
    if (event.type === ADDED) this.#raised.set(index, tool);
    else if (tool.type === 'custom') {
      const place = { item_id: item.id ?? null, output_index: index };
      const input = String(raised.input);
      if (input !== '') this.#send({ type: 'response.custom_tool_call_input.delta', ...place, delta: input }, data, 1, emit);
      this.#send({ type: 'response.custom_tool_call_input.done', ...place, input }, data, 1, emit);
    }
    this.#send({ ...data, item: raised }, data, 0, emit);
  }

  /** Handles the events of arguments. Functions in a namespace keep them. Items of other tools get the arguments whole. */
  #arguments(event: ReplyEvent, emit: Emit): void {
    const tool = this.#raised.get(this.#deltas.placeOf(event) ?? 0);
    if (tool === undefined || tool.type === 'function') this.#pass(event, emit);
    else this.#shift -= 1;
  }

  #ended(event: ReplyEvent, emit: Emit): void {
    const data = this.#memory.json(event);
    const response = isObject(data?.response) ? data.response : undefined;
    const output = mapList(asList(response?.output), (item) => {
      const tool = isObject(item) ? this.#toolIn(item) : undefined;
      return isObject(item) && tool ? this.#raise(item, tool) : item;
    });
    if (!data || !response || output === response.output) this.#pass(event, emit);
    else this.#send({ ...data, response: { ...response, output } }, data, 0, emit);
  }

  #toolIn({ type, name }: JsonObject): LoweredTool | undefined {
    return type === 'function_call' && typeof name === 'string' ? this.#toolOf(name) : undefined;
  }

  #raise({ id, status, call_id, arguments: text }: JsonObject, tool: LoweredTool): JsonObject {
    const given = typeof text === 'string' ? text : '';
    return calledItem(tool, { id, status, call_id }, tool.type === 'custom' ? customInput(given) : given);
  }

  #pass(event: ReplyEvent, emit: Emit): void {
    const data = this.#shift === 0 || !event.hasData ? undefined : this.#memory.json(event);
    if (data) this.#send(data, data, 0, emit);
    else emit(event);
  }

  /** @param added how many more events this is than the account sent */
  #send(data: JsonObject, { sequence_number: number }: JsonObject, added: number, emit: Emit): void {
    emit(ReplyEvent.of(typeof number === 'number' ? { ...data, sequence_number: number + this.#shift } : data));
    this.#shift += added;
  }
}
