// The tools that a turn declares, by what an API account can do with them: call them, run them itself, or neither (AA18, AA19).
import { asList, asString, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { HostedTool } from '../../../turn/provider/served.ts';
import type { Body } from '../../../turn/turn.ts';

/** A tool that a provider runs, with the place of its type. */
export interface DeclaredHosted {
  readonly tool: HostedTool | 'tool_search';
  readonly place: string;
}

export interface DeclaredTools {
  /** Whether the client runs one of the tools. Such tools are sent to an API account as functions, or unchanged. */
  readonly hasCallable: boolean;
  /** The tools that providers run, in the order of their declaration. */
  readonly hosted: readonly DeclaredHosted[];
  /** The first tool whose type no API account has. */
  readonly unknownTool: string | undefined;
}

const CALLABLE: ReadonlySet<string | undefined> = new Set(['function', 'custom', 'namespace', 'local_shell']);

/** The names of the web search, including dated and preview names. */
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2}|_\d{8})?$/;

/** The tool that a provider runs; undefined for a tool of the client. */
export function hostedTool({ type, execution }: JsonObject): DeclaredHosted['tool'] | undefined {
  if (typeof type !== 'string') return undefined;
  if (WEB_SEARCH.test(type)) return 'web_search';
  if (type === 'image_generation') return type;
  return type === 'tool_search' && execution !== 'client' ? type : undefined;
}

const isCallable = (tool: JsonObject): boolean => CALLABLE.has(asString(tool.type)) || tool.type === 'tool_search';

/** The lists of tools with their places: at the top level, and in items that add tools (AA26). */
function toolLists({ tools, input }: Body): readonly { readonly place: string; readonly tools: readonly Json[] }[] {
  const added = asList(input).flatMap((item, i) =>
    isObject(item) && item.type === 'additional_tools' ? [{ place: `input.${i}.tools`, tools: asList(item.tools) }] : [],
  );
  return [{ place: 'tools', tools: asList(tools) }, ...added];
}

export function toolDeclarations(body: Body): DeclaredTools {
  let hasCallable = false;
  let unknownTool: string | undefined;
  const hosted: DeclaredHosted[] = [];
  for (const { place: list, tools } of toolLists(body)) {
    for (const [i, tool] of tools.entries()) {
      const own = isObject(tool) ? hostedTool(tool) : undefined;
      const place = `${list}.${i}.type`;
      if (own) hosted.push({ tool: own, place });
      else if (isObject(tool) && isCallable(tool)) hasCallable = true;
      else unknownTool ??= place;
    }
  }
  return { hasCallable, hosted, unknownTool };
}
