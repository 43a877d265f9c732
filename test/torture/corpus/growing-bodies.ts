// THE LIST of shapes that grow: request bodies in depth, width, length, or members that rules search, and forms and replies. The cost of
// each must grow only with its bytes.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { BOUNDARY } from '../../support/form.ts';

/** @returns JSON of about this many bytes */
export type Growing = (bytes: number) => string;

const times = (bytes: number, piece: string): number => Math.max(1, Math.floor(bytes / piece.length));
const many = (bytes: number, of: (i: number) => string): string => {
  const size = of(0).length + 1;
  return Array.from({ length: Math.max(1, Math.floor(bytes / size)) }, (_, i) => of(i)).join(',');
};
const nested = (bytes: number, open: string, inner: string, close: string): string => {
  const count = times(bytes, open + close);
  return open.repeat(count) + inner + close.repeat(count);
};

const MESSAGE = '{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}';
const message = (text: string): string => `{"type":"message","role":"user","content":[{"type":"input_text","text":${text}}]}`;
const turn = (members: string): string => `{"model":"model-a","stream":false,"store":false,${members}}`;
const input = (items: string): string => turn(`"input":[${items}]`);
const tools = (list: string): string => turn(`"input":[${MESSAGE}],"tools":[${list}]`);
const parameters = (schema: string): string => tools(`{"type":"function","name":"f","parameters":${schema}}`);
const output = (text: string): string =>
  input(
    `{"type":"function_call","call_id":"c","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":${JSON.stringify(text)}}`,
  );
const lines = (bytes: number, of: (i: number) => string): string => output(many(bytes, of).replaceAll(',', '\n'));

