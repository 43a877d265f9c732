// The rule of request compression: which outputs are tried, which are protected, and what is noted (F7).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { PayloadCompression } from '../../../proxy/turn/turn.ts';
import { requestCompression } from '../../../rules/compression/request-compression.ts';
import { compressedText } from '../../support/compression.ts';
import { run, type TurnOptions } from '../../support/turns/turn.ts';

const PATH = 'packages/server/src/handlers/session-handler.ts';
const SEARCH = Array.from({ length: 12 }, (_, i) => `${PATH}:${i + 3}: const session${i} = await open();`).join('\n');
const SHORT = compressedText(SEARCH);

const ON: TurnOptions = { pool: { request_compression_enabled: true } };

const call = (changes: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  call_id: 'call-1',
  name: 'shell',
  arguments: '{"command":"rg session"}',
  ...changes,
});
const output = (changes: JsonObject = {}): JsonObject => ({ type: 'function_call_output', call_id: 'call-1', output: SEARCH, ...changes });

interface Result {
  readonly input: readonly JsonObject[];
  readonly noted: PayloadCompression | undefined;
}

async function compress(input: readonly Json[], options: TurnOptions = {}): Promise<Result> {
  const { body, turn } = await run([requestCompression], { input }, { ...ON, ...options });
  return { input: body.input as readonly JsonObject[], noted: turn.noted.payload_compression };
}

const lastOutput = async (...input: readonly Json[]): Promise<Json | undefined> => (await compress(input)).input.at(-1)?.output;

test('the first output is the one of the next turns: a longer conversation begins with the same bytes', async () => {
  const turns = Array.from({ length: 60 }, (_, i) => [
    call({ call_id: `c${i}` }),
    output({ call_id: `c${i}`, output: `${SEARCH}\n${PATH}:9: turn ${i}` }),
  ]);
  let before = '';
  for (const count of [1, 2, 10, 49, 50, 51, 60]) {
    const { input, noted } = await compress(turns.slice(0, count).flat());
    const now = JSON.stringify(input).slice(0, -1);
    assert.ok(now.startsWith(before), `${count} outputs`);
    before = now;
    assert.equal(noted?.compressed, Math.min(count, 50));
    assert.equal(noted?.over_limit, Math.max(0, count - 50));
  }
});

test('[F7.4] the fiftieth candidate is not used up by outputs that are protected or short', async () => {
  const protectedOutputs = Array.from({ length: 60 }, (_, i) => [call({ call_id: `p${i}`, name: 'Read' }), output({ call_id: `p${i}` })]);
  const short = Array.from({ length: 60 }, (_, i) => [call({ call_id: `s${i}` }), output({ call_id: `s${i}`, output: 'done' })]);
  const { noted } = await compress([...protectedOutputs, ...short, call(), output()].flat());
  assert.deepEqual(
    { ...noted, saved_bytes: 0, byte_savings_percent: 0 },
    { outputs: 61, protected: 60, over_limit: 0, errors: 0, compressed: 1, saved_bytes: 0, byte_savings_percent: 0 },
  );
});

test('[F7.1] without the Pool’s setting every output is sent as it came, and nothing is noted', async () => {
  const { input, noted } = await compress([call(), output()], { pool: {} });
  assert.deepEqual(input, [call(), output()]);
  assert.equal(noted, undefined);
});

