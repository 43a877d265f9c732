// The reply of a Chat account becomes events in the same way however its server writes the chunks (AA49 to AA59).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import {
  type ChatStage,
  chatStage,
  look,
  PUBLIC,
  responseOf,
  textOf,
  translatedEvents,
  typesOf,
  user,
} from '../../providers/chat/chat-stage.ts';
import { call, chunk, ENDING, finish, framed, HELLO, raw, streamed, text, USAGE, usageChunk } from '../../providers/chat/completions.ts';
import { answers, type PlatformAnswer } from '../../providers/responses/platform.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { sampleOf } from '../../support/sample.ts';

let stage: ChatStage;
before(async () => {
  stage = await chatStage({ model: { reasoning_levels: ['low'] } });
});
after(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

type Chunks = readonly (JsonObject | string)[];

const eventsFor = async (chunks: Chunks, members: JsonObject = {}): Promise<readonly JsonObject[]> =>
  (await stage.reply(streamed(chunks), members)).events;

/** The types of the events after the ones with which every reply begins. */
const typesFor = async (chunks: Chunks, members: JsonObject = {}): Promise<readonly string[]> =>
  typesOf(await eventsFor(chunks, members)).slice(2);

const outputOf = (events: readonly JsonObject[]): readonly JsonObject[] => responseOf(events).output as readonly JsonObject[];

/** Asserts that the attempt fails before output: without another account the client gets the failure, and no part of an answer. */
async function failsBefore(answer: PlatformAnswer, title?: string): Promise<void> {
  const { status, events, text: got } = await stage.reply(answer);
  if (status === 200)
    assert.deepEqual(
      typesOf(events).filter((type) => !LIFECYCLE.has(type)),
      ['response.failed'],
      title,
    );
  else assert.equal(status, 502, title ?? got);
  stage.gate.heal();
}

const LIFECYCLE: ReadonlySet<string> = new Set(['response.created', 'response.in_progress']);

const TOOLS = { tools: [look] };

const MESSAGE = (deltas: number): readonly string[] => [
  'response.output_item.added',
  'response.content_part.added',
  ...Array.from({ length: deltas }, () => 'response.output_text.delta'),
  'response.output_text.done',
  'response.content_part.done',
  'response.output_item.done',
];
const CALL = (deltas: number): readonly string[] => [
  'response.output_item.added',
  ...Array.from({ length: deltas }, () => 'response.function_call_arguments.delta'),
  'response.function_call_arguments.done',
  'response.output_item.done',
];
const REASONING = ['response.output_item.added', 'response.output_item.done'];

const FULL: Chunks = [
  chunk({ role: 'assistant', content: null }),
  chunk({ reasoning_content: 'I think ' }),
  chunk({ reasoning_content: 'so.' }),
  text('Let me '),
  text('look.'),
  call(0, { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }),
  call(0, { function: { arguments: '{"a"' } }),
  call(0, { function: { arguments: ':1}' } }),
  finish('tool_calls'),
  usageChunk(),
  '[DONE]',
];

describe('the sequence', () => {
  test('[AA49] [AA50] reasoning, text and one call are exactly these events', async () => {
    const events = await eventsFor(FULL, TOOLS);
    assert.deepEqual(typesOf(events), [
      'response.created',
      'response.in_progress',
      ...REASONING,
      ...MESSAGE(2),
      ...CALL(2),
      'response.completed',
    ]);
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, i) => i),
    );
    const ids = outputOf(events).map(({ id }) => String(id));
    for (const [i, prefix] of ['rs_pg', 'msg_', 'fc_'].entries()) assert.match(ids[i] ?? '', new RegExp(`^${prefix}[A-Za-z0-9]+$`));
    const response = responseOf(events);
    assert.match(String(response.id), /^resp_[A-Za-z0-9]+$/);
    assert.deepEqual(
      [response.object, response.status, response.model, response.error, response.incomplete_details, response.tools],
      ['response', 'completed', 'model-a', null, null, [look]],
    );
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    assert.deepEqual(response.output, done);
    assert.deepEqual(
      done.map((item) => (item as JsonObject).status),
      ['completed', 'completed', 'completed'],
    );
    const added = events.filter(({ type }) => type === 'response.output_item.added');
    assert.deepEqual(
      added.map(({ output_index, item }) => [output_index, (item as JsonObject).status]),
      [0, 1, 2].map((i) => [i, 'in_progress']),
    );
    assert.deepEqual(done[2], {
      id: ids[2],
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'look',
      arguments: '{"a":1}',
    });
  });

  test('[AA55] the usage is the account’s', async () => {
    assert.deepEqual(responseOf(await eventsFor(HELLO)).usage, {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 27,
    });
  });

  test('[AA50] a summary that was asked for has its events', async () => {
    const events = await eventsFor([chunk({ reasoning: 'Hm' }), chunk({ reasoning: 'm.' }), text('Yes.'), ...ENDING], {
      reasoning: { summary: 'auto' },
    });
    assert.deepEqual(typesOf(events).slice(2), [
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      ...MESSAGE(1),
      'response.completed',
    ]);
    assert.deepEqual(outputOf(events)[0]?.summary, [{ type: 'summary_text', text: 'Hmm.' }]);
  });

  test('[AA50] a refusal has a part of its own, and citations are annotations', async () => {
    const citation = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 } };
    const events = await eventsFor([text('Hi'), chunk({ annotations: [citation] }), chunk({ refusal: 'No.' }), ...ENDING]);
    assert.deepEqual(typesOf(events).slice(2, -1), [
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.annotation.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.content_part.added',
      'response.refusal.delta',
      'response.refusal.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
    assert.deepEqual(outputOf(events)[0]?.content, [
      {
        type: 'output_text',
        text: 'Hi',
        annotations: [{ type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 }],
        logprobs: [],
      },
      { type: 'refusal', refusal: 'No.' },
    ]);
  });

  test('[AA27] [AA50] lowered calls come back as the client declared them', async () => {
    const tools: Json = [
      { type: 'custom', name: 'patch' },
      { type: 'namespace', name: 'files', tools: [look] },
      { type: 'local_shell' },
      { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } },
    ];
    const events = await eventsFor(
      [
        call(0, { id: 'a', function: { name: 'patch', arguments: '{"inp' } }),
        call(0, { function: { arguments: 'ut":"one \\u00' } }),
        call(0, { function: { arguments: 'e9\\ud83d' } }),
        call(0, { function: { arguments: '\\ude00\\n"}' } }),
        call(1, { id: 'b', function: { name: 'files__look', arguments: '{}' } }),
        call(2, { id: 'c', function: { name: 'local_shell', arguments: '{"command":["ls"],"timeout_ms":5}' } }),
        call(3, { id: 'd', function: { name: 'tool_search', arguments: '{"goal":"g"}' } }),
        call(4, { id: 'e', function: { name: 'elsewhere', arguments: '{}' } }),
        finish('tool_calls'),
        '[DONE]',
      ],
      { tools },
    );
    const output = outputOf(events).map(({ id: _, status: __, ...item }) => item);
    assert.deepEqual(output, [
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'one é😀\n' },
      { type: 'function_call', call_id: 'b', name: 'look', namespace: 'files', arguments: '{}' },
      { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 5 } },
      { type: 'tool_search_call', call_id: 'd', execution: 'client', arguments: { goal: 'g' } },
      { type: 'function_call', call_id: 'e', name: 'elsewhere', arguments: '{}' },
    ]);
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta').map(({ delta }) => delta);
    assert.equal(deltas.join(''), 'one é😀\n');
  });

  test('[AA27] the input of a custom call is the raw arguments where they are no such object', async () => {
    for (const [given, input] of [
      ['plain text', 'plain text'],
      ['{"other":1}', '{"other":1}'],
      ['{"note":"x","input":"y"}', 'y'],
      ['', ''],
      ['{"input":"a\\u0000b"}', 'a\0b'],
    ] as const) {
      const events = await eventsFor([call(0, { id: 'a', function: { name: 'patch', arguments: given } }), finish('stop'), '[DONE]'], {
        tools: [{ type: 'custom', name: 'patch' }],
      });
      assert.equal(outputOf(events)[0]?.input, input, given);
    }
  });
});

