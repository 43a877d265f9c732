// A call in a reply. It is opened when its name is known, as a call of the tool that the client declared (AA50, AA53).
import { isObjectText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { newId } from '../../api-accounts/reply/new-id.ts';
import { calledItem } from '../../api-accounts/tools/called-item.ts';
import type { LoweredTool, LoweredType } from '../../api-accounts/tools/tool-table.ts';
import { CustomInput } from './custom-input.ts';
import type { ItemStatus, ReplyOutput } from './reply-output.ts';

const PREFIXES: Readonly<Record<LoweredType, string>> = { function: 'fc_', custom: 'ctc_', local_shell: 'lsh_', tool_search: 'tsc_' };

/** The longest id that is kept. A longer one is replaced, because clients send ids back. */
const LONGEST_ID = 64;

export class CallItem {
  /** The id that the account stated; undefined if it stated none. */
  accountId: string | undefined;
  /** The name that the account stated; undefined until it has stated one. */
  accountName: string | undefined;
  /** Members that the account needs back, and that events do not show. */
  readonly further: Record<string, JsonObject[string]> = {};
  readonly #output: ReplyOutput;
  readonly #toolOf: (name: string) => LoweredTool | undefined;
  #tool: LoweredTool | undefined;
  #id = '';
  #index = 0;
  #place = '';
  #callId = '';
  /** The arguments so far. They are not sent before the name. */
  #arguments = '';
  /** The bytes of the arguments and further members that count as held. */
  #held = 0;
  #input: CustomInput | undefined;

  constructor(output: ReplyOutput, toolOf: (name: string) => LoweredTool | undefined) {
    this.#output = output;
    this.#toolOf = toolOf;
  }

  get isOpen(): boolean {
    return this.#tool !== undefined;
  }

  get callId(): string {
    return this.#callId;
  }

  get hasArguments(): boolean {
    return this.#arguments !== '';
  }

  /** Whether the arguments are complete JSON. If they are not, the reply may have been cut. */
  get isWhole(): boolean {
    return this.#tool !== undefined && isObjectText(this.#arguments === '' ? '{}' : this.#arguments);
  }

  /** Opens the item. A later name is ignored as a repetition. */
  name(name: string): void {
    if (this.#tool) return;
    this.accountName = name;
    this.#tool = this.#toolOf(name) ?? { type: 'function', name, namespace: undefined };
    const { accountId } = this;
    this.#callId = accountId !== undefined && accountId.length <= LONGEST_ID ? accountId : newId('call_');
    this.#id = newId(PREFIXES[this.#tool.type]);
    if (this.#tool.type === 'custom') this.#input = new CustomInput();
    this.#index = this.#output.added(this.#item('in_progress', ''));
    this.#place = `"item_id":"${this.#id}","output_index":${this.#index}`;
    if (this.#arguments !== '') this.#show(this.#arguments);
  }

  arguments(piece: string): void {
    if (piece === '') return;
    this.#held += this.#output.hold(piece);
    this.#arguments += piece;
    if (this.#tool) this.#show(piece);
  }

  /** Keeps a further member. @throws TooMuchHeld */
  keep(name: string, value: Json): void {
    this.#held += this.#output.keep(JSON.stringify(value).length);
    this.further[name] = value;
  }

  end(status: ItemStatus): void {
    if (!this.#tool) return;
    if (this.#arguments === '' && this.#tool.type !== 'custom') this.arguments('{}');
    if (this.#tool.type === 'function') {
      this.#output.write('response.function_call_arguments.done', `${this.#place},"arguments":${JSON.stringify(this.#arguments)}`);
    } else if (this.#input) {
      this.#delta('response.custom_tool_call_input', this.#input.end());
      this.#output.write('response.custom_tool_call_input.done', `${this.#place},"input":${JSON.stringify(this.#input.value)}`);
    }
    this.#output.done(this.#index, this.#item(status, this.#input?.value ?? this.#arguments), this.#held);
  }

  #show(piece: string): void {
    if (this.#input) this.#delta('response.custom_tool_call_input', this.#input.push(piece));
    else if (this.#tool?.type === 'function') this.#delta('response.function_call_arguments', piece);
  }

  #delta(event: string, delta: string): void {
    if (delta !== '') this.#output.write(`${event}.delta`, `${this.#place},"delta":${JSON.stringify(delta)}`);
  }

  #item(status: ItemStatus | 'in_progress', given: string): JsonObject {
    return calledItem(this.#tool as LoweredTool, { id: this.#id, status, call_id: this.#callId }, given);
  }
}
