// The endpoints of a simulated account of another API, below /v1. Its preset's `serves` decides which of them exist (AA90).
import type { JsonObject } from '../../turn/json/json.ts';
import { jsonAnswer, type RefusalForm, type SimulatedAnswer, withContentFaults } from '../delivery/answer.ts';
import { Endpoints, type RequestContext, type SimulatedEndpoint } from '../endpoint-table.ts';
import type { Fault, RefuseFault } from '../faults/fault.ts';
import { simulatedRefusal } from '../faults/upgrade-refusals.ts';
import { transcript } from '../model/simulated-transcript.ts';
import { objectBody } from '../request-refusals.ts';
import type { ApiSettings } from './api-settings.ts';
import { chatAnswer } from './chat/chat-answer.ts';
import { withChatFaults } from './chat/chat-faults.ts';
import { compactAnswer, responsesAnswer, responsesFrame } from './responses/responses-answer.ts';
import { embeddings } from './simulated-embeddings.ts';
import { imageAnswer } from './simulated-images.ts';
import { listedModels, loadedModels, modelList, serverProps } from './simulated-model-lists.ts';
import { uploadedFile } from './uploaded-files.ts';

/** The path of the account's base URL. */
export const API_PREFIX = '/v1';

const TRANSCRIPTION = {
  models: ['gpt-4o-transcribe', 'whisper-1', 'whisper-large-v3'],
  unnamed: false,
  unknown: ['keywords', 'languages'],
};

export function apiEndpoints(settings: ApiSettings): Endpoints {
  const { api, serves, list, compact, websocket } = settings;
  const rows: (readonly [string, SimulatedEndpoint])[] = [
    [`GET ${API_PREFIX}/models`, read(({ catalog }) => modelList(listedModels(catalog, settings), list))],
  ];
  const turn = (name: string, answer: SimulatedEndpoint['answer'], withFaults?: SimulatedEndpoint['withFaults']): void =>
    void rows.push([`${name.replace(' ', ` ${API_PREFIX}`)}`, stated({ answer, isTurn: true, ...(withFaults ? { withFaults } : {}) })]);
  if (list === 'lmstudio') rows.push(['GET /api/v0/models', read(({ catalog }) => loadedModels(listedModels(catalog, settings)))]);
  if (list === 'llamacpp') rows.push(['GET /props', read(({ catalog }) => serverProps(listedModels(catalog, settings)))]);
  if (serves.includes('turns')) {
    if (api === 'chat') turn('POST /chat/completions', (context, faults) => chatAnswer(context, settings, faults), withChatFaults);
    else {
      turn('POST /responses', (context, faults) => responsesAnswer(context, settings, faults));
      rows.push([
        `UPGRADE ${API_PREFIX}/responses`,
        stated({ answer: () => (websocket ? SWITCHED : simulatedRefusal(404)), isTurn: false }),
      ]);
      rows.push([
        `WS ${API_PREFIX}/responses`,
        withApiCodes({ answer: (context) => responsesFrame(context, settings), isTurn: true, isFrame: true }),
      ]);
    }
  }
  if (serves.includes('compact') && compact === 'route') turn('POST /responses/compact', (context) => compactAnswer(context, settings));
  if (serves.includes('embeddings')) turn('POST /embeddings', ({ request }) => jsonAnswer(200, embeddings(objectBody(request.json))));
  if (serves.includes('images')) {
    turn('POST /images/generations', (context) => imageAnswer(context.request, 'generations', context.now));
    turn('POST /images/edits', (context) => imageAnswer(context.request, 'edits', context.now));
  }
  if (serves.includes('transcriptions')) turn('POST /audio/transcriptions', ({ request }) => transcript(request, TRANSCRIPTION));
  if (serves.includes('files')) {
    turn('POST /files', ({ request, account, ids, now }) =>
      uploadedFile(request, account.files, account.bind('file', ids.nextNumber()), now),
    );
  }
  return new Endpoints(rows);
}

const SWITCHED: SimulatedAnswer = { status: 101, headers: {}, body: { kind: 'bytes', bytes: Buffer.alloc(0) } };

const read = (body: (context: RequestContext) => JsonObject): SimulatedEndpoint =>
  stated({ answer: (context) => jsonAnswer(200, body(context)), isTurn: false });

/** The answers of a platform state its rate limits, and what is none of a client's business: its request id, its organisation, a cookie. */
const stated = (endpoint: SimulatedEndpoint): SimulatedEndpoint =>
  withApiCodes({
    ...endpoint,
    answer: async (context, faults) => {
      const answer = await endpoint.answer(context, faults);
      const { account, ids } = context;
      const headers = {
        ...rateHeaders(account.turns, faults),
        'x-request-id': ids.next('req'),
        'openai-organization': account.bind('org', 'rehearsal'),
        'openai-processing-ms': '1',
        'set-cookie': `rehearsal=${account.tag}; Path=/; HttpOnly`,
      };
      return { ...answer, headers: { ...headers, ...answer.headers } };
    },
  });

/** The code of a refusal that names none, by status. */
const CODES: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  402: 'insufficient_balance',
  403: 'permission_denied',
  529: 'overloaded_error',
};

/** Refusals without a code get that of a platform. */
function withApiCodes(endpoint: SimulatedEndpoint): SimulatedEndpoint {
  const { withFaults = withContentFaults } = endpoint;
  return {
    ...endpoint,
    withFaults: (answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm) => withFaults(answer, faults.map(coded), form),
  };
}

const coded = (fault: Fault): Fault => (fault.kind === 'refuse' ? withCode(fault) : fault);

function withCode(fault: RefuseFault): RefuseFault {
  const code = fault.code ?? CODES[fault.status];
  return code === undefined ? fault : { ...fault, code };
}

const LIMITS = { requests: { limit: 10_000, reset: '6ms' }, tokens: { limit: 2_000_000, reset: '12ms' } } as const;

/** The rate limits that an API account states in its headers (AA39, AA89). @param turns the number of turns of the account so far */
function rateHeaders(turns: number, faults: readonly Fault[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, { limit, reset }] of Object.entries(LIMITS)) {
    const scripted = faults.find((fault) => fault.kind === 'rate' && fault.of === kind);
    const stated = scripted?.kind === 'rate' ? scripted : { limit, remaining: limit - 1 - (turns % 100), reset };
    headers[`x-ratelimit-limit-${kind}`] = String(stated.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(stated.remaining);
    if (stated.reset !== undefined) headers[`x-ratelimit-reset-${kind}`] = stated.reset;
  }
  return headers;
}