describe('items', () => {
  test('[AA51] text after a call is a new message, reasoning after text a further item', async () => {
    const chunks = [
      text('One.'),
      call(0, { id: 'a', function: { name: 'look', arguments: '{}' } }),
      chunk({ reasoning: 'Later.' }),
      text('Two.'),
      call(1, { id: 'b', function: { name: 'look', arguments: '{}' } }),
      finish('tool_calls'),
      '[DONE]',
    ];
    const output = outputOf(await eventsFor(chunks, TOOLS));
    assert.deepEqual(
      output.map(({ type }) => type),
      ['message', 'function_call', 'reasoning', 'message', 'function_call'],
    );
  });

  const spellings: readonly (readonly [string, JsonObject])[] = [
    ['reasoning_content', { reasoning_content: 'T' }],
    ['reasoning', { reasoning: 'T' }],
    ['thinking', { thinking: 'T' }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: 'T' }] }],
    ['the first of them', { reasoning: 'T', reasoning_details: [{ type: 'reasoning.text', text: 'other' }] }],
    ['a thinking part', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'T' }] }] }],
  ];
  for (const [title, delta] of spellings) {
    test(`[AA52] reasoning is read as ${title}`, async () => {
      const output = outputOf(await eventsFor([chunk(delta), text('x'), ...ENDING], { reasoning: { summary: 'auto' } }));
      assert.deepEqual(output[0]?.summary, [{ type: 'summary_text', text: 'T' }]);
    });
  }

  test('[AA52] content is a string, null or a list of parts', async () => {
    const output = outputOf(
      await eventsFor([
        chunk({ content: null }),
        chunk({
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
        text('c'),
        ...ENDING,
      ]),
    );
    assert.equal(textOf(output[0]), 'abc');
  });

  test('[AA52] think tags may be cut anywhere', async () => {
    await stage.configure({ account: { quirks: { think_tags: true } } });
    try {
      const all = '<think>Why <not?</think>\n\nBecause </think>.';
      for (const cut of sampleOf(Array.from({ length: all.length }, (_, i) => i))) {
        const output = outputOf(
          await eventsFor([text(all.slice(0, cut)), text(all.slice(cut)), ...ENDING], { reasoning: { summary: 'auto' } }),
        );
        assert.deepEqual(output[0]?.summary, [{ type: 'summary_text', text: 'Why <not?' }], String(cut));
        assert.equal(textOf(output[1]), 'Because </think>.', String(cut));
      }
      const plain = outputOf(await eventsFor([text('<thin'), text(' ice'), ...ENDING]));
      assert.equal(textOf(plain[0]), '<thin ice');
    } finally {
      await stage.configure({});
    }
  });

  test('[AA60] text that looks like a tool call is text', async () => {
    const said = '<tool_call>{"name":"look","arguments":{}}</tool_call>';
    const output = outputOf(await eventsFor([text(said), ...ENDING], TOOLS));
    assert.deepEqual(
      output.map(({ type }) => type),
      ['message'],
    );
  });
});

