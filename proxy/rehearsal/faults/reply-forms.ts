// The undocumented forms in which servers send Chat replies, by the words of the fault script, each with a sentence (AA89).

export const REPLY_FORMS = {
  'json answer': 'The answer is JSON instead of a stream.',
  'no done': 'The stream ends without `[DONE]`.',
  'no finish': 'No chunk has a finish reason.',
  'stop with calls': 'The finish reason is `stop` although tools are called.',
  'one index': 'All calls have the index 0.',
  'no index': 'No call has an index.',
  'no call ids': 'No call has an id.',
  'long call ids': 'The ids of calls have 80 characters.',
  'null arguments': 'The arguments of calls are null.',
  'no arguments': 'The calls have no arguments.',
  'object arguments': 'The arguments of a call are an object instead of JSON text.',
  'whole arguments': 'The arguments of a call come in one piece, together with its name.',
  'repeated names': 'Each piece of a call repeats its name.',
  'empty names': 'Each piece of a call but the first has an empty name.',
  'interleaved calls': 'The pieces of several calls alternate.',
  'legacy call': 'A call comes as `function_call`.',
  'opaque calls': 'Each call has a member that servers require back.',
  'no usage': 'The usage is not stated.',
  'usage beside finish': 'The usage is in the chunk of the finish reason.',
  'usage in groq': 'The usage is in `x_groq`.',
  'zero usage': 'The stated output is 0.',
  'null choices': 'The chunk of the usage has `choices: null`.',
  'no choices': 'The chunk of the usage has no `choices`.',
  'filter chunk': 'A chunk without choices comes first.',
  'list content': 'The text comes as a list of parts.',
  'late reasoning': 'The reasoning comes after the text and the calls.',
  citations: 'The text has a citation with an address.',
} as const;

export type ReplyForm = keyof typeof REPLY_FORMS;

/** How a reply shows its reasoning: the name of the member, entries of `reasoning_details`, parts of the content, or tags in the text. */
export const REASONING_SPELLINGS = ['reasoning_content', 'reasoning', 'thinking', 'details', 'parts', 'tags'] as const;

export type ReasoningSpelling = (typeof REASONING_SPELLINGS)[number];

/** The undocumented forms of event streams, for both APIs. */
export const STREAM_FORMS = {
  comments: 'A comment comes before each event.',
  'no space': '`data:` is not followed by a space.',
  'byte order mark': 'The stream begins with a byte-order mark.',
  'split data': 'The data of each event are on several lines.',
  'event ids': 'Each event has an id and the name `message`.',
  'empty data': 'An event with empty data comes before each event.',
} as const;

export type StreamForm = keyof typeof STREAM_FORMS;
