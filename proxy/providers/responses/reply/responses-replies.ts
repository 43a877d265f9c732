// The decoding of replies of Responses accounts, which depends on the request.
import { asList, isObject } from '../../../turn/json/json.ts';
import { Adaptations } from '../../../turn/provider/adapted.ts';
import { type ApiAccountConfig, isApiAccount } from '../../../turn/provider/api-account.ts';
import type { EventHandler } from '../../../turn/provider/provider-replies.ts';
import type { EncodedAttempt } from '../../../turn/provider/provider-requests.ts';
import type { Body, Outgoing } from '../../../turn/turn.ts';
import { SummaryReply } from '../../api-accounts/compaction/summary-reply.ts';
import { hostedTool } from '../../api-accounts/eligibility/needed-tools.ts';
import { toolTable } from '../../api-accounts/tools/tool-table.ts';
import { asksToCompact, CompactionAlone, type CompactRoutes } from '../responses-compaction.ts';
import { ImageEvents } from '../responses-images.ts';
import { COMPACT } from '../responses-requests.ts';
import { type LoweredToolOf, RaisedCalls } from './raised-calls.ts';
import { ReplyRepair } from './reply-repair.ts';
import { withUsage } from './reply-usage.ts';

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
  if (asksToCompact(turn, out.body)) return routes.wayOf(account) === 'summary' ? [repair, new SummaryReply(turn)] : [repair];
  const toolOf = loweredTools(out.body, account);
  return toolOf ? [repair, new RaisedCalls(turn.held, toolOf)] : [repair];
}

/** Undefined for a turn whose tools are sent unchanged. */
function loweredTools({ tools, input }: Body, { quirks }: ApiAccountConfig): LoweredToolOf | undefined {
  if (quirks.tools === 'all') return undefined;
  const adding = asList(input).filter((item) => isObject(item) && (item.type === 'additional_tools' || item.type === 'tool_search_output'));
  const declared = [...asList(tools), ...adding.flatMap((item) => (isObject(item) ? asList(item.tools) : []))];
  if (declared.every((tool) => isObject(tool) && (tool.type === 'function' || hostedTool(tool) !== undefined))) return undefined;
  const table = toolTable({ tools, input: adding }, new Adaptations());
  return (name) => {
    const tool = table.toolOf(name);
    return tool && (tool.type !== 'function' || tool.namespace !== undefined) ? tool : undefined;
  };
}