describe('calls', () => {
  const LONG = 'x'.repeat(65);
  /** The calls as `[call_id, arguments]`; `ours` replaces a call id that the gateway made. */
  const cases: readonly (readonly [string, Chunks, readonly (readonly [string, string])[]])[] = [
    [
      'by index, side by side',
      [
        call(0, { id: 'a', function: { name: 'look', arguments: '{' } }),
        call(1, { id: 'b', function: { name: 'look', arguments: '{"b":' } }),
        call(0, { function: { arguments: '}' } }),
        call(1, { function: { arguments: '1}' } }),
      ],
      [
        ['a', '{}'],
        ['b', '{"b":1}'],
      ],
    ],
    [
      'by id, without an index',
      [
        chunk({ tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{' } }] }),
        chunk({ tool_calls: [{ id: 'b', function: { name: 'look', arguments: '{"b":1}' } }] }),
        chunk({ tool_calls: [{ id: 'a', function: { arguments: '}' } }] }),
      ],
      [
        ['a', '{}'],
        ['b', '{"b":1}'],
      ],
    ],
    [
      'without both, the last one goes on',
      [
        chunk({ tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{' } }] }),
        chunk({ tool_calls: [{ function: { arguments: '}' } }] }),
      ],
      [['a', '{}']],
    ],
    [
      'a new id at a used index is a new call',
      [
        call(0, { id: 'a', function: { name: 'look', arguments: '{}' } }),
        call(0, { id: 'b', function: { name: 'look', arguments: '{"b":1}' } }),
      ],
      [
        ['a', '{}'],
        ['b', '{"b":1}'],
      ],
    ],
    ['a missing id becomes one of ours', [call(0, { function: { name: 'look', arguments: '{}' } })], [['ours', '{}']]],
    ['so does one over 64 characters', [call(0, { id: LONG, function: { name: 'look', arguments: '{}' } })], [['ours', '{}']]],
    [
      'repeated and empty names are ignored',
      [
        call(0, { id: 'a', function: { name: 'look', arguments: '{' } }),
        call(0, { id: 'a', function: { name: 'look', arguments: '' } }),
        call(0, { function: { name: '', arguments: '}' } }),
      ],
      [['a', '{}']],
    ],
    [
      'arguments before the name wait',
      [call(0, { id: 'a', function: { arguments: '{"a":' } }), call(0, { function: { name: 'look', arguments: '1}' } })],
      [['a', '{"a":1}']],
    ],
    [
      'another name without an id begins a new call',
      [
        chunk({ tool_calls: [{ id: '', function: { name: 'look', arguments: '{}' } }] }),
        chunk({ tool_calls: [{ id: '', function: { name: 'listen', arguments: '{"b":1}' } }] }),
      ],
      [
        ['ours', '{}'],
        ['ours', '{"b":1}'],
      ],
    ],
    [
      'so do arguments with the same name after complete ones, also at the same index and in one chunk',
      [
        chunk({
          tool_calls: [
            { index: 0, function: { name: 'look', arguments: '{}' } },
            { index: 0, function: { name: 'look', arguments: '{"b":1}' } },
          ],
        }),
        call(0, { function: { name: 'look', arguments: '{"c":1}' } }),
      ],
      [
        ['ours', '{}'],
        ['ours', '{"b":1}'],
        ['ours', '{"c":1}'],
      ],
    ],
    [
      'a name that is repeated with each piece of the arguments begins none',
      [
        call(0, { function: { name: 'look', arguments: '{"a"' } }),
        call(0, { function: { name: 'look', arguments: ':1}' } }),
        call(0, { function: { name: 'look', arguments: '' } }),
      ],
      [['ours', '{"a":1}']],
    ],
    ['arguments as an object', [call(0, { id: 'a', function: { name: 'look', arguments: { a: 1 } } })], [['a', '{"a":1}']]],
    [
      'arguments as an object, whose numbers keep their digits',
      [
        JSON.stringify(call(0, { id: 'a', function: { name: 'look', arguments: { id: 'ID', list: ['ID'] } } }))
          .replace('"ID"', '12345678901234567890')
          .replace('"ID"', '1e999'),
      ],
      [['a', '{"id":12345678901234567890,"list":[1e999]}']],
    ],
    ['arguments that are null', [call(0, { id: 'a', function: { name: 'look', arguments: null } })], [['a', '{}']]],
    ['no arguments at all', [call(0, { id: 'a', function: { name: 'look' } })], [['a', '{}']]],
    ['arguments pass unchecked', [call(0, { id: 'a', function: { name: 'look', arguments: '{broken' } })], [['a', '{broken']]],
    [
      'a legacy function_call',
      [chunk({ function_call: { name: 'look', arguments: '{' } }), chunk({ function_call: { arguments: '}' } })],
      [['ours', '{}']],
    ],
  ];
  for (const [title, chunks, expected] of cases) {
    test(`[AA53] ${title}`, async () => {
      const output = outputOf(await eventsFor([...chunks, finish('tool_calls'), '[DONE]'], TOOLS));
      const got = output.map(({ call_id: id, arguments: given }) => [/^call_[A-Za-z0-9]{32}$/.test(String(id)) ? 'ours' : id, given]);
      assert.deepEqual(got, expected);
    });
  }

  test('[AA53] calls without arguments have one delta with them', async () => {
    assert.deepEqual(await typesFor([call(0, { id: 'a', function: { name: 'look' } }), finish('stop'), '[DONE]'], TOOLS), [
      ...CALL(1),
      'response.completed',
    ]);
  });
});

describe('the end', () => {
  const COMPLETED = ['stop', 'tool_calls', 'function_call', 'eos', 'something_new'];
  for (const reason of COMPLETED) {
    test(`[AA54] ${reason} after output is completed`, async () => {
      const events = await eventsFor([text('Hi'), finish(reason), '[DONE]']);
      assert.equal(events.at(-1)?.type, 'response.completed');
    });
  }
  for (const reason of ['length', 'max_tokens', 'model_length', 'content_filter', 'safety']) {
    test(`[AA54] ${reason} is incomplete, and so are the items that were open`, async () => {
      const events = await eventsFor([text('Hi'), finish(reason), '[DONE]']);
      const response = responseOf(events);
      const word = reason === 'content_filter' || reason === 'safety' ? 'content_filter' : 'max_output_tokens';
      assert.deepEqual([events.at(-1)?.type, response.incomplete_details], ['response.incomplete', { reason: word }]);
      assert.equal(outputOf(events)[0]?.status, 'incomplete');
    });
  }
  for (const reason of ['abort', 'network_error', 'cancelled', 'error', 'insufficient_system_resource']) {
    test(`[AA54] ${reason} is a failure of the server`, async () => {
      const after = await eventsFor([text('Hi'), finish(reason), '[DONE]']);
      assert.equal(after.at(-1)?.type, 'response.failed');
      assert.equal((responseOf(after).error as JsonObject).code, 'upstream_error');
      await failsBefore(streamed([finish(reason), '[DONE]']));
    });
  }
  test('[AA54] an unknown word before output is a failure of the server', async () => {
    await failsBefore(streamed([finish('something_new'), '[DONE]']));
  });
  test('[AA54] an end without an item is completed, but for [DONE] alone', async () => {
    for (const reason of ['stop', 'tool_calls']) {
      const events = await eventsFor([finish(reason), '[DONE]']);
      assert.deepEqual([events.at(-1)?.type, responseOf(events).output], ['response.completed', []]);
    }
    await failsBefore(streamed([chunk({ role: 'assistant' }), '[DONE]']));
  });
  test('[AA54] without a finish reason [DONE] completes text and whole calls, and nothing else', async () => {
    assert.equal((await eventsFor([text('Hi'), '[DONE]'])).at(-1)?.type, 'response.completed');
    const whole = call(0, { id: 'a', function: { name: 'look', arguments: '{"a":1}' } });
    assert.equal((await eventsFor([whole, '[DONE]'], TOOLS)).at(-1)?.type, 'response.completed');
    const cut = call(0, { id: 'a', function: { name: 'look', arguments: '{"a":' } });
    assert.equal((await eventsFor([cut, '[DONE]'], TOOLS)).at(-1)?.type, 'response.failed');
  });
  test('[AA54] a body that ends without both is a dead connection: nothing is invented', async () => {
    const events = await eventsFor([text('Hi')]);
    assert.deepEqual(typesOf(events).slice(2), ['response.output_item.added', 'response.content_part.added', 'response.output_text.delta']);
    await failsBefore(streamed([chunk({ role: 'assistant' })]));
  });
});

describe('usage', () => {
  const cases: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['with empty choices', [finish('stop'), usageChunk()]],
    ['with null choices', [finish('stop'), usageChunk(USAGE, null)]],
    ['beside the finish', [{ ...finish('stop'), usage: USAGE }]],
    ['in x_groq', [{ ...finish('stop'), x_groq: { usage: USAGE } }]],
    [
      'with each chunk, of which the last one counts',
      [{ ...text('x'), usage: { ...USAGE, completion_tokens: 1 } }, finish('stop'), usageChunk()],
    ],
  ];
  for (const [title, chunks] of cases) {
    test(`[AA55] is read ${title}`, async () => {
      const { input_tokens, output_tokens, estimated } = responseOf(await eventsFor([text('Hi'), ...chunks, '[DONE]'])).usage as JsonObject;
      assert.deepEqual([input_tokens, output_tokens, estimated], [20, 7, undefined]);
    });
  }
  test('[AA55] has no more cached tokens than input', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27, prompt_tokens_details: { cached_tokens: 768 } };
    const { input_tokens_details } = responseOf(await eventsFor([text('Hi'), usageChunk(usage), '[DONE]'])).usage as JsonObject;
    assert.deepEqual(input_tokens_details, { cached_tokens: 20 });
  });
  const wrong: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['missing', []],
    ['not whole', [usageChunk({ prompt_tokens: 20 })]],
    ['negative', [usageChunk({ prompt_tokens: 20, completion_tokens: -1, total_tokens: 19 })]],
    ['without output beside visible output', [usageChunk({ prompt_tokens: 20, completion_tokens: 0, total_tokens: 20 })]],
  ];
  for (const [title, chunks] of wrong) {
    test(`[AA56] is estimated where it is ${title}`, async () => {
      const reply = await stage.reply(
        streamed([
          chunk({ reasoning: '12345678' }),
          text('1234'),
          call(0, { id: 'a', function: { name: 'look', arguments: '{"a":1 }' } }),
          finish('stop'),
          ...chunks,
          '[DONE]',
        ]),
        {
          ...TOOLS,
          input: [user('x'.repeat(40))],
        },
      );
      const { input_tokens, output_tokens, total_tokens, estimated } = responseOf(reply.events).usage as JsonObject;
      assert.deepEqual([input_tokens, output_tokens, total_tokens, estimated], [10, 5, 15, true]);
      assert.equal((await stage.gate.row(reply))?.tokens_estimated, true);
    });
  }
});

describe('framing', () => {
  const data = (value: JsonObject | string): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const lines = (eol: string, prefix = 'data: '): string => HELLO.map((one) => `${prefix}${data(one)}${eol}${eol}`).join('');
  const forms: readonly (readonly [string, string])[] = [
    ['LF', lines('\n')],
    ['CRLF', lines('\r\n')],
    ['CR', lines('\r')],
    ['no space', lines('\n', 'data:')],
    [
      'several data lines',
      HELLO.map((one) =>
        typeof one === 'string' ? `data: ${one}\n\n` : `data: ${JSON.stringify(one, null, 1).split('\n').join('\ndata: ')}\n\n`,
      ).join(''),
    ],
    ['empty data', HELLO.map((one) => `data:\n\ndata: ${data(one)}\n\n`).join('')],
    [
      'comments, events and ids',
      HELLO.map((one, i) => `: OPENROUTER PROCESSING\n\nevent: chunk\nid: ${i}\ndata: ${data(one)}\n\n`).join(''),
    ],
    ['a byte-order mark', `\ufeff${lines('\n')}`],
    ['chunks without choices', `data: {"id":"x"}\n\n${lines('\n')}`],
  ];
  for (const [title, bytes] of forms) {
    test(`[AA57] ${title}`, async () => {
      const { events, text: got } = await stage.reply(raw(bytes));
      assert.equal(events.at(-1)?.type, 'response.completed', got);
      assert.equal(textOf(outputOf(events)[0]), 'hello brave new world');
    });
  }

  /** The events without their random ids and times. */
  const plain = (events: readonly JsonObject[]): unknown =>
    JSON.parse(
      JSON.stringify(events)
        .replace(/"(?:resp|msg|rs|fc|ctc|call)_[A-Za-z0-9]{20,}"/g, '"id"')
        .replace(/"created_at":\d+/g, '""'.replace('""', '"created_at":0')),
    );

  test('[AA57] every division of the bytes gives the same events', async () => {
    const bytes = Buffer.from(framed(FULL).replace('Let me', 'Lét 😀 me'));
    const expected = plain((await stage.reply(raw(bytes), TOOLS)).events);
    for (const cut of sampleOf(Array.from({ length: bytes.length - 1 }, (_, i) => i + 1)).slice(0, 150)) {
      const cutAt = (response: import('node:http').ServerResponse): void => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(bytes.subarray(0, cut));
        setImmediate(() => response.end(bytes.subarray(cut)));
      };
      assert.deepEqual(plain((await stage.reply(cutAt, TOOLS)).events), expected, `cut at ${cut}`);
    }
    assert.deepEqual(plain((await stage.reply(raw(bytes, { pieces: 1 }), TOOLS)).events), expected);
  });

  test('[AA57] data that is no JSON object is malformed', async () => {
    await failsBefore(streamed(['nonsense']));
    // A native stream that fails after output ends where it failed (Q17).
    await assert.rejects(stage.reply(streamed([text('Hi'), '[1]', ...ENDING])));
  });

  const COMPLETION: JsonObject = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Hi',
          reasoning: 'T',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } },
            { id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } },
          ],
        },
      },
    ],
    usage: USAGE,
  };

  test('[AA58] a whole completion is made into the same events, each item in one delta', async () => {
    assert.deepEqual(typesOf((await stage.reply(answers(200, COMPLETION), TOOLS)).events), [
      'response.created',
      'response.in_progress',
      ...REASONING,
      ...MESSAGE(1).slice(0, -3),
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  test('[AA53] [AA58] arguments of a whole completion may be an object, whose numbers keep their digits', async () => {
    const given = { id: 'a', type: 'function', function: { name: 'look', arguments: { id: 'ID' } } };
    const choice = { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [given] } };
    const body = JSON.stringify({ object: 'chat.completion', choices: [choice], usage: USAGE }).replace('"ID"', '12345678901234567890');
    const { events } = await stage.reply(answers(200, body), TOOLS);
    assert.deepEqual(
      outputOf(events).map(({ arguments: text }) => text),
      ['{"id":12345678901234567890}'],
    );
  });

  test('[AA53] [AA58] each call of a whole completion is a call, although all have one index and no ids', async () => {
    const given = { index: 0, type: 'function', function: { name: 'look', arguments: '{}' } };
    const choice = { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [given, given] } };
    const { events } = await stage.reply(answers(200, { object: 'chat.completion', choices: [choice], usage: USAGE }), TOOLS);
    assert.deepEqual(
      outputOf(events).map(({ type, arguments: text }) => [type, text]),
      [
        ['function_call', '{}'],
        ['function_call', '{}'],
      ],
    );
  });
  test('[AA58] so is the answer where no stream was requested', async () => {
    await stage.configure({ account: { quirks: { stream: 'never' } } });
    try {
      const { events } = await stage.reply(answers(200, COMPLETION), TOOLS);
      assert.equal(events.at(-1)?.type, 'response.completed');
      assert.equal(stage.platform.requests[0]?.json.stream, false);
    } finally {
      await stage.configure({});
    }
  });

  test('[AA58] HTML, another type and an empty answer are failures of the server', async () => {
    for (const [type, body] of [
      ['text/html', '<html><body>Login</body></html>'],
      ['text/plain', 'hello'],
      ['text/event-stream', ''],
      ['application/json', '{"hello":"world"}'],
    ] as const) {
      await failsBefore(raw(body, { type }), type);
    }
  });
});

