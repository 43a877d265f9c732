// Turns that name files: they go to the account that has them (D6, Q10, Q21).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { asking, OTHER_POOL_KEY, startFiles, uploadedId, uploadedToSouth } from '../../support/stages/files.ts';
import { connect } from '../../support/websocket.ts';

let gate: TestGateway;
before(async () => {
  gate = await startFiles();
});
after(() => gate.close());
beforeEach(() => gate.reset());

const other = { authorization: `Bearer ${OTHER_POOL_KEY}` };

describe('turns that name files', () => {
  test('[RB39] a `sediment://` address in the arguments of a call, or in a text, names no file: it passes as it came and binds no account', async () => {
    const id = await uploadedToSouth(gate);
    gate.upstream.clear();
    const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: `{ "uri":"sediment://${id}", "file_id":"${id}" }` };
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: `look at sediment://${id} and sediment://file_unknown` }] },
      call,
      { type: 'function_call_output', call_id: 'call_1', output: `sediment://${id}` },
    ];
    for (const path of ['/backend-api/agent/responses', '/v1/responses']) {
      const reply = await gate.send(path, { body: turnBody('hi', { input }) });
      assert.equal(reply.status, 200, reply.text);
      const row = await gate.row(reply);
      assert.notEqual(row?.why?.reason, 'hard_pin');
    }
    assert.deepEqual(
      gate.upstream.turns().map(({ account, json }) => [account, (json as JsonObject).input]),
      [
        ['north', input],
        ['north', input],
      ],
    );
  });

  let north: string;
  let south: string;
  before(async () => {
    gate.upstream.clear();
    north = await uploadedId(gate);
    south = await uploadedToSouth(gate);
  });

  const file = (id: string) => ({ type: 'input_file', file_id: id });
  const image = (id: string) => ({ type: 'input_image', file_id: id, detail: 'low' });
  const CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const CUSTOM_CALL = { type: 'custom_tool_call', call_id: 'c', name: 'f', input: '' };
  const surfaces = [
    ['/v1/responses', (input: object) => ({ model: 'model-a', input })],
    ['/backend-api/agent/responses', (input: object) => turnBody('', { input: input as never })],
  ] as const;

  for (const [path, bodyOf] of surfaces) {
    test(`[Q10] on ${path} they go to the account that has them`, async () => {
      for (const input of [
        [asking(file(south))],
        [asking(image(south))],
        [CALL, { type: 'function_call_output', call_id: 'c', output: [image(south), file(south)] }],
        [CUSTOM_CALL, { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'message', content: [image(south)] }] }],
      ]) {
        gate.upstream.clear();
        const reply = await gate.send(path, { body: bodyOf(input) });
        assert.equal(reply.status, 200, reply.text);
        assert.deepEqual([gate.upstream.turns('north').length, gate.upstream.turns('south').length], [0, 1]);
        assert.equal((await gate.row(reply))?.why?.reason, 'hard_pin');
      }
    });

    test(`[Q10] on ${path} files of two accounts are a conflict, and an unknown file or another Pool’s is not found`, async () => {
      for (const [input, headers, code, param, status] of [
        [[asking(file(north)), asking(file(south))], {}, 'file_conflict', 'input.1.content.1.file_id', 400],
        [
          [asking(file(north)), { type: 'function_call_output', call_id: 'c', output: [image(south)] }],
          {},
          'file_conflict',
          'input.1.output.0.file_id',
          400,
        ],
        [[asking(image('file_unknown'))], {}, 'file_not_found', 'input.0.content.1.file_id', 404],
        [[asking(file(north))], other, 'file_not_found', 'input.0.content.1.file_id', 404],
      ] as const) {
        const { status: told, json } = await gate.send(path, { body: bodyOf(input), headers });
        assert.deepEqual([told, json.error.code, json.error.param], [status, code, param]);
      }
      assert.deepEqual(gate.upstream.turns(), []);
    });

    test(`[Q10] on ${path} they never move: if their account fails, the turn fails`, async () => {
      gate.upstream.next('south', 'refuse 503');
      const { status } = await gate.send(path, { body: bodyOf([asking(file(south))]) });
      assert.notEqual(status, 200);
      assert.deepEqual(gate.upstream.turns('north'), []);
    });
  }

  const refusedIn = (frames: readonly JsonObject[]): readonly unknown[] => {
    const { status, error } = frames.at(-1) ?? {};
    return [status, isObject(error) ? error.code : undefined];
  };
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    test(`[Q10] [F2.2] a frame on the websocket of ${path} goes to the account that has its file, whatever account the frame before it went to`, async () => {
      using socket = await connect(gate, path);
      const input = (id: string) => ({ input: [{ type: 'message', ...asking(file(id)) }] });
      for (const [id, account] of [
        [north, 'north'],
        [south, 'south'],
      ] as const) {
        gate.upstream.clear();
        const frames = await socket.turn(frameOf('', input(id)));
        assert.equal(frames.at(-1)?.type, 'response.completed');
        assert.deepEqual(
          gate.upstream.turns().map((turn) => turn.account),
          [account],
        );
      }
      const anchored = await socket.turn(frameOf('', input(south)));
      gate.upstream.clear();
      const conflict = await socket.turn(frameOf('', { ...input(north), previous_response_id: responseId(anchored) }));
      assert.deepEqual(refusedIn(conflict), [400, 'file_conflict']);
      const unknown = await socket.turn(frameOf('', input('file_unknown')));
      assert.deepEqual(refusedIn(unknown), [404, 'file_not_found']);
      assert.deepEqual(gate.upstream.turns(), []);
    });
  }

  test('[Q10] the images of a native image request go to the account that has them; an unknown file or another Pool’s is not found', async () => {
    const path = '/backend-api/agent/images/edits';
    const bodyOf = (id: string) => ({ model: 'gpt-image-1', prompt: 'x', images: [{ file_id: id }] });
    gate.upstream.clear();
    await gate.send(path, { body: bodyOf(south) });
    assert.deepEqual([gate.upstream.turns('north').length, gate.upstream.turns('south').length], [0, 1]);
    gate.upstream.clear();
    for (const [id, headers] of [
      ['file_unknown', {}],
      [north, other],
    ] as const) {
      const { status, json } = await gate.send(path, { body: bodyOf(id), headers });
      assert.deepEqual([status, json.error.code, json.error.param], [404, 'file_not_found', 'images.0.file_id']);
    }
    assert.deepEqual(gate.upstream.turns(), []);
  });

  test('[Q10] [F1.9] a file part of Chat goes to the account that has the file, and a refusal names it as the client wrote it', async () => {
    const chat = (id: string) => ({ model: 'model-a', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }] });
    for (const path of ['/v1/chat/completions', '/backend-api/agent/v1/chat/completions']) {
      gate.upstream.clear();
      const reply = await gate.send(path, { body: chat(south) });
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(
        gate.upstream.turns().map(({ account }) => account),
        ['south'],
      );
      const { status, json } = await gate.send(path, { body: chat('file_unknown') });
      assert.deepEqual([status, json.error.code, json.error.param], [404, 'file_not_found', 'messages.0.content.0.file.file_id']);
    }
  });

  test('[Q10] members of that name that are not inputs are not looked up', async () => {
    const annotation = { type: 'file_citation', file_id: 'file_elsewhere', index: 0 };
    const cited = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so', annotations: [annotation] }] };
    const { status } = await gate.send('/v1/responses', {
      body: { model: 'model-a', input: [cited, asking({ type: 'input_text', text: '!' })] },
    });
    assert.equal(status, 200);
  });

  test('[Q10] a file whose account must log in again asks for another upload', async () => {
    gate.fail('south', '(all)', {
      cause: 'credential',
      status: 401,
      error: { code: null, type: null, param: null, message: null },
      retryAfterMs: undefined,
      resetsAt: undefined,
      answer: undefined,
    });
    const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input: [asking(file(south))] } });
    assert.deepEqual([reply.status, reply.json.error.code], [400, 'continuation_requires_restart']);
    assert.match(reply.json.error.message, /upload/i);
    gate.heal();
  });
});
