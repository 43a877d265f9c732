// THE TABLE of adapted names: what the encoding for an account may change or remove in a Responses request, by member or item type (AA16).

/** The names, each with what is done to it, as the documentation shows it. */
export const ADAPTED = {
  client_metadata: 'left out',
  generate: 'left out',
  include: 'left out',
  input: 'a message of the gateway is added, where the account needs one between or after others',
  'input.call_id': 'ids of calls that the account does not take are replaced, in calls and outputs alike',
  'input.compaction': 'a summary goes out as a user message',
  'input.configuration_update': 'its effort counts; the item is left out',
  'input.custom_tool_call': 'goes out as a call of a function',
  'input.function_call': 'a call of a tool in a namespace goes out under the name of its function',
  'input.function_call.arguments': 'text that is no JSON object is put into one',
  'input.function_call_output': 'outputs are put behind their calls; a missing one is added, one without a call becomes a user message',
  'input.id': 'left out: nothing is stored under it',
  'input.image_generation_call': 'left out; its image becomes a user image where the model takes images',
  'input.input_audio': 'earlier audio that the model does not take is replaced by a word',
  'input.input_file': 'earlier files that the model does not take are replaced by a word',
  'input.input_image': 'earlier images that the model does not take are replaced by a word; images of tool outputs move to a user message',
  'input.local_shell_call': 'goes out as a call of a function',
  'input.message': 'later system messages move into the first one; messages without content are left out',
  'input.message.content': 'text parts are joined to one text',
  'input.message.role': 'developer messages go out as system messages, later system messages as user messages',
  'input.reasoning': 'reasoning that the account did not make, or does not take back, is left out',
  'input.status': 'left out',
  'input.tool_search_call': 'goes out as a call of a function; that of a hosted tool is left out',
  'input.tool_search_output': 'the tools in it are declared; that of a hosted tool is left out',
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
  'text.format': 'a schema goes out without `strict`, or as a sentence of the system message',
  'text.verbosity': 'left out',
  tool_choice: 'left out without tools; one chosen tool goes out alone; allowed tools are the only ones',
  'tools.custom': 'goes out as a function',
  'tools.description': 'an empty one becomes the name of the tool',
  'tools.image_generation': 'left out',
  'tools.local_shell': 'goes out as a function',
  'tools.namespace': 'its tools go out as functions',
  'tools.strict': 'left out',
  'tools.tool_search': 'goes out as a function; the hosted tool is left out',
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