describe('errors inside a 200', () => {
  const errors: readonly (readonly [string, Json, string])[] = [
    ['an error member', { error: { message: 'no', code: 429 } }, 'rate_limit_exceeded'],
    ['an error object', { object: 'error', message: 'no', code: 500 }, 'upstream_error'],
    ['an error in the choice', { choices: [{ index: 0, delta: {}, error: { message: 'no', code: 502 } }] }, 'upstream_error'],
    ['a full context', { error: { message: 'no', code: 'context_length_exceeded', status: 400 } }, 'context_length_exceeded'],
    ['a quota', { error: { message: 'no', code: 'insufficient_quota' } }, 'usage_limit_reached'],
    ['a text', { error: 'no' }, 'upstream_error'],
  ];
  for (const [title, error, code] of errors) {
    test(`[AA59] ${title} after output is response.failed`, async () => {
      const { events } = await stage.reply(streamed([text('Hi'), error as JsonObject, text('ignored'), ...ENDING]));
      const last = events.at(-1) as JsonObject;
      assert.deepEqual([last.type, ((last.response as JsonObject).error as JsonObject).code], ['response.failed', code]);
    });
  }

  for (const [title, error] of [
    ['the status 529', { code: 529, message: 'no' }],
    ['a type', { type: 'overloaded_error', message: 'no' }],
    ['a code', { code: 'service_unavailable', message: 'no' }],
  ] as const) {
    test(`[AM16] [AA59] an overload after output, in ${title}, is overloaded_error for clients of Messages, and 529 without a stream`, async () => {
      for (const stream of [true, false]) {
        stage.platform.next.push(streamed([text('Hi'), { error }]));
        const body = { model: 'model-a', max_tokens: 100, stream, messages: [{ role: 'user', content: 'hi' }] };
        const { status, text: sent, json } = await stage.gate.send('/v1/messages', { body });
        const last = stream ? eventsOf(sent).at(-1)?.data : json;
        assert.deepEqual([status, last.error.type], [stream ? 200 : 529, 'overloaded_error'], sent);
      }
    });
  }

  test('[AA59] an event named error', async () => {
    const { events } = await stage.reply(raw(`${framed([text('Hi')])}event: error\ndata: {"message":"no"}\n\n`));
    assert.equal(events.at(-1)?.type, 'response.failed');
  });
});

test('[AA63] [AA59] a native client reads of an error before output in the form of the error table', async () => {
  const shown = { message: 'slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null };
  const error = { code: 429, message: 'slow down', metadata: { provider_name: 'Acme', raw: 'user_123456' } };
  const { events } = await stage.reply(streamed([{ error }]));
  assert.deepEqual([events.at(-1)?.type, responseOf(events).error], ['response.failed', shown]);
});

test('[AA50] public clients get the same events', async () => {
  stage.platform.next.push(streamed(FULL));
  const reply = await stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true, ...TOOLS } });
  assert.deepEqual(
    typesOf(translatedEvents(reply.text)).filter((type) => type !== 'undefined'),
    ['response.created', 'response.in_progress', ...REASONING, ...MESSAGE(2), ...CALL(2), 'response.completed'],
  );
});