test('[F7.1] outputs of every kind are compressed in their strings and text parts, and nothing else is', async () => {
  assert.equal(await lastOutput(call(), output()), SHORT);
  assert.deepEqual(
    await lastOutput(
      call(),
      output({
        output: [
          { type: 'input_image', image_url: SEARCH },
          { type: 'input_text', text: SEARCH },
        ],
      }),
    ),
    [
      { type: 'input_image', image_url: SEARCH },
      { type: 'input_text', text: SHORT },
    ],
  );
  const custom = call({ type: 'custom_tool_call', name: 'terminal', input: 'rg session' });
  assert.equal(await lastOutput(custom, output({ type: 'custom_tool_call_output' })), SHORT);
  const local = call({ type: 'local_shell_call', id: 'ls-1', action: { type: 'exec', command: ['bash', '-lc', 'rg session'] } });
  assert.equal(await lastOutput(local, output()), SHORT, 'as native clients answer it');
  assert.equal(await lastOutput(local, { type: 'local_shell_call_output', id: 'ls-1', output: SEARCH }), SHORT, 'by id');
  assert.equal(
    await lastOutput(local, { type: 'local_shell_call_output', id: 'ls-1', output: JSON.stringify({ stdout: SEARCH }) }),
    JSON.stringify({ stdout: SHORT }),
  );
  const shell = call({ type: 'shell_call', id: 'sh-1', action: { commands: ['rg session', 'npm test'] } });
  assert.deepEqual(
    await lastOutput(shell, {
      type: 'shell_call_output',
      call_id: 'call-1',
      output: [{ stdout: SEARCH, stderr: '', outcome: { type: 'exit' } }],
    }),
    [{ stdout: SHORT, stderr: '', outcome: { type: 'exit' } }],
  );
  const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: SEARCH }] };
  const { input } = await compress([message, call({ arguments: JSON.stringify({ command: 'rg x', note: SEARCH }) }), output()]);
  assert.deepEqual(input[0], message);
  assert.equal(input[1]?.arguments, JSON.stringify({ command: 'rg x', note: SEARCH }));
});

const PROTECTED_NAMES = ['Read', 'Glob', 'Grep', 'Write', 'Edit', 'WebSearch', 'WebFetch', 'web_search', 'web_fetch'];

test('[F7.4] the nine named tools, external retrieval, and outputs without a known tool name stay byte for byte', async () => {
  for (const name of [...PROTECTED_NAMES, 'mcp__docs__query', 'fetch_url', 'browser_open'])
    assert.equal(await lastOutput(call({ name }), output()), SEARCH, name);
  assert.equal(await lastOutput(call({ namespace: 'mcp__docs' }), output()), SEARCH, 'a namespace');
  assert.equal(await lastOutput(output()), SEARCH, 'no call');
  for (const name of [undefined, '', ' ', 5, null])
    assert.equal(await lastOutput(call({ name: name as Json }), output()), SEARCH, `name ${name}`);
  assert.equal(await lastOutput(call({ call_id: 'call-2' }), output()), SEARCH, 'another call');
  for (const type of ['mcp_call_output', 'tool_search_output', 'computer_call_output', 'web_search_call'])
    assert.equal(await lastOutput(call(), output({ type })), SEARCH, type);
});

test('[F7.4] reads of files by a command of the same frame stay byte for byte', async () => {
  const read = "nl -ba a.ts | sed -n '1,9p'";
  for (const [member, value] of Object.entries({ command: read, cmd: read, script: read, chars: `${read}\n` }))
    assert.equal(await lastOutput(call({ arguments: JSON.stringify({ [member]: value }) }), output()), SEARCH, member);
  const list = ['bash', '-lc', read];
  assert.equal(await lastOutput(call({ arguments: JSON.stringify({ command: list }) }), output()), SEARCH);
  assert.equal(
    await lastOutput(call({ arguments: JSON.stringify({ uses: [{ parameters: { cmd: read } }] }) }), output()),
    SEARCH,
    'nested',
  );
  for (const text of ['{"command":', '[1', JSON.stringify({ command: { text: 'x' } }), JSON.stringify({ command: ['a', 5] })])
    assert.equal(await lastOutput(call({ arguments: text }), output()), SEARCH, `unreadable: ${text}`);
  const local = call({ type: 'local_shell_call', id: 'ls-1', action: { command: ['cat', 'a.ts'] } });
  assert.equal(await lastOutput(local, output()), SEARCH);
  assert.equal(await lastOutput({ ...local, action: null }, output()), SEARCH, 'no action');
  const custom = call({ type: 'custom_tool_call', name: 'exec', input: 'await tools.exec_command({ cmd: "cat a.ts" })' });
  assert.equal(await lastOutput(custom, output({ type: 'custom_tool_call_output' })), SEARCH);
});

