// What an account delivers in one attempt, and how a turn that ends with it is settled (Q18).
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { ReceivedRequest } from '../../../proxy/rehearsal/received-request.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RandomSource } from '../../rules/dialect/bodies.ts';
import type { Script } from '../../support/rehearsal.ts';
import { replyBytes, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';

/** The tokens that the provider states; null means not stated. */
export interface Stated {
  readonly input: number;
  readonly cached: number | null;
  readonly output: number;
}

export type Settled =
  | { readonly as: 'stated'; readonly tokens: Stated }
  /** `held`: the reply was complete, so the reservation still counts. */
  | { readonly as: 'unknown'; readonly held: boolean }
  /** The usage is the estimate of the prompt and of the output that was relayed. */
  | { readonly as: 'estimated'; readonly shown: string };

export interface Delivery {
  readonly script: (request: ReceivedRequest) => Script;
  readonly settled: Settled;
}

/** The form of a reply. */
export type Shape =
  | 'events'
  | 'json'
  | 'compaction'
  | 'image'
  | 'image events'
  | 'hosted image'
  | 'transcript'
  | 'transcript text'
  | 'opaque';

/** How a client leaves a turn before its end. */
export type Leaving = 'at once' | 'after output';

/** Ends the visible output of a turn, so that its client can detect the end. */
export const lastWord = (id: number): string => `the end of ${id}`;

const texts = (id: number): readonly string[] => ['Grüße "an"\n\t😀 \\alle: ', lastWord(id)];

const BROKEN_BODY = { kind: 'cut', at: { bytes: 5 } } as const;

/** A failure without stated usage counts nothing, in any form. */
const FAILED: Settled = { as: 'unknown', held: false };

const usageOf = ({ input, cached, output }: Stated): JsonObject => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  total_tokens: input + output,
});

function tokensFrom(random: RandomSource, { cached }: { readonly cached: boolean }): Stated {
  const number = (): number => (random.roll() < 0.1 ? 0 : Math.floor(random.roll() * 900));
  // Some providers have stated more cached tokens than input tokens.
  return { input: number(), cached: cached ? number() : null, output: number() };
}

/** An attempt that fails so that another one may follow. */
export function failing(random: RandomSource, shape: Shape): Delivery {
  const early: Script = [eventsReply(0, undefined), { kind: 'cut', at: { events: 1 } }];
  const scripts: readonly Script[] = [
    'refuse 503',
    'refuse 429 rate_limit_exceeded',
    'cut before headers',
    ...(shape === 'events' ? [early, 'refuse inside', 'refuse inside as error'] : []),
  ];
  const script = random.pick(scripts);
  return { script: () => script, settled: FAILED };
}

/** The last attempt of a turn whose client leaves. */
export function left(shape: Shape, id: number, leaving: Leaving): Delivery {
  const reply = shape === 'events' ? eventsReply(id, undefined) : replyJson({ any: 'answer' });
  if (leaving === 'at once') {
    return { script: () => [reply, { kind: 'stall', at: 'before-headers' }], settled: { as: 'estimated', shown: '' } };
  }
  return { script: () => [reply, { kind: 'stall', at: { events: 3 } }], settled: { as: 'estimated', shown: texts(id).join('') } };
}

/** A stream that stalls after its output, and is complete when it continues. */
export function paused(random: RandomSource, id: number): { readonly whole: Delivery; readonly broken: Delivery } {
  const tokens = tokensFrom(random, { cached: true });
  const script = (): Script => [eventsReply(id, tokens), { kind: 'stall', at: { events: 3 } }];
  return {
    whole: { script, settled: { as: 'stated', tokens } },
    broken: { script, settled: { as: 'estimated', shown: texts(id).join('') } },
  };
}

/** The delivery of a prewarm, which has no output: tokens that are not stated count as zero. */
export function prewarmed(random: RandomSource, id: number): Delivery {
  const tokens = random.pick([undefined, { input: Math.floor(random.roll() * 900), cached: 0, output: 0 }]);
  const response = { id: responseId(id), object: 'response', output: [] };
  const reply = replyEvents([
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
    {
      type: 'response.completed',
      sequence_number: 1,
      response: { ...response, status: 'completed', usage: tokens ? usageOf(tokens) : null },
    },
  ]);
  return { script: () => reply, settled: { as: 'stated', tokens: tokens ?? { input: 0, cached: 0, output: 0 } } };
}