/** Responses bodies, for the native and the public surface. */
export const RESPONSES_BODIES: Readonly<Record<string, Growing>> = {
  'lists in lists': (n) => input(nested(n, '[', '', ']')),
  'objects in objects': (n) => input(nested(n, '{"a":', '1', '}')),
  'contents in contents': (n) => input(nested(n, '{"type":"message","content":[', '', ']}')),
  'schemas in schemas': (n) => parameters(nested(n, '{"type":"object","properties":{"a":', '{}', '}}')),
  'alternatives in alternatives': (n) => parameters(nested(n, '{"anyOf":[', '{}', ']}')),
  'lists of schemas': (n) => parameters(`{"anyOf":[${many(n, (i) => `{"type":"string","title":"t${i}"}`)}]}`),
  'members of a schema': (n) => parameters(`{"type":"object","properties":{${many(n, (i) => `"p${i}":{"type":["string","null"]}`)}}}`),
  'required members': (n) => parameters(`{"type":"object","properties":{},"required":[${many(n, (i) => `"p${i}"`)}]}`),
  definitions: (n) => parameters(`{"type":"object","$defs":{${many(n, (i) => `"d${i}":{"$ref":"#/$defs/d${i + 1}"}`)}}}`),
  'an enum': (n) => parameters(`{"enum":[${many(n, (i) => `"e${i}"`)}]}`),
  'strict members': (n) =>
    tools(
      `{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{${many(n, (i) => `"p${i}":{"properties":{}}`)}}}}`,
    ),
  messages: (n) => input(many(n, () => MESSAGE)),
  'developer messages': (n) => input(many(n, (i) => `{"type":"message","role":"developer","content":"d${i}"}`)),
  'parts of a message': (n) => input(`{"role":"user","content":[${many(n, (i) => `{"type":"input_text","text":"${i}"}`)}]}`),
  images: (n) => input(`{"role":"user","content":[${many(n, () => '{"type":"input_image","image_url":"data:image/png;base64,AAAA"}')}]}`),
  'a long image': (n) => input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,${'A'.repeat(n)}"}]}`),
  'a long audio': (n) =>
    input(`{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"${'A'.repeat(n - (n % 4))}"}}]}`),
  functions: (n) => tools(many(n, (i) => `{"type":"function","name":"f${i}","parameters":{"type":"object"}}`)),
  'functions of one name': (n) => tools(many(n, () => '{"type":"function","name":"f","parameters":{"type":"object"}}')),
  'custom tools': (n) => tools(many(n, (i) => `{"type":"custom","name":"c${i}"}`)),
  namespaces: (n) => tools(many(n, (i) => `{"type":"namespace","name":"n${i}","tools":[{"type":"function","name":"f${i}"}]}`)),
  'functions of a namespace': (n) =>
    tools(`{"type":"namespace","name":"n","tools":[${many(n, (i) => `{"type":"function","name":"f${i}"}`)}]}`),
  'additional tools': (n) =>
    input(many(n, (i) => `{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f${i}"}]}`)),
  'calls and their outputs': (n) =>
    input(
      many(
        n,
        (i) =>
          `{"type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c${i}","output":"o"}`,
      ),
    ),
  'outputs of one call': (n) => input(many(n, () => '{"type":"function_call_output","call_id":"c","output":"o"}')),
  reasoning: (n) => input(many(n, (i) => `{"type":"reasoning","id":"rs_${i}","summary":[],"encrypted_content":"enc${i}"}`)),
  references: (n) => input(many(n, (i) => `{"type":"item_reference","id":"rs_${i}"}`)),
  files: (n) => input(`{"role":"user","content":[${many(n, (i) => `{"type":"input_file","file_id":"file_${i}"}`)}]}`),
  includes: (n) => turn(`"input":[${MESSAGE}],"include":[${many(n, () => '"reasoning.encrypted_content"')}]`),
  metadata: (n) => turn(`"input":[${MESSAGE}],"metadata":{${many(n, (i) => `"m${i}":"v"`)}}`),
  'unknown members': (n) => turn(`"input":[${MESSAGE}],${many(n, (i) => `"x${i}":0`)}`),
  'one member many times': (n) => turn(`"input":[${MESSAGE}],${many(n, () => '"x":0')}`),
  numbers: (n) => turn(`"input":[${MESSAGE}],"x":[${many(n, (i) => `${i}.5e3`)}]`),
  'a long number': (n) => turn(`"input":[${MESSAGE}],"x":${'9'.repeat(n)}`),
  'white space': (n) => turn(`"input":[${MESSAGE}],${' '.repeat(n)}"x":0`),
  'a long text': (n) => input(message(`"${'a'.repeat(n)}"`)),
  'a long text of one escape': (n) => input(message(`"${'\\u0000'.repeat(times(n, '\\u0000'))}"`)),
  'lone surrogates': (n) => input(message(`"${'\\ud800'.repeat(times(n, '\\ud800'))}"`)),
  'a long text of spaces': (n) => input(message(`"${' '.repeat(n)}"`)),
  'a long model': (n) => `{"model":"${'m'.repeat(n)}","input":[]}`,
  'a long effort': (n) => turn(`"input":[${MESSAGE}],"reasoning":{"effort":"${'h'.repeat(n)}"}`),
  'a long cache key': (n) => turn(`"input":[${MESSAGE}],"prompt_cache_key":"${'k'.repeat(n)}"`),
  'long instructions': (n) => turn(`"input":[${MESSAGE}],"instructions":"${'i'.repeat(n)}"`),
  'search results': (n) => lines(n, (i) => `src/file${i % 50}.ts:${i}: const a = ${i};`),
  'search results of one file': (n) => lines(n, (i) => `src/file.ts:${i}: a`),
  'results under headings': (n) => lines(n, (i) => (i % 10 === 0 ? `src/file${i}.ts` : `${i}: a`)),
  'results parted by NUL': (n) => lines(n, (i) => `src/f.ts\0${i}: a`),
  'a diff': (n) => lines(n, (i) => (i % 9 === 0 ? `@@ -${i} +${i} @@` : i % 2 === 0 ? `+ added ${i}` : `- gone ${i}`)),
  'a diff without hunks': (n) => lines(n, (i) => (i % 2 === 0 ? `+ added ${i}` : `- gone ${i}`)),
  'a log of tests': (n) => lines(n, (i) => (i % 20 === 0 ? `not ok ${i} - fails` : `ok ${i} - passes`)),
  'failures in a log': (n) => lines(n, (i) => `FAILED test_${i}.py::test - AssertionError`),
  colons: (n) => output(':'.repeat(n)),
  'empty lines': (n) => output('\n'.repeat(n)),
  brackets: (n) => output('[['.repeat(n / 2)),
  'at signs': (n) => output('@@ '.repeat(n / 3)),
  'a command of quotes': (n) =>
    input(
      `{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["bash","-c",${JSON.stringify('"\''.repeat(n / 4))}]}},{"type":"local_shell_call_output","call_id":"c","output":"${'o'.repeat(300)}"}`,
    ),
};

/** Chat bodies. */
export const CHAT_BODIES: Readonly<Record<string, Growing>> = {
  messages: (n) => `{"model":"model-a","messages":[${many(n, () => '{"role":"user","content":"a"}')}]}`,
  parts: (n) => `{"model":"model-a","messages":[{"role":"user","content":[${many(n, () => '{"type":"text","text":"a"}')}]}]}`,
  'tool calls': (n) =>
    `{"model":"model-a","messages":[{"role":"assistant","tool_calls":[${many(n, (i) => `{"id":"c${i}","type":"function","function":{"name":"f","arguments":"{}"}}`)}]}]}`,
  'tool results': (n) => `{"model":"model-a","messages":[${many(n, (i) => `{"role":"tool","tool_call_id":"c${i}","content":"o"}`)}]}`,
  functions: (n) =>
    `{"model":"model-a","messages":[{"role":"user","content":"a"}],"tools":[${many(n, (i) => `{"type":"function","function":{"name":"f${i}","parameters":{"type":"object"}}}`)}]}`,
  'system messages': (n) => `{"model":"model-a","messages":[${many(n, (i) => `{"role":"system","content":"s${i}"}`)}]}`,
  'a long text': (n) => `{"model":"model-a","messages":[{"role":"user","content":"${'a'.repeat(n)}"}]}`,
};