test('[F7.4] duplicate, cross-kind and conflicting identifiers keep the original output', async () => {
  const local = call({ type: 'local_shell_call', id: 'ls-1', call_id: 'call-9', action: { command: ['rg', 'x'] } });
  const localOutput = { type: 'local_shell_call_output', id: 'ls-1', output: SEARCH };
  assert.equal(await lastOutput(local, localOutput), SHORT);
  const kept: Readonly<Record<string, readonly Json[]>> = {
    'two calls with one id': [call(), call(), output()],
    'two outputs of one call': [call(), output(), output()],
    'a function and a custom call with one id': [call(), call({ type: 'custom_tool_call', input: 'x' }), output()],
    'a custom output of a function call': [call(), output({ type: 'custom_tool_call_output' })],
    'a function output of a custom call': [call({ type: 'custom_tool_call', input: 'x' }), output()],
    'a function call under the id of a local shell call': [local, call({ call_id: 'ls-1' }), localOutput],
    'an id and a call_id of two calls': [local, { ...local, id: 'ls-2', call_id: 'call-8' }, { ...localOutput, call_id: 'call-8' }],
    'a call of another type with the same id': [call(), { type: 'tool_search_call', call_id: 'call-1' }, output()],
    'a local shell output of a function call': [call(), { type: 'local_shell_call_output', call_id: 'call-1', output: SEARCH }],
    'a shell output of a local shell call': [local, { type: 'shell_call_output', call_id: 'call-9', output: SEARCH }],
  };
  for (const [what, input] of Object.entries(kept)) assert.equal(await lastOutput(...input), SEARCH, what);
});

test('[F7.5] a body over 1 MiB is not scanned, and that is noted', async () => {
  const { input, noted } = await compress([call(), output()], { bodyBytes: 1_048_577 });
  assert.deepEqual(input, [call(), output()]);
  assert.deepEqual(noted, { skipped_body_bytes: 1_048_577 });
  assert.equal((await compress([call(), output()], { bodyBytes: 1_048_576 })).noted?.compressed, 1);
});

test('[RM2] bytes are noted until tokens have been counted, then tokens', async () => {
  const bytes = (await compress([call(), output()])).noted;
  const saved = SEARCH.length - SHORT.length;
  const counts = { outputs: 1, protected: 0, over_limit: 0, errors: 0, compressed: 1 };
  assert.deepEqual(bytes, { ...counts, saved_bytes: saved, byte_savings_percent: Math.round((saved / SEARCH.length) * 1_000) / 10 });
  const { turn } = await run(
    [requestCompression],
    { input: [call(), output()] },
    { ...ON, countTokens: async (texts) => texts.map((text) => (text === SEARCH ? 300 : 200)) },
  );
  await undefined;
  assert.deepEqual(turn.noted.payload_compression, { ...counts, saved_tokens: 100, token_savings_percent: 33.3 });
});

test('a turn without long tool outputs notes nothing, and a turn that saves nothing notes that', async () => {
  assert.equal((await compress([call(), output({ output: 'done' })])).noted, undefined);
  const { noted } = await compress([call(), output({ output: 'nothing to leave out '.repeat(20) })]);
  assert.deepEqual(noted, { outputs: 1, protected: 0, over_limit: 0, errors: 0, compressed: 0 });
});

test('[F7.5] an output whose scan fails is sent as it came, and counted', async () => {
  // No text can make the scan fail, so an accessor simulates a fault in it.
  const broken = { type: 'input_text', text: SEARCH };
  let reads = 0;
  const faulty = new Proxy(broken, {
    get: (target, name) => {
      if (name === 'text' && ++reads > 1) throw new Error('a fault');
      return Reflect.get(target, name);
    },
  });
  const outputs = [faulty];
  const work = { body: { input: [call(), output({ output: outputs })] } };
  const { turn } = await run([requestCompression], {}, ON);
  await requestCompression.edit?.(work, undefined, turn);
  assert.deepEqual(turn.noted.payload_compression, { outputs: 1, protected: 0, over_limit: 0, errors: 1, compressed: 0 });
  assert.ok(Object.is(work.body.input.at(-1)?.output, outputs));
});
