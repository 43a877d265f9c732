// THE TABLE of adapted names: what the encoding for an account may change or remove in a Responses request, by member or item type (AA16).

/** The names, each with what is done to it, as the documentation shows it. */
export const ADAPTED = {
  client_metadata: 'left out',
  generate: 'left out',
  include: 'left out',
  input: 'a message of the gateway is added if the account needs one between or after other messages',
  'input.call_id': 'ids of calls that the account does not take are replaced, in calls and in outputs',
  'input.compaction': 'a summary is sent as a user message',
  'input.configuration_update': 'its effort counts; the item is left out',
  'input.custom_tool_call': 'sent as a function call',
  'input.function_call': 'a call of a tool in a namespace is sent under the name of its function',
  'input.function_call.arguments': 'text that is not a JSON object is wrapped in one',
  'input.function_call_output':
    'outputs are moved after their calls; a missing output is added, an output without a call becomes a user message',
  'input.id': 'left out: nothing is stored under it',
  'input.image_generation_call': 'left out; its image becomes a user image if the model takes images',
  'input.input_audio': 'earlier audio that the model does not take is replaced by a placeholder',
  'input.input_file': 'earlier files that the model does not take are replaced by a placeholder',
  'input.input_image':
    'earlier images that the model does not take are replaced by a placeholder; images of tool outputs move to a user message',
  'input.local_shell_call': 'sent as a function call',
  'input.message': 'later system messages move into the first one; messages without content are left out',
  'input.message.content': 'text parts are joined to one text',
  'input.message.role': 'developer messages are sent as system messages, later system messages as user messages',
  'input.reasoning': 'reasoning that the account did not make, or does not take back, is left out',
  'input.status': 'left out',
  'input.tool_search_call': 'sent as a function call; a call of a hosted tool is left out',
  'input.tool_search_output': 'the tools in it are declared; the output of a hosted tool is left out',
  'input.web_search_call': 'left out',
  keywords: 'left out',
  languages: 'left out',
  max_output_tokens: 'lowered to what the model has, or left out',
  metadata: 'left out',
  parallel_tool_calls: 'left out',
  prompt_cache_key: 'left out',
  prompt_cache_retention: 'left out',
  reasoning: 'left out',
  'reasoning.context': 'left out',
  'reasoning.effort': 'lowered to a level that the model has, or left out',
  'reasoning.summary': 'left out',
  safety_identifier: 'left out',
  service_tier: 'left out',
  store: 'nothing is stored at the account',
  temperature: 'left out',
  'text.format': 'a schema is sent without `strict`, or as a sentence of the system message',
  'text.verbosity': 'left out',
  tool_choice:
    'left out without tools; if one tool is chosen, only that tool is sent; if tools are allowed, only those are sent; a namespace is chosen as its tools',
  'tools.custom': 'sent as a function',
  'tools.description': 'an empty one becomes the name of the tool',
  'tools.image_generation': 'left out',
  'tools.local_shell': 'sent as a function',
  'tools.namespace': 'its tools are sent as functions',
  'tools.strict': 'left out',
  'tools.tool_search': 'sent as a function; the hosted tool is left out',
  'tools.web_search': 'left out',
  top_p: 'left out',
  truncation: 'left out',
  user: 'left out',
} as const satisfies Record<string, string>;

export type AdaptedName = keyof typeof ADAPTED;

/** Collects the names of one attempt. */
export class Adaptations {
  #names: Set<AdaptedName> | undefined;

  note(name: AdaptedName): void {
    this.#names ??= new Set();
    this.#names.add(name);
  }

  /** Sorted; undefined if nothing was adapted. */
  list(): readonly AdaptedName[] | undefined {
    return this.#names && [...this.#names].sort();
  }
}