/** The last attempt of a turn whose client stays. @param endsCleanly whether a reply may end without its terminal event */
export function ending(
  random: RandomSource,
  shape: Shape,
  { id, endsCleanly }: { readonly id: number; readonly endsCleanly: boolean },
): Delivery {
  const tokens = tokensFrom(random, { cached: shape !== 'transcript' });
  const stated: Settled = { as: 'stated', tokens };
  const unknown: Settled = { as: 'unknown', held: true };
  const always = (script: Script, settled: Settled): Delivery => ({ script: () => script, settled });
  switch (shape) {
    case 'events': {
      const shown: Settled = { as: 'estimated', shown: texts(id).join('') };
      return random.pick([
        always(eventsReply(id, tokens), stated),
        always(eventsReply(id, tokens), stated),
        always(eventsReply(id, tokens, 'incomplete'), stated),
        always(eventsReply(id, tokens, 'failed'), stated),
        always(eventsReply(id, undefined, 'failed'), FAILED),
        always(eventsReply(id, undefined), unknown),
        always([eventsReply(id, tokens), { kind: 'cut', at: { events: 3 } }], shown),
        ...(endsCleanly ? [always(eventsReply(id, tokens, 'missing'), shown)] : []),
      ]);
    }
    case 'json': {
      const answer = (usage: Json): Script => replyJson({ id: responseId(id), object: 'response', status: 'completed', output: [], usage });
      return random.pick([
        always(answer(usageOf(tokens)), stated),
        always(answer(null), unknown),
        always([answer(null), BROKEN_BODY].flat() as Script, FAILED),
      ]);
    }
    case 'compaction':
      return random.pick([
        { script: (request: ReceivedRequest) => compactionReply(request, id, usageOf(tokens)), settled: stated },
        { script: (request: ReceivedRequest) => compactionReply(request, id, null), settled: unknown },
        {
          script: (request: ReceivedRequest) => [compactionReply(request, id, usageOf(tokens)), BROKEN_BODY].flat() as Script,
          settled: FAILED,
        },
      ]);
    case 'image': {
      const reply = replyJson({ created: 1, data: [{ b64_json: PNG }], usage: usageOf(tokens) });
      return random.pick([always(reply, stated), always([reply, BROKEN_BODY], FAILED)]);
    }
    case 'image events':
      return random.pick([
        always(imageEvents(usageOf(tokens)), stated),
        always([imageEvents(usageOf(tokens)), { kind: 'cut', at: { events: 1 } }], { as: 'estimated', shown: '' } as const),
      ]);
    case 'hosted image': {
      const images = tokensFrom(random, { cached: false });
      const sum = { input: tokens.input + images.input, cached: tokens.cached, output: tokens.output + images.output };
      return always(hostedImage(id, usageOf(tokens), { image_gen: { input_tokens: images.input, output_tokens: images.output } }), {
        as: 'stated',
        tokens: sum,
      });
    }
    case 'transcript': {
      const { input, output } = tokens;
      const usage = { type: 'tokens', input_tokens: input, output_tokens: output };
      return random.pick([
        always(replyJson({ text: 'said', usage }), stated),
        always(replyJson({ text: 'said' }), FAILED),
        always([replyJson({ text: 'said', usage }), BROKEN_BODY], FAILED),
      ]);
    }
    case 'transcript text':
      return always(replyBytes('said', { headers: { 'content-type': 'text/plain' } }), FAILED);
    case 'opaque':
      return { script: () => [], settled: FAILED };
  }
}

export const responseId = (id: number): string => `resp_${id}`;

/** Two text deltas between the beginning and the end. Without tokens the usage is null. */
function eventsReply(id: number, tokens: Stated | undefined, end: 'completed' | 'incomplete' | 'failed' | 'missing' = 'completed') {
  const response = { id: responseId(id), object: 'response', model: 'model-a', output: [] };
  const usage = tokens === undefined ? null : usageOf(tokens);
  const error = end === 'failed' ? { code: 'server_error', message: 'It failed.' } : null;
  const last = {
    ...response,
    status: end,
    error,
    usage,
    ...(end === 'incomplete' ? { incomplete_details: { reason: 'max_output_tokens' } } : {}),
  };
  const events: JsonObject[] = [
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
    ...texts(id).map((delta, i) => ({
      type: 'response.output_text.delta',
      sequence_number: i + 1,
      item_id: 'msg_1',
      output_index: 0,
      delta,
    })),
    ...(end === 'missing' ? [] : [{ type: `response.${end}`, sequence_number: 3, response: last }]),
  ];
  return replyEvents(events);
}

/** The reply to a compaction: one body on the compact path, elsewhere the events of a turn. */
export function compactionReply({ path }: Pick<ReceivedRequest, 'path'>, id: number, usage: Json): Script {
  const item = { type: 'compaction', id: `cmp_${id}`, encrypted_content: `sealed-${id}` };
  const response = { id: responseId(id), created_at: 7, output: [item], usage };
  if (path.endsWith('/compact')) return replyJson({ ...response, object: 'response.compaction' });
  return replyEvents([
    { type: 'response.created', sequence_number: 0, response: { id: responseId(id), output: [] } },
    { type: 'response.output_item.done', sequence_number: 1, output_index: 0, item },
    { type: 'response.completed', sequence_number: 2, response: { ...response, object: 'response', status: 'completed' } },
  ]);
}

const imageEvents = (usage: JsonObject) =>
  replyEvents([
    { type: 'image_generation.partial_image', partial_image_index: 0, b64_json: PNG },
    { type: 'image_generation.completed', b64_json: PNG, usage },
  ]);

function hostedImage(id: number, usage: JsonObject, tool_usage: JsonObject): Script {
  const item = { type: 'image_generation_call', id: `ig_${id}`, status: 'completed', result: PNG };
  const response = { id: responseId(id), object: 'response', status: 'completed', output: [item], usage, tool_usage };
  return replyEvents([
    { type: 'response.created', sequence_number: 0, response: { id: responseId(id), output: [] } },
    { type: 'response.output_item.done', sequence_number: 1, output_index: 0, item },
    { type: 'response.completed', sequence_number: 2, response },
  ]);
}
