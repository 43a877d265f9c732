// Maps places in a Responses turn to places in the Messages request that it was made from (AM11, AM14).
import { asList, asString, isObject } from '../../../turn/json/json.ts';
import type { Item } from './history.ts';
import type { SentTool } from './message-tools.ts';

export interface PlacesOptions {
  readonly items: readonly Item[];
  readonly tools: readonly SentTool[];
  readonly effort: string | undefined;
  readonly format: string | undefined;
}

const TOOL = /^tools(?:\[(\d+)\]|\.(\d+))(?:\.([a-z_]+)(.*))?$/;
const INPUT = /^input(?:\[(\d+)\]|\.(\d+))(?:\.(?:content|output)(?:\[(\d+)\]|\.(\d+)))?/;

/** Members that have the same name in both requests. */
const SHARED: ReadonlySet<string> = new Set(['model', 'temperature', 'top_p', 'stream', 'tools', 'tool_choice', 'tool_choice.name']);

export class Places {
  readonly #options: PlacesOptions;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /** The place in the client's request; null if it has no such place. */
  of(param: string): string | null {
    if (SHARED.has(param)) return param;
    const [, bracketed, dotted, member, rest = ''] = TOOL.exec(param) ?? [];
    const tool = this.#options.tools[Number(bracketed ?? dotted)];
    if (tool) return this.#inTool(tool.place, member, rest);
    return this.#inInput(param) ?? this.#member(param);
  }

  /**
   * The type of the part or item that was made from the block at this place in the client's request. Of a document that became several
   * parts, it is the type of the first one that is no text.
   */
  typeAt(place: string): string | undefined {
    for (const { item, place: own, parts } of this.#options.items) {
      const all = asList(item.content ?? item.output).filter(isObject);
      const made = parts.includes(place) ? all.filter((_, i) => parts[i] === place) : own === place ? [item] : [];
      const [first] = made;
      if (first) return asString((made.find(({ type }) => type !== 'input_text') ?? first).type);
    }
    return undefined;
  }

  #inTool(place: string, member: string | undefined, rest: string): string {
    if (member === 'parameters') return `${place}.input_schema${rest}`;
    return member === undefined ? place : `${place}.${member}`;
  }

  #inInput(param: string): string | undefined {
    if (param === 'input') return 'messages';
    const [found, bracketed, dotted, partBracketed, partDotted] = INPUT.exec(param) ?? [];
    if (found === undefined) return undefined;
    const item = this.#options.items[Number(bracketed ?? dotted)];
    return item?.parts[Number(partBracketed ?? partDotted)] ?? item?.place ?? 'messages';
  }

  #member(param: string): string | null {
    const { effort, format } = this.#options;
    if (param === 'instructions') return 'system';
    if (param === 'max_output_tokens') return 'max_tokens';
    if (param === 'reasoning.effort' || param === 'reasoning') return effort ?? 'output_config.effort';
    if (param.startsWith('text.format') && format !== undefined) return `${format}${param.slice('text.format'.length)}`;
    return null;
  }
}