const say = (more: string): string => `{"model":"model-a","max_tokens":1000,${more}}`;
const SAY = '"messages":[{"role":"user","content":"a"}]';
const blocks = (list: string): string => say(`"messages":[{"role":"user","content":[${list}]}]`);
const used = (i: number): string => `{"type":"tool_use","id":"c${i}","name":"f","input":{}}`;
const result = (i: number): string => `{"type":"tool_result","tool_use_id":"c${i}","content":"o"}`;

/** Messages bodies. */
export const MESSAGES_BODIES: Readonly<Record<string, Growing>> = {
  messages: (n) => say(`"messages":[${many(n, () => '{"role":"user","content":"a"}')}]`),
  'texts of a message': (n) => blocks(many(n, () => '{"type":"text","text":"a"}')),
  'cache marks': (n) => blocks(many(n, () => '{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}')),
  images: (n) => blocks(many(n, () => '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}')),
  'a long PDF': (n) =>
    blocks(
      `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${'A'.repeat(n - (n % 4))}"}},{"type":"text","text":"a"}`,
    ),
  'search results': (n) =>
    blocks(many(n, (i) => `{"type":"search_result","source":"s","title":"t${i}","content":[{"type":"text","text":"a"}]}`)),
  'calls and their results': (n) =>
    say(
      `"messages":[{"role":"user","content":"a"},${many(
        n,
        (i) => `{"role":"assistant","content":[${used(i)}]},{"role":"user","content":[${result(i)}]}`,
      )}]`,
    ),
  'calls of one message': (n) =>
    say(
      `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${many(n / 2, used)}]},{"role":"user","content":[${many(n / 2, result)}]}]`,
    ),
  'results without calls': (n) => blocks(many(n, result)),
  'signed thinking': (n) =>
    say(
      `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${many(n, (i) => `{"type":"thinking","thinking":"t","signature":"pgs1.0123456789abcdef.enc${i}"}`)}]},{"role":"user","content":"b"}]`,
    ),
  'a long signature': (n) =>
    say(
      `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"pgs1.0123456789abcdef.${'A'.repeat(n)}"}]},{"role":"user","content":"b"}]`,
    ),
  'system texts': (n) => say(`${SAY},"system":[${many(n, (i) => `{"type":"text","text":"s${i}"}`)}]`),
  'system messages': (n) => say(`"messages":[${many(n, (i) => `{"role":"system","content":"s${i}"}`)},{"role":"user","content":"a"}]`),
  'tool changes': (n) =>
    say(
      `"messages":[{"role":"system","content":[${many(n, (i) => `{"type":"tool_removal","tool":{"type":"tool_reference","name":"f${i}"}}`)}]},{"role":"user","content":"a"}]`,
    ),
  tools: (n) => say(`${SAY},"tools":[${many(n, (i) => `{"name":"f${i}","input_schema":{"type":"object"}}`)}]`),
  'tools of one name': (n) => say(`${SAY},"tools":[${many(n, () => '{"name":"f","input_schema":{"type":"object"}}')}]`),
  'deferred tools': (n) =>
    say(`${SAY},"tools":[${many(n, (i) => `{"name":"f${i}","defer_loading":true,"input_schema":{"type":"object"}}`)}]`),
  'schemas in schemas': (n) =>
    say(`${SAY},"tools":[{"name":"f","strict":true,"input_schema":${nested(n, '{"type":"object","properties":{"a":', '{}', '}}')}}]`),
  'a schema of the reply': (n) =>
    say(
      `${SAY},"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{${many(n, (i) => `"p${i}":{"type":"string"}`)}}}}}`,
    ),
  'stop sequences': (n) => say(`${SAY},"stop_sequences":[${many(n, (i) => `"s${i}"`)}]`),
  'a long user id': (n) => say(`${SAY},"metadata":{"user_id":"${'_session_'.repeat(times(n, '_session_'))}"}`),
  'marks of a model': (n) => `{"model":"model-a${'[1m]'.repeat(times(n, '[1m]'))}","max_tokens":1000,${SAY}}`,
  'a long text': (n) => say(`"messages":[{"role":"user","content":"${'a'.repeat(n)}"}]`),
};

