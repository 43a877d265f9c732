// The decoding of replies of Responses accounts, which depends on the request. Usage that is missing or cannot be right is estimated
// (AA56).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { Adaptations } from '../../../turn/provider/adapted.ts';
import { type ApiAccountConfig, isApiAccount } from '../../../turn/provider/api-account.ts';
import type { EventHandler } from '../../../turn/provider/provider-replies.ts';
import type { EncodedAttempt } from '../../../turn/provider/provider-requests.ts';
import type { Body, Outgoing } from '../../../turn/turn.ts';
import { SummaryReply } from '../../api-accounts/compaction/summary-reply.ts';
import { hostedTool } from '../../api-accounts/eligibility/needed-tools.ts';
import { noteUsage, responseUsage, statedUsage } from '../../api-accounts/reply/usage-in-reply.ts';
import { declaringPart, toolTable } from '../../api-accounts/tools/tool-table.ts';
import { asksToCompact, CompactionAlone, type CompactRoutes } from '../responses-compaction.ts';
import { ImageEvents } from '../responses-images.ts';
import { COMPACT } from '../responses-requests.ts';
import { type LoweredToolOf, RaisedCalls } from './raised-calls.ts';
import { ReplyRepair } from './reply-repair.ts';

/** Undefined for the kinds whose answers are no Responses events: they pass as they came. */
export function replyDecoding(out: Outgoing, context: EncodedAttempt, routes: CompactRoutes): readonly EventHandler[] | undefined {
  const { turn, account } = context;
  if (!isApiAccount(account)) return undefined;
  const { kind } = turn.route;
  const generates = out.body.generate !== false;
  const repair = new ReplyRepair({
    memory: turn.held,
    usage: (response) => (generates ? withUsage(response, context) : response),
  });
  switch (kind) {
    case 'image':
    case 'embeddings':
    case 'public-file-create':
    case 'transcribe':
    case 'public-transcription':
      return undefined;
    case 'public-image':
    case 'public-image-edit':
      return account.serves.includes('images') ? [new ImageEvents()] : [repair];
  }
  // The answer of the compact path to a compaction is checked in its original form (F3.7).
  if (out.path === COMPACT) return kind === 'responses' ? [new CompactionAlone(), repair] : undefined;
  if (asksToCompact(turn, out.body)) return routes.wayOf(account, out.carrier) === 'summary' ? [repair, new SummaryReply(turn)] : [repair];
  const toolOf = loweredTools(out.body, account);
  return toolOf ? [repair, new RaisedCalls(turn.held, toolOf)] : [repair];
}

/** Undefined for a turn whose tools are sent unchanged. */
function loweredTools(body: Body, { quirks }: ApiAccountConfig): LoweredToolOf | undefined {
  if (quirks.tools === 'all') return undefined;
  const declaring = declaringPart(body);
  const declared = [declaring, ...asList(declaring.input)].flatMap((item) => (isObject(item) ? asList(item.tools) : []));
  if (declared.every((tool) => isObject(tool) && (tool.type === 'function' || hostedTool(tool) !== undefined))) return undefined;
  const table = toolTable(declaring, new Adaptations());
  return (name) => {
    const tool = table.toolOf(name);
    return tool && (tool.type !== 'function' || tool.namespace !== undefined) ? tool : undefined;
  };
}

/** The response with usage; unchanged if its account states a usage that can be right. */
function withUsage(response: JsonObject, context: Pick<EncodedAttempt, 'account' | 'estimateUsage' | 'turn'>): JsonObject {
  const stated = isObject(response.usage) ? response.usage : undefined;
  const usage = usageOf(response, stated, context);
  const { account, turn } = context;
  if (isApiAccount(account)) noteUsage({ turn, quirks: account.quirks }, usage ?? {}, stated);
  return usage ? { ...response, usage } : response;
}

/** The usage; undefined if the account's own can be right. */
function usageOf(
  { output }: JsonObject,
  own: JsonObject | undefined,
  { estimateUsage }: Pick<EncodedAttempt, 'estimateUsage'>,
): JsonObject | undefined {
  const stated = own && statedUsage(own);
  if (stated && stated.output > 0) return undefined;
  // The terminal event may leave out output that the stream has shown.
  const shown = 4 * (estimateUsage()?.output_tokens ?? 0);
  const outputBytes = Math.max(shown, bytesOf(asList(output)));
  return stated && outputBytes === 0 ? undefined : responseUsage(stated, { outputBytes, estimateUsage });
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'refusal', 'arguments', 'input']);

function bytesOf(value: Json | undefined): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one: Json) => sum + bytesOf(one), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce((sum, [name, member]) => {
    if (typeof member === 'string') return TEXTS.has(name) ? sum + Buffer.byteLength(member) : sum;
    return sum + bytesOf(member);
  }, 0);
}
