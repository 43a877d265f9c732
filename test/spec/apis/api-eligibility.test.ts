// Which accounts can take a turn in a Pool with several APIs, what a turn leaves out on its way, and the refusal if none can (AA18 to AA26).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Platform, startPlatform } from '../../providers/responses/platform.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';

const fn = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const user = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });

/** `near` has the hosted tools, `far` has none; each speaks the Responses API at its own server. */
async function mixed(accounts: readonly string[], pool: JsonObject = {}): Promise<{ gate: TestGateway; near: Platform; far: Platform }> {
  const [near, far] = await Promise.all([startPlatform(), startPlatform()]);
  const own = (id: string, { url }: Platform, hosted_tools: readonly string[]): JsonObject => ({
    id,
    api: 'responses',
    base_url: url,
    credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } },
    models: { 'model-a': 'own-a' },
    hosted_tools: [...hosted_tools],
    catalog: [{ id: 'own-a', context_window: 272_000, input_modalities: ['text'] }],
  });
  const gate = await startGateway({
    upstream: { accounts },
    config(draft) {
      draft.accounts = draft.accounts.map((account: JsonObject) => {
        if (account.id === 'near') return own('near', near, ['web_search']);
        return account.id === 'far' ? own('far', far, []) : account;
      });
      Object.assign(draft.pools[0], { strategy: 'fill_first', ...pool });
    },
  });
  return { gate, near, far };
}

const refusalIn = ({ status, json }: Reply): readonly unknown[] => [status, json.error.code, json.error.param];

describe('a Pool of one API account', () => {
  let gate: TestGateway;
  let far: Platform;
  let near: Platform;
  before(async () => ({ gate, far, near } = await mixed(['far'])));
  after(() => Promise.all([gate.close(), far.close(), near.close()]));
  beforeEach(() => {
    far.clear();
    gate.heal();
  });

  const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };

  test('[AA25] a turn is refused at the place that excludes the account, in the words of its client', async () => {
    const native = await gate.send(NATIVE, { body: { ...turnBody('hi'), tools: [fn, { type: 'computer' }] } });
    assert.deepEqual(refusalIn(native), [400, 'unsupported_parameter', 'tools.1.type']);
    const item = await gate.send(NATIVE, { body: { ...turnBody('hi'), input: [user('hi'), { type: 'agent_message' }] } });
    assert.deepEqual(refusalIn(item), [400, 'unsupported_parameter', 'input.1']);
    const seen = {
      input: [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        { ...user('hi'), content: [image] },
      ],
    };
    const open = await gate.send(PUBLIC, { body: { model: 'model-a', ...seen } });
    assert.deepEqual(refusalIn(open), [400, 'unsupported_parameter', 'input.1.content.0'], 'the place before instructions were lifted');
    const said = {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url: image.image_url } },
      ],
    };
    const chat = await gate.send(CHAT, { body: { model: 'model-a', messages: [{ role: 'system', content: 'Be kind.' }, said] } });
    assert.deepEqual(refusalIn(chat), [400, 'unsupported_parameter', 'messages.1.content.1']);
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
    const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: [{ type: 'image', source }] }] };
    const message = await gate.send(MESSAGES, { body });
    assert.deepEqual([message.status, message.json.error.details.error_code], [400, 'unsupported_parameter']);
    assert.match(message.json.error.message, /^messages\.0\.content\.0: /);
    assert.equal(far.requests.length, 0, 'nothing was sent');
  });

  test('[AA25] a kind that no account serves is an unsupported endpoint', async () => {
    const created = await gate.send('/backend-api/files', { body: { file_name: 'a.txt', file_size: 1, use_case: 'x' } });
    assert.deepEqual([created.status, created.json.error.code], [404, 'unsupported_endpoint']);
  });

  test('[AA19] [AA25] a hosted tool is left out where it is not required, and refused at its place where it is', async () => {
    const tools = [fn, { type: 'web_search' }];
    const free = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools } });
    assert.equal(free.status, 200, free.text);
    assert.deepEqual(
      far.requests[0]?.json.tools.map(({ type }: JsonObject) => type),
      ['function'],
    );
    const named = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools, tool_choice: { type: 'web_search' } } });
    assert.deepEqual(refusalIn(named), [400, 'unsupported_parameter', 'tools.1.type']);
    const only = await gate.send(PUBLIC, {
      body: { model: 'model-a', input: 'hi', tools: [{ type: 'web_search' }], tool_choice: 'required' },
    });
    assert.deepEqual(refusalIn(only), [400, 'unsupported_parameter', 'tools.0.type']);
  });

  test('[AA20] calls of a hosted tool are left out of the history', async () => {
    const input = [user('hi'), { type: 'web_search_call', id: 'ws_1', status: 'completed' }, user('and?')];
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(
      far.requests[0]?.json.input.map(({ type }: JsonObject) => type),
      ['message', 'message'],
    );
  });

  test('[AA23] an anchor over HTTP is unknown', async () => {
    const first = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    const next = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'more', previous_response_id: first.json.id } });
    assert.deepEqual(refusalIn(next), [400, 'previous_response_not_found', 'previous_response_id']);
  });
});

