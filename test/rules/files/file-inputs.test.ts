// The members of a turn that name files, and the account to which these bind the turn (Q10).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { FileView } from '../../../proxy/turn/turn.ts';
import { fileInputs } from '../../../rules/files/file-inputs.ts';
import { refusalBy, run } from '../../support/turns/turn.ts';

const FILES: Readonly<Record<string, FileView>> = { n1: { account: 'north' }, n2: { account: 'north' }, s1: { account: 'south' } };
const owner = async (body: object, kind: RouteKind = 'responses'): Promise<string | undefined> =>
  (await run([fileInputs], { model: 'model-a', ...body }, { kind, files: FILES })).turn.fileOwner;
const refused = async (body: object, kind: RouteKind = 'responses'): Promise<string> => {
  const refusal = await refusalBy([fileInputs], { model: 'model-a', ...body }, { kind, files: FILES });
  return `${refusal?.code} ${refusal?.error.param}`;
};

const file = (file_id: unknown): object => ({ type: 'input_file', file_id });
const message = (...content: readonly object[]): object => ({ type: 'message', role: 'user', content });

test('[Q10] files and images of messages and tool outputs bind a turn to their account', async () => {
  for (const item of [
    message(file('n1')),
    { role: 'user', content: [{ type: 'input_image', file_id: 'n1', detail: 'auto' }] },
    { type: 'function_call_output', call_id: 'c', output: [file('n1'), file('n2')] },
    { type: 'custom_tool_call_output', call_id: 'c', output: [message(file('n1'))] },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'n1' } },
  ]) {
    assert.equal(await owner({ input: [message({ type: 'input_text', text: 'hi' }), item] }), 'north', JSON.stringify(item));
  }
  assert.equal(await owner({ tools: [{ type: 'image_generation', input_image_mask: { file_id: 's1' } }] }), 'south');
  const mask = { type: 'image_generation', input_image_mask: { file_id: 's1' } };
  assert.equal(await owner({ input: [{ type: 'additional_tools', role: 'developer', tools: [{}, mask] }] }), 'south');
  assert.equal(await owner({ tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['s1'] } }] }), 'south');
  assert.equal(await owner({ prompt: { id: 'p', variables: { text: 'n1', doc: file('n1') } } }), 'north');
  assert.equal(await owner({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'n1' } }] }] }, 'chat'), 'north');
});

test('[Q10] the images and the mask of a native image request bind it to their account', async () => {
  assert.equal(await owner({ images: [{ image_url: 'data:,n1' }, { file_id: 's1' }] }, 'image'), 'south');
  assert.equal(await owner({ image: { file_id: 'n1' }, mask: { file_id: 'n2' } }, 'image'), 'north');
  assert.equal(await owner({ images: ['n1', null, 7], mask: null, input: [message(file('x'))] }, 'image'), undefined);
  assert.equal(await refused({ images: [{ file_id: 'n1' }, { file_id: 'x' }] }, 'image'), 'file_not_found images.1.file_id');
  assert.equal(await refused({ images: [{ file_id: 'n1' }], mask: { file_id: 's1' } }, 'image'), 'file_conflict mask.file_id');
});

test('[Q10] texts, citations, inline files and null ids name no file', async () => {
  for (const input of [
    'file_id: n1',
    [],
    [null, 7, 'n1'],
    [message({ type: 'input_file', file_data: 'data:,n1', filename: 'n1' }), message(file(null)), message(file(7))],
    [
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'n1', annotations: [{ type: 'file_citation', file_id: 'x' }] }],
      },
    ],
    [{ type: 'function_call_output', call_id: 'c', output: '[{"type":"input_file","file_id":"x"}]' }],
    [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"file_id":"x"}' }],
  ]) {
    assert.equal(await owner({ input }), undefined, JSON.stringify(input));
  }
});

test('[Q10] the refusal names the first member that is unknown, or at another account', async () => {
  assert.equal(await refused({ input: [message(file('n1'), file('x'), file('s1'))] }), 'file_not_found input.0.content.1.file_id');
  assert.equal(await refused({ input: [message(file('n1'), file('s1'), file('x'))] }), 'file_conflict input.0.content.1.file_id');
  assert.equal(
    await refused({ input: [{ type: 'function_call_output', output: [message(file('x'))] }] }),
    'file_not_found input.0.output.0.content.0.file_id',
  );
  assert.equal(await refused({ tools: [{}, { input_image_mask: { file_id: 'x' } }] }), 'file_not_found tools.1.input_image_mask.file_id');
  assert.equal(
    await refused({ input: [{ type: 'additional_tools', tools: [{ input_image_mask: { file_id: 'x' } }] }] }),
    'file_not_found input.0.tools.0.input_image_mask.file_id',
  );
  assert.equal(await refused({ tools: [{ container: { file_ids: ['n1', 's1'] } }] }), 'file_conflict tools.0.container.file_ids.1');
  assert.equal(await refused({ prompt: { variables: { doc: file('x') } } }), 'file_not_found prompt.variables.doc.file_id');
  const chat = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'x' } }] }] };
  assert.equal(await refused(chat, 'chat'), 'file_not_found messages.0.content.0.file.file_id');
});

test('[Q10] a request with many unknown ids costs one look-up', async () => {
  const lookups: unknown[] = [];
  const files = new Proxy({}, { get: (_files, id) => void lookups.push(id) });
  const input = [message(...Array.from({ length: 1_000 }, (_, i) => file(`x${i}`)))];
  await refusalBy([fileInputs], { model: 'model-a', input }, { files });
  assert.deepEqual(lookups, ['x0']);
});