/** Members that can be added to an ordinary body. */
const MEMBERS: Readonly<Record<string, Growing>> = {
  'lists in lists': (n) => `"x":${nested(n, '[', '', ']')}`,
  'objects in objects': (n) => `"x":${nested(n, '{"a":', '1', '}')}`,
  'unknown members': (n) => many(n, (i) => `"x${i}":0`),
  'one member many times': (n) => many(n, () => '"x":0'),
  'a list': (n) => `"x":[${many(n, (i) => `{"a":${i}}`)}]`,
  numbers: (n) => `"x":[${many(n, (i) => `${i}.5e3`)}]`,
  'a long number': (n) => `"x":${'9'.repeat(n)}`,
  'a long text': (n) => `"x":"${'a'.repeat(n)}"`,
  'a long text of one escape': (n) => `"x":"${'\\u0000'.repeat(times(n, '\\u0000'))}"`,
  'lone surrogates': (n) => `"x":"${'\\ud800'.repeat(times(n, '\\ud800'))}"`,
  'white space': (n) => `${' '.repeat(n)}"x":0`,
};

/** Bodies of a call with members that grow, and bodies in which one of its texts is long. */
export function grownBodies(body: JsonObject): Readonly<Record<string, Growing>> {
  const own = JSON.stringify(body).slice(0, -1);
  const texts = Object.keys(body).filter((name) => typeof body[name] === 'string');
  return {
    ...Object.fromEntries(Object.entries(MEMBERS).map(([name, grow]) => [name, (n: number) => `${own},${grow(n)}}`])),
    ...Object.fromEntries(texts.map((name) => [`a long ${name}`, (n: number) => JSON.stringify({ ...body, [name]: 'a'.repeat(n) })])),
  };
}

const part = (name: string, value: string, more = ''): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;

/** Bytes before the parts of a form. */
export const GROWING_PARTS: Readonly<Record<string, Growing>> = {
  fields: (n) => many(n, (i) => part(`f${i}`, 'a')).replaceAll('\r\n,--', '\r\n--'),
  'one field many times': (n) => part('prompt', 'a').repeat(times(n, part('prompt', 'a'))),
  files: (n) => part('f', 'a', '; filename="f"').repeat(times(n, part('f', 'a', '; filename="f"'))),
  'a long field': (n) => part('prompt', 'a'.repeat(n)),
  'a long file': (n) => part('image[]', 'a'.repeat(n), '; filename="f"'),
  'line ends and hyphens': (n) => part('prompt', '\r\n--'.repeat(n / 4)),
  'nearly the delimiter': (n) => part('prompt', `\r\n--${BOUNDARY.slice(0, -1)}`.repeat(n / 24)),
  'a long part header': (n) => part('prompt', 'a', `; x="${'a'.repeat(n)}"`),
  'a preamble': (n) => `${'p'.repeat(n)}\r\n`,
};

const data = (json: string): string => `data: ${json}\n\n`;
const END =
  '{"type":"response.completed","sequence_number":9,"response":{"id":"r","object":"response","status":"completed","model":"model-a","output":[]}}';
const ended = (output: string): string => END.replace('"output":[]', `"output":[${output}]`);
const content = (text: string): string => `{"type":"message","id":"m","content":[{"type":"output_text","text":"${text}"}]}`;

/** Events of a reply. */
export const GROWING_REPLIES: Readonly<Record<string, Growing>> = {
  deltas: (n) => data('{"type":"response.output_text.delta","delta":"a"}').repeat(n / 60) + data(END),
  'unknown events': (n) => data('{"type":"tomorrow"}').repeat(n / 26) + data(END),
  'empty events': (n) => 'data:\n\n'.repeat(n / 7) + data(END),
  comments: (n) => ': a\n'.repeat(n / 4) + data(END),
  'empty lines': (n) => '\n'.repeat(n) + data(END),
  'lines of one event': (n) => `${'data:\n'.repeat(n / 6)}${data(END)}`,
  'field names': (n) => `${'x'.repeat(n)}\n\n${data(END)}`,
  'a long event': (n) => data(`{"type":"response.output_text.delta","delta":"${'a'.repeat(n / 4)}"}`) + data(END),
  'a deep event': (n) => data(`{"type":"response.output_item.done","item":${nested(n / 4, '[', '', ']')}}`) + data(END),
  items: (n) =>
    data('{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"a","content":[]}}').repeat(n / 400) +
    data(END),
  'arguments of a call': (n) =>
    data('{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"a"}').repeat(n / 100) + data(END),
  'a long end': (n) => data(ended(content('a'.repeat(n / 8)))),
  'an end of many items': (n) => data(ended(many(n / 8, () => content('a')))),
};