describe('several API accounts', () => {
  let gate: TestGateway;
  let far: Platform;
  let near: Platform;
  before(async () => ({ gate, far, near } = await mixed(['far', 'near'])));
  after(() => Promise.all([gate.close(), far.close(), near.close()]));
  beforeEach(() => {
    far.clear();
    near.clear();
    gate.heal();
  });

  test('[AA19] the account that has the tool comes first, whatever the strategy says', async () => {
    const turn = (tools: readonly JsonObject[]) => gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools } });
    await turn([fn]);
    assert.deepEqual([far.requests.length, near.requests.length], [1, 0]);
    const reply = await turn([fn, { type: 'web_search' }]);
    assert.deepEqual([far.requests.length, near.requests.length], [1, 1]);
    const row = await gate.row(reply);
    assert.deepEqual(row?.why, { reason: 'fill_first', others: { less_preferred: 1 } });
  });

  test('[AA18] the row counts by reason the accounts that lack something', async () => {
    const tools = [{ type: 'web_search' }];
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', tools, tool_choice: 'required' } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual((await gate.row(reply))?.why, { reason: 'fill_first', others: { hosted_tool: 1 } });
  });
});

for (const reasoning of ['drop', 'keep'] as const) {
  describe(`a Pool of an agent account and a platform, with overflow.reasoning: ${reasoning}`, () => {
    let gate: TestGateway;
    let far: Platform;
    let near: Platform;
    before(async () => ({ gate, far, near } = await mixed(['north', 'far'], reasoning === 'keep' ? { overflow: { reasoning } } : {})));
    after(() => Promise.all([gate.close(), far.close(), near.close()]));
    beforeEach(() => {
      far.clear();
      gate.reset();
    });

    const fails = (): void => gate.upstream.next('north', 'refuse 500');
    const typesAt = (platform: Platform): readonly unknown[] | undefined =>
      platform.requests.at(-1)?.json.input.map(({ type, role }: JsonObject) => type ?? role);
    const turn = (input: readonly JsonObject[]): Promise<Reply> => gate.send(PUBLIC, { body: { model: 'model-a', input } });

    if (reasoning === 'drop') {
      test('[AA21] the platform gets the turn without the ciphertext of the agent account', async () => {
        const first = await turn([user('hi')]);
        const made = first.json.output.filter(({ type }: JsonObject) => type === 'reasoning');
        assert.equal(made.length, 1, 'the agent account reasons');
        fails();
        const next = await turn([user('hi'), ...first.json.output, user('more')]);
        assert.equal(next.status, 200, next.text);
        assert.deepEqual(typesAt(far), ['message', 'message', 'message']);
      });

      test('[AA21] ciphertext of an unknown maker goes to the agent account, and not to the platform', async () => {
        const unknown = { type: 'reasoning', summary: [], encrypted_content: 'gAAAA-of-nobody' };
        await turn([unknown, user('more')]);
        assert.deepEqual(
          gate.upstream
            .turns()
            .map(({ json }) => (json as { input: JsonObject[] }).input.map(({ type }) => type))
            .at(0),
          ['reasoning', 'message'],
        );
        fails();
        await turn([unknown, user('more')]);
        assert.deepEqual(typesAt(far), ['message']);
      });
    } else {
      test('[AA21] a conversation with its ciphertext does not leave the agent account', async () => {
        const first = await turn([user('hi')]);
        fails();
        const next = await turn([user('hi'), ...first.json.output, user('more')]);
        assert.deepEqual([next.status, next.json.error.code, far.requests.length], [502, 'upstream_error', 0]);
      });
    }

    test('[AA21] a compaction is never left out: without its maker the conversation begins again', async () => {
      const compaction = { type: 'compaction', encrypted_content: 'gAAAA-compacted' };
      gate.upstream.next('north', 'refuse 401', 'refuse 401');
      const reply = await turn([compaction, user('more')]);
      assert.equal(far.requests.length, 0);
      assert.notEqual(reply.status, 200);
      const again = await turn([compaction, user('more')]);
      assert.deepEqual([again.status, again.json.error.code], [400, 'continuation_requires_restart']);
      assert.equal(again.headers.get('x-agent-recovery'), 'restart_with_full_context');
    });
  });
}
