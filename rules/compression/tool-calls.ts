// The calls and outputs of one request, and which call an output answers (F7.4).
import { isObject, isText, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';

/** Members that hold the identifiers of a call, by the type of the call. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  function_call: ['call_id'],
  custom_tool_call: ['call_id'],
  local_shell_call: ['call_id', 'id'],
  shell_call: ['call_id', 'id'],
};

interface OutputShape {
  readonly identifiers: readonly string[];
  /** The types of call that the output can answer. Native clients answer a local shell call with a function's output. */
  readonly answers: readonly string[];
}

const OUTPUTS: Readonly<Record<string, OutputShape>> = {
  function_call_output: { identifiers: ['call_id'], answers: ['function_call', 'local_shell_call', 'shell_call'] },
  custom_tool_call_output: { identifiers: ['call_id'], answers: ['custom_tool_call'] },
  local_shell_call_output: { identifiers: ['call_id', 'id'], answers: ['local_shell_call'] },
  shell_call_output: { identifiers: ['call_id'], answers: ['shell_call'] },
};

export interface ToolOutput {
  /** The output's index in the input. */
  readonly index: number;
  readonly item: JsonObject;
  /** The call that the output answers; undefined if no call can be assigned to it unambiguously. */
  readonly call: JsonObject | undefined;
}

/** The outputs in the order of the input. An identifier of two calls or two outputs is ambiguous, whatever their types. */
export function toolOutputs(input: readonly Json[]): readonly ToolOutput[] {
  const outputs = input.flatMap((item, index) => (isObject(item) && shapeOf(item) ? [{ index, item }] : []));
  if (outputs.length === 0) return [];
  const calls = new Identifiers();
  const answered = new Identifiers();
  for (const item of input) {
    if (!isObject(item) || typeof item.type !== 'string') continue;
    // Calls of other types are never answered here, but may have the same identifier.
    if (item.type.endsWith('_call')) calls.publish(item, own(CALLS, item.type) ?? ['call_id']);
    else if (item.type.endsWith('_output')) answered.publish(item, ['call_id']);
  }
  return outputs.map(({ index, item }) => ({ index, item, call: callOf(item, calls, answered) }));
}

function callOf(item: JsonObject, calls: Identifiers, answered: Identifiers): JsonObject | undefined {
  const { identifiers, answers } = shapeOf(item) as OutputShape;
  if (answered.isAmbiguous(item.call_id)) return undefined;
  const named = identifiers.map((member) => item[member]);
  if (named.some((identifier) => calls.isAmbiguous(identifier))) return undefined;
  const [call, ...others] = new Set(named.map((identifier) => calls.holder(identifier)).filter((holder) => holder !== undefined));
  return call && others.length === 0 && answers.includes(call.type as string) ? call : undefined;
}

const shapeOf = ({ type }: JsonObject): OutputShape | undefined => (typeof type === 'string' ? own(OUTPUTS, type) : undefined);

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

/** Which item published an identifier; null if several items did. */
class Identifiers {
  readonly #holders = new Map<string, JsonObject | null>();

  publish(item: JsonObject, members: readonly string[]): void {
    for (const member of members) {
      const identifier = item[member];
      if (!isText(identifier)) continue;
      const holder = this.#holders.get(identifier);
      this.#holders.set(identifier, holder === undefined || holder === item ? item : null);
    }
  }

  holder(identifier: Json | undefined): JsonObject | undefined {
    return isText(identifier) ? (this.#holders.get(identifier) ?? undefined) : undefined;
  }

  isAmbiguous(identifier: Json | undefined): boolean {
    return isText(identifier) && this.#holders.get(identifier) === null;
  }
}
