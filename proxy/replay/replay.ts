// Replays a recording through a gateway, and reports the differences from the direct conversation on both sides of the gateway.
import type { Fixture } from '../recording/fixture.ts';
import { asList, isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import { type ConversationExchange, replayConversation } from './conversation.ts';
import { type Difference, eventDifferences, type Found, headerDifferences, jsonDifferences } from './differences.ts';
import { intendedReason } from './intended.ts';
import { startReplayGateway } from './replay-gateway.ts';
import { ScriptedAccount } from './scripted-account.ts';
import { type Received, sendExchange } from './scripted-client.ts';

export interface ReplayedDifference extends Difference {
  /** The index of the exchange in the recording. */
  readonly exchange: number;
  /** How often the difference occurs in the exchange. */
  readonly times: number;
  /** The statement that demands the difference; absent if it is unexpected. */
  readonly clause?: string;
  readonly why?: string;
}

export interface ReplayReport {
  readonly exchanges: number;
  readonly differences: readonly ReplayedDifference[];
}

export async function replay(fixture: Fixture): Promise<ReplayReport> {
  const conversation = replayConversation(fixture, Math.floor(Date.now() / 1000));
  const account = new ScriptedAccount(modelsOf(conversation));
  await account.listen();
  const gateway = await startReplayGateway(account.url, conversation);
  const differences: ReplayedDifference[] = [];
  try {
    for (const [index, exchange] of conversation.entries()) {
      account.play(exchange);
      const received = await sendExchange(exchange, gateway);
      const found = [...requestDifferences(exchange, account, received), ...answerDifferences(exchange, received)];
      differences.push(
        ...counted(found).map((difference) => ({ exchange: index, ...difference, ...intendedReason(difference, exchange) })),
      );
    }
  } finally {
    await gateway.close();
    await account.close();
  }
  return { exchanges: conversation.length, differences };
}

/** Whether the gateway answers the exchange without its account. */
const isOwnAnswer = ({ method, path }: ConversationExchange): boolean =>
  method === 'GET' && /\/(models|usage|files[^/]*)$/.test(path.split('?')[0] ?? '');

function requestDifferences(exchange: ConversationExchange, account: ScriptedAccount, received: Received): readonly Difference[] {
  const { arrivals, frames } = account;
  const own = isOwnAnswer(exchange);
  const [arrival] = arrivals;
  const isRefused = (received.status ?? 0) >= 400 && received.status === exchange.answer?.status;
  if (arrival === undefined) return own ? [] : [{ side: 'request', place: isRefused ? 'refused request' : 'request', kind: 'removed' }];
  const found: Found[] = [
    ...jsonDifferences(pathOf(exchange.path), pathOf(arrival.path), 'path'),
    ...headerDifferences(exchange.headers, arrival.headers),
  ];
  if (exchange.method === 'WS') {
    const sent = exchange.frames.flatMap(({ from, json }) => (from === 'client' && json !== undefined ? [json] : []));
    found.push(...eventDifferences(sent, frames));
  } else found.push(...jsonDifferences(exchange.body?.json, arrival.json, 'body'));
  if (arrivals.length > 1 && exchange.method !== 'WS')
    found.push({ place: 'request', kind: 'added', replayed: `${arrivals.length} requests` });
  return found.map((one) => ({ side: 'request', ...one }));
}

const pathOf = (url: string): string => url.split('?')[0] ?? '';

function answerDifferences({ answer, frames, method, surface, end }: ConversationExchange, received: Received): readonly Difference[] {
  const found: Found[] = [
    ...jsonDifferences(answer?.status, received.status, 'status'),
    ...headerDifferences(answer?.headers ?? [], received.headers),
  ];
  if (received.cut !== undefined) found.push(...jsonDifferences(end === 'cut', received.cut, 'cut'));
  if (method === 'WS' && answer?.status === 101) {
    const sent = frames.flatMap(({ from, json }) => (from === 'account' && json !== undefined ? [json] : []));
    found.push(...eventDifferences(sent, received.frames));
    if (received.overdue !== undefined) found.push({ place: `event ${received.overdue}`, kind: 'removed', recorded: 'in time' });
  } else {
    const events = answer?.body?.events;
    if (events && surface !== 'chat')
      found.push(
        ...eventDifferences(
          events.map(({ data }) => data),
          received.body?.events?.map(({ data }) => data) ?? [],
        ),
      );
    else if (events)
      found.push(
        ...shapeDifferences(
          events.map(({ data }) => data),
          received.body?.events?.map(({ data }) => data) ?? [],
        ),
      );
    else found.push(...jsonDifferences(answer?.body?.json, received.body?.json, 'body'));
  }
  return found.map((one) => ({ side: 'answer', ...one }));
}

/** Differences between Chat chunks. The gateway makes them, so their number may differ, but not their members. */
function shapeDifferences(recorded: readonly Json[], replayed: readonly Json[]): readonly Found[] {
  const shape = (chunks: readonly Json[]): Json =>
    Object.fromEntries(
      chunks
        .flatMap((chunk) => members(chunk, ''))
        .map((name) => [name, true])
        .sort(),
    );
  return jsonDifferences(shape(recorded), shape(replayed), 'event chunk');
}

function members(value: Json, place: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((element) => members(element, `${place}.*`));
  if (!isObject(value)) return [place];
  return Object.entries(value).flatMap(([name, member]) => members(member ?? null, `${place}.${name}`));
}

function counted(found: readonly Difference[]): readonly (Difference & { readonly times: number })[] {
  const byPlace = new Map<string, Difference & { readonly times: number }>();
  for (const one of found) {
    const key = `${one.side} ${one.place} ${one.kind}`;
    byPlace.set(key, { ...one, ...byPlace.get(key), times: (byPlace.get(key)?.times ?? 0) + 1 });
  }
  return [...byPlace.values()];
}

/** The recorded catalog, with an entry for each other model that turns or lists name. */
function modelsOf(conversation: readonly ConversationExchange[]): readonly JsonObject[] {
  const bodies = conversation.flatMap(({ body, frames }) => [
    body?.json,
    ...frames.flatMap(({ from, json }) => (from === 'client' ? [json] : [])),
  ]);
  const answers = conversation.flatMap(({ answer }) => (isObject(answer?.body?.json) ? [answer.body.json] : []));
  const recorded = answers.map(({ models }) => asList(models).filter(isObject)).find((models) => models.length > 0) ?? [];
  const listed = answers.flatMap(({ data }) => asList(data).filter(isObject)).filter(({ object }) => object === 'model');
  const refused = conversation.filter(({ answer }) => answer !== undefined && answer.status >= 400).map(({ body }) => body);
  const named = bodies
    .filter((body) => isObject(body) && !refused.some((one) => one?.json === body))
    .map((body) => (isObject(body) ? body.model : ''));
  const slugs = new Set([...listed.map(({ id }) => id), ...named].filter((slug) => typeof slug === 'string' && slug !== ''));
  for (const { slug } of recorded) slugs.delete(String(slug));
  return [...recorded, ...[...slugs].map((slug) => ({ ...ENTRY, slug, display_name: slug }) as JsonObject)];
}

const ENTRY: JsonObject = {
  description: '',
  supported_reasoning_levels: [],
  shell_type: 'shell_command',
  visibility: 'list',
  supported_in_api: true,
  priority: 1,
  support_verbosity: true,
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  experimental_supported_tools: [],
  base_instructions: '',
  context_window: 272_000,
  max_context_window: 272_000,
  effective_context_window_percent: 95,
  use_responses_lite: false,
};
